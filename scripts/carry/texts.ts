/**
 * The prose that goes along with a change: paragraphs for a package's README and an Agent Note, each in English and in
 * Chinese. The texts stand in `texts/<package>/<name>.md` and `<name>.zh.md`. A pair is recorded by the hashes of its files.
 * @module
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { Target } from './change.ts'
import { MissingPlace } from './refusal.ts'
import { Sections, type SectionPlace } from './sections.ts'

/** The endings of a pair's files. */
export const LANGUAGES = ['.md', '.zh.md'] as const

/** A text, and where it goes in a README. */
export interface Insertion {
  /** The text, by the name of its file below `texts/`: `tool-jobs/config`. */
  readonly text: string
  /** The heading of the section in the English README. In the Chinese one the section has the same number. */
  readonly section: string
  /** Where in the section; at its end, if it is left out. */
  readonly at?: SectionPlace
}

/**
 * Insert texts into both READMEs of a package, and record the pair.
 * @param target - the checkout's files.
 * @param folder - the package's folder.
 * @param insertions - what goes where.
 * @throws MissingPlace without such a section, or where the two READMEs have not the same sections.
 */
export function insertIntoReadme(target: Target, folder: string, insertions: readonly Insertion[]): void {
  const path = `${folder}/README`
  for (const { text, section, at = 'end' } of insertions) {
    const english = new Sections(`${path}.md`, target.read(`${path}.md`))
    const number = english.find(section)
    for (const language of LANGUAGES) {
      const sections = new Sections(path + language, target.read(path + language))
      if (sections.count !== english.count)
        throw new MissingPlace(`${path + language}: it has not the sections of README.md`)
      target.write(path + language, sections.insert(number, at, ownText(target, text + language)))
    }
  }
  record(target, path)
}

/**
 * Add an Agent Note in both languages, and record the pair.
 * @param target - the checkout's files.
 * @param text - the text, by the name of its file below `texts/`.
 * @param name - folder and file below `.agents/notes/implemented`, without an extension: `bug-fix/2026-08-24-topic`.
 */
export function addNote(target: Target, text: string, name: string): void {
  const path = `.agents/notes/implemented/${name}`
  for (const language of LANGUAGES) target.write(path + language, ownText(target, text + language))
  record(target, path)
}

function ownText(target: Target, file: string): string {
  return target.scope.rename(readFileSync(join(import.meta.dirname, 'texts', file), 'utf8'))
}

/**
 * Write the hashes of a pair. The record of a new pair begins with the comment that says how to write it again.
 * @param target - the checkout's files.
 * @param path - of the pair, without an extension.
 */
export function record(target: Target, path: string): void {
  const file = `${path}.i18n.yaml`
  const lines = LANGUAGES.map(language => {
    const bytes = Buffer.from(target.read(path + language))
    const hash = createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
    return `${posix.basename(path)}${language}: ${hash}`
  })
  const comment = target.has(file)
    ? target.read(file).match(/^#.*\r?\n/gm)
    : [`# Write this again with: pnpm run verify-translation-pairing --write ${path}.md\n`]
  target.write(file, `${(comment ?? []).join('')}${lines.join('\n')}\n`)
}
