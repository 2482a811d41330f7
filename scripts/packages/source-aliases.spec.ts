import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sourceAliases } from './source-aliases.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'aliases-'))
})
afterEach(() => {
  rmSync(root, { recursive: true })
})

function addPackage(folder: string, manifest?: object): void {
  mkdirSync(join(root, 'packages', folder), { recursive: true })
  if (manifest !== undefined) writeFileSync(join(root, 'packages', folder, 'package.json'), JSON.stringify(manifest))
}

describe('the sources that tests resolve', () => {
  it('are one file an export entry, and the package of a longer name is another one', () => {
    addPackage('jobs/jobs', { name: 'jobs', exports: { '.': {}, './brand': {}, './package.json': './package.json' } })
    const aliases = sourceAliases(root)
    expect(aliases.map(({ replacement }) => replacement.slice(root.length))).toEqual([
      '/packages/jobs/jobs/src/index.ts',
      '/packages/jobs/jobs/src/brand.ts',
    ])
    expect(aliases.map(({ find }) => ['jobs', 'jobs/brand', 'jobs-local'].filter(name => find.test(name)))).toEqual([
      ['jobs'],
      ['jobs/brand'],
    ])
  })

  it.each([
    [{ name: 'new' }, 'packages/jobs/new/package.json has no "exports"'],
    [{ exports: {} }, 'packages/jobs/new/package.json has no "name"'],
  ])('name the manifest that is not complete: %j', (manifest, message) => {
    addPackage('jobs/new', manifest)
    expect(() => sourceAliases(root)).toThrow(message)
  })

  it('pass over a folder without a manifest', () => {
    addPackage('jobs/left-behind')
    expect(sourceAliases(root)).toEqual([])
  })
})
