/** Small packages for the tests of changes: manifests, projects, lock file and README pairs, all written for the purpose. */
import type { Change } from '../../change.ts'
import { carry, isThere } from '../../change.ts'
import { Draft } from '../../draft.ts'
import { readScope } from '../../scope.ts'

/** The text of each file, by its path. */
export type Tree = Readonly<Record<string, string>>

const json = (value: unknown) => `${JSON.stringify(value, undefined, 2)}\n`

/**
 * Make packages without sources.
 * @param prefix - what their names begin with.
 * @param folders - the folder of each, and the headings of its README.
 * @returns their files, and the lock file.
 */
export function packages(prefix: string, folders: Readonly<Record<string, readonly string[]>>): Tree {
  const names = Object.entries(folders)
  const files = names.flatMap(([folder, headings]): [string, string][] => {
    const readme = (heading: (title: string) => string) =>
      ['# A package', ...headings.map(title => `## ${heading(title)}\n\nSome words.\n\nMore words.`)].join('\n\n')
      + '\n'
    return [
      [`${folder}/package.json`, json({ name: nameOf(folder, prefix), peerDependencies: {}, devDependencies: {} })],
      [`${folder}/tsconfig.json`, json({ references: [] })],
      [`${folder}/README.md`, readme(title => title)],
      [`${folder}/README.zh.md`, readme(title => `${title}（中文）`)],
    ]
  })
  const lock = ['importers:', '', ...names.flatMap(([folder]) => [`  ${folder}:`, '    devDependencies:', ''])].join(
    '\n',
  )
  return { ...Object.fromEntries(files), 'pnpm-lock.yaml': lock }
}

/** What is vendored has the scope, and not the rest of the prefix. */
function nameOf(folder: string, prefix: string): string {
  const [scope = ''] = prefix.split('/')
  return (folder.startsWith('vendor/') ? `${scope}/` : prefix) + (folder.split('/').at(-1) ?? '')
}

/** What becomes of a tree. */
export interface Carried {
  /** The files after the commit, changed or not. */
  readonly files: Tree
  readonly message: string
  /** Whether a second run would find the change there. */
  readonly isThere: boolean
}

/**
 * Carry a change onto a tree in memory.
 * @param change - the change.
 * @param tree - the files that are there.
 * @returns the files afterwards.
 * @throws MissingPlace if a place is not there.
 */
export function carryOnto(change: Change, tree: Tree): Carried {
  const read = (path: string) => (Object.hasOwn(tree, path) ? tree[path] : undefined)
  const draft = new Draft({ read })
  const scope = readScope(read)
  carry(change, draft, scope)
  const [commit] = draft.commits
  return {
    files: { ...tree, ...Object.fromEntries(commit?.files ?? []) },
    message: commit?.message ?? '',
    isThere: isThere(change, draft, scope),
  }
}

/**
 * Change one file of a tree.
 * @param tree - the files.
 * @param path - of the file.
 * @param from - what stands there once.
 * @param to - what stands there then.
 * @returns the tree with that file.
 */
export function edited(tree: Tree, path: string, from: string, to: string): Tree {
  const text = tree[path] ?? ''
  if (text.split(from).length !== 2) throw new Error(`${path} does not have once: ${from}`)
  return { ...tree, [path]: text.replace(from, () => to) }
}

/**
 * Give every file the other line endings.
 * @param tree - the files.
 * @returns the tree.
 */
export function withCrlf(tree: Tree): Tree {
  return Object.fromEntries(Object.entries(tree).map(([path, text]) => [path, text.replaceAll('\n', '\r\n')]))
}
