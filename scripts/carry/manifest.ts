/**
 * What a package needs: in its manifest, in its TypeScript project and in the lock file.
 * @module
 */
import { posix } from 'node:path'
import type { Target } from './change.ts'
import { parseJson, type Json } from './json.ts'
import { lockDependency } from './lock.ts'
import { MissingPlace } from './refusal.ts'

/** The packages that are needed, by their folders in the checkout. Their names are read there. */
export interface Needs {
  /** What the code imports and the package brings along. */
  readonly dependencies?: readonly string[]
  /** What the code imports and the host has; the tests get it, too. */
  readonly peers?: readonly string[]
  /** What only the tests import. */
  readonly dev?: readonly string[]
}

/**
 * Add what a package needs and does not have yet.
 * @param target - the checkout's files.
 * @param folder - the package's folder.
 * @param needs - what it needs.
 * @throws MissingPlace if a package is not there, or a file is not as a package manager writes it.
 */
export function need(target: Target, folder: string, { dependencies = [], peers = [], dev = [] }: Needs): void {
  const named = (paths: readonly string[]) =>
    paths.map(path => ({ path, name: String(readJson(target, `${path}/package.json`).name) }))
  const added = {
    dependencies: named(dependencies),
    peerDependencies: named(peers),
    devDependencies: named([...peers, ...dev]),
  }
  editJson(target, `${folder}/package.json`, manifest => {
    const edited = Object.entries(added).flatMap(([section, packages]) => {
      const present = manifest[section] as Json | undefined
      return packages.length === 0 ? [] : [[section, withNames(present, packages)] as const]
    })
    // A section that is new stands in front of the peers.
    const fresh = edited.filter(([section]) => !Object.hasOwn(manifest, section))
    const place = Object.keys(manifest).indexOf('peerDependencies')
    const entries: (readonly [string, unknown])[] = Object.entries(manifest)
    return { ...Object.fromEntries(entries.toSpliced(place, 0, ...fresh)), ...Object.fromEntries(edited) }
  })
  editJson(target, `${folder}/tsconfig.json`, project => {
    const present = project.references as { readonly path: string }[]
    const paths = [...dependencies, ...peers].map(path => posix.relative(folder, path))
    const missing = paths.filter(path => !present.some(reference => reference.path === path))
    return { ...project, references: [...present, ...missing.map(path => ({ path }))] }
  })
  for (const needed of added.dependencies) lockDependency(target, folder, 'dependencies', needed)
  for (const needed of added.devDependencies) lockDependency(target, folder, 'devDependencies', needed)
}

/** Each new name stands behind the one that precedes it in the alphabet, whatever the order of the others. */
function withNames(present: Json = {}, packages: readonly { readonly name: string }[]): Json {
  const entries = Object.entries(present)
  for (const { name } of packages) {
    if (entries.some(([other]) => other === name)) continue
    const previous = entries
      .map(([other]) => other)
      .filter(other => other < name)
      .toSorted()
      .at(-1)
    entries.splice(entries.findIndex(([other]) => other === previous) + 1, 0, [name, 'workspace:^'])
  }
  return Object.fromEntries(entries)
}

function readJson(target: Target, path: string): Json {
  return parseJson(path, target.read(path))
}

/** The file keeps its indentation and its line endings. */
function editJson(target: Target, path: string, edit: (value: Json) => Json): void {
  const text = target.read(path)
  const indent = /^[ \t]+/m.exec(text)?.[0]
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const print = (value: Json) => `${JSON.stringify(value, undefined, indent)}\n`.replaceAll('\n', eol)
  if (print(readJson(target, path)) !== text) throw new MissingPlace(`${path}: not as a package manager writes it`)
  target.write(path, print(edit(readJson(target, path))))
}
