/**
 * The pages of this repository: their links lead somewhere, those for users have a translation, and a page and its
 * translation have the same outline.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readPage } from './page.ts'

const root = join(import.meta.dirname, '../..')
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
const markdown = files.split('\n').filter(file => file !== '' && existsSync(join(root, file)))
/** Texts for pages of another checkout, where their links lead somewhere. */
const carried = markdown.filter(file => file.startsWith('scripts/carry/texts/'))
const pages = markdown.filter(file => !carried.includes(file))
const translations = pages.filter(page => page.endsWith('.zh.md'))
const forUsers = ['README.md', 'docs/job-waits.md', 'docs/goal-rounds-and-questions.md', 'docs/reading-a-trace.md']

function read(page: string) {
  return readPage(readFileSync(join(root, page), 'utf8'))
}

describe('a page', () => {
  it('is read as its headings, blocks and links', () => {
    const page = readPage('# A `b` [c](d.md)\n\n## A b c\n\n```sh\nls\n```\n\n- ![e](f.png)\n\n## A b c\n')
    expect(page).toEqual({
      depths: [1, 2, 2],
      anchors: ['a-b-c', 'a-b-c-1', 'a-b-c-2'],
      code: ['sh\nls'],
      links: ['d.md', 'f.png'],
    })
  })
})

describe('the links of', () => {
  it.each(pages)('%s lead to files and headings that exist', page => {
    const broken = read(page).links.filter(link => !/^[a-z]+:/.test(link) && !leadsSomewhere(page, link))
    expect(broken).toEqual([])
  })

  function leadsSomewhere(page: string, link: string): boolean {
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? page : join(dirname(page), path)
    if (!existsSync(join(root, target))) return false
    return anchor === undefined || read(target).anchors.includes(anchor)
  }
})

describe('the page for users', () => {
  it.each(forUsers)('%s has a translation', page => {
    expect(translations).toContain(page.replace(/\.md$/, '.zh.md'))
  })
})

describe('the translation', () => {
  it.each(markdown.filter(file => file.endsWith('.zh.md')))(
    '%s has the headings and the blocks of its original',
    translation => {
      const { depths, code } = read(translation.replace('.zh.md', '.md'))
      expect(read(translation)).toMatchObject({ depths, code })
    },
  )

  it.each(translations)('%s and its original link each other', translation => {
    const original = translation.replace('.zh.md', '.md')
    expect(read(translation).links[0]).toBe(basename(original))
    expect(read(original).links[0]).toBe(basename(translation))
  })

  it.each(translations)('%s leads to other translations where there are some', translation => {
    const [, ...others] = read(translation).links
    const translated = (link: string) =>
      translations.includes(join(dirname(translation), link.replace(/\.md(#.*)?$/, '.zh.md')))
    expect(others.filter(link => /(?<!\.zh)\.md(#|$)/.test(link) && translated(link))).toEqual([])
  })
})
