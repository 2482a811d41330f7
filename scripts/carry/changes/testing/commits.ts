/** What holds for every commit, whatever it changes. */
import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { isThere, type Change } from '../../change.ts'
import { Draft } from '../../draft.ts'
import { MissingPlace } from '../../refusal.ts'
import { readScope } from '../../scope.ts'
import { carryOnto, withCrlf, type Tree } from './packages.ts'

/**
 * See what a change puts into a file.
 * @param change - the change.
 * @param path - of the file.
 * @param tree - the files that are there.
 * @returns the lines that were not there before, without their indentation.
 */
export function added(change: Change, path: string, tree: Tree): string[] {
  const before = new Set(tree[path]?.split(/\r?\n/))
  const after = carryOnto(change, tree).files[path]?.split(/\r?\n/) ?? []
  return after.filter(line => !before.has(line)).map(line => line.trim())
}

/**
 * See why a change is refused.
 * @param change - the change.
 * @param tree - the files that are there.
 * @returns the message, or `carried`.
 */
export function refusal(change: Change, tree: Tree): string {
  try {
    carryOnto(change, tree)
  } catch (error) {
    if (error instanceof MissingPlace) return error.message
    throw error
  }
  return 'carried'
}

/**
 * Test changes one by one.
 * @param changes - by name.
 * @param treeFor - makes the files that one is carried onto; the names of their packages begin with the prefix.
 */
export function describeCommits<Name extends string>(
  changes: Readonly<Record<Name, Change>>,
  treeFor: (name: Name, prefix?: string) => Tree,
): void {
  describe.each(Object.entries<Change>(changes) as [Name, Change][])('the commit %s', (name, change) => {
    it('brings its files as they are here, and edits leave every source readable', () => {
      const { files, message } = carryOnto(change, treeFor(name))
      for (const path of change.files) expect(files[path]).toBe(readFileSync(path, 'utf8'))
      expect(message).toMatch(/^(feat|fix)\([a-z-]+\): .*\n\n/)
      for (const [path, text] of Object.entries(files).filter(([file]) => file.endsWith('.ts'))) {
        const { diagnostics } = ts.transpileModule(text, { fileName: path, reportDiagnostics: true })
        expect(diagnostics, path).toEqual([])
      }
    })

    it('is known when it is there', () => {
      expect(carryOnto(change, treeFor(name)).isThere).toBe(true)
    })

    it('takes the names of a fork', () => {
      const { files } = carryOnto(change, treeFor(name, '@fork/tool-'))
      const unnamed = Object.entries(files).filter(([, text]) => text.includes('@deepseek-ai/'))
      expect(unnamed.map(([path]) => path)).toEqual([])
      expect(Object.values(files).join('')).toContain('@fork/tool-')
    })

    it('is the same commit with the other line endings', () => {
      const lf = carryOnto(change, treeFor(name)).files
      const { files: crlf } = carryOnto(change, withCrlf(treeFor(name)))
      for (const path of Object.keys(lf).filter(file => !/i18n|README|docs/.test(file)))
        expect(crlf[path]?.replaceAll('\r\n', '\n'), path).toBe(lf[path])
      for (const path of Object.keys(treeFor(name)).filter(file => file.endsWith('.ts')))
        expect(crlf[path]).not.toMatch(/[^\r]\n/)
    })

    it('is refused where another file has the name of one of its own', () => {
      const [path = ''] = change.files
      const files: Tree = { ...treeFor(name), [path]: 'another one' }
      const read = (file: string) => files[file]
      expect(() => isThere(change, new Draft({ read }), readScope(read))).toThrow(/it is not the one that is carried$/)
    })
  })
}
