import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FORKED, forkedImport } from './forked.mjs'

const root = join(import.meta.dirname, '..')

/** Runs one line of code in a process that is stock throughout, and gives what it prints and what it loads. */
function stock(code: string): string {
  const hooks = ['stock-hooks.mjs', 'show-loaded.mjs'].flatMap(name => ['--import', join(root, 'scripts', name)])
  return execFileSync(process.execPath, [...hooks, '--input-type=module', '--eval', code], {
    cwd: root,
    encoding: 'utf8',
    stdio: 'pipe',
  })
}

describe('the list of forked packages', () => {
  it('names every package whose published original is installed beside it', () => {
    const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      devDependencies: Record<string, string>
    }
    const aliases = Object.keys(devDependencies).filter(name => name.startsWith('stock-'))
    expect(aliases.sort()).toEqual(FORKED.map(name => `stock-${name}`).sort())
  })

  it.each([
    ['@deepseek-ai/dsh-jobs', { name: 'jobs', entry: '' }],
    ['@deepseek-ai/dsh-jobs/brand', { name: 'jobs', entry: '/brand' }],
    ['@deepseek-ai/dsh-jobs-local', { name: 'jobs-local', entry: '' }],
    ['@deepseek-ai/dsh-jobs-remote', undefined],
    ['dsh-jobs', undefined],
  ])('reads the import %s', (specifier, expected) => {
    expect(forkedImport(specifier)).toEqual(expected)
  })
})

describe('a process with the stock hooks', () => {
  it.each(FORKED.flatMap(name => [name, `${name}/invariant`]))('resolves %s to the published original', entry => {
    const url = stock(`console.log(import.meta.resolve('@deepseek-ai/dsh-${entry}'))`)
    expect(url).toContain(`/node_modules/stock-${entry.replace('/invariant', '')}/lib/`)
  })

  it('resolves what an original imports to another original', () => {
    const names = stock(`
      const { default: Local } = await import('@deepseek-ai/dsh-jobs-local')
      const { JobRegistry } = await import('stock-jobs')
      console.log(Local.prototype instanceof JobRegistry)
    `)
    expect(names).toBe('true\n')
  })

  it('does not load our own build, whatever path leads to it', () => {
    const path = join(root, 'packages/goal/goal-round-driver/package.json')
    expect(() => stock(`await import('${path}', { with: { type: 'json' } })`)).toThrow('reaches our own build')
  })
})
