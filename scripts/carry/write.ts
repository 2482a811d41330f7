/**
 * Turns drafted commits into git's own. The work tree and the index are not touched.
 * @module
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Checkout } from './checkout.ts'
import type { DraftCommit } from './draft.ts'
import type { Git } from './git.ts'

/** A commit as it was made. */
export interface MadeCommit {
  readonly id: string
  readonly subject: string
  /** Lines added and taken away, file by file. */
  readonly files: readonly {
    readonly path: string
    readonly added: number
    readonly removed: number
    readonly isNew: boolean
  }[]
}

/**
 * Make the commits on top of the one that is checked out.
 * @param checkout - where they go.
 * @param drafts - the commits, first to last.
 * @param keep - called with the runner that sees the commits; whatever it does not keep by a reference or a file is gone
 *   afterwards, unless `intoCheckout`.
 * @param intoCheckout - whether the checkout's own object store takes them.
 * @returns the commits, and the tree that they end with.
 */
export function makeCommits(
  checkout: Checkout,
  drafts: readonly DraftCommit[],
  keep: (git: Git, tip: string) => void,
  intoCheckout: boolean,
): { readonly made: readonly MadeCommit[]; readonly tree: string } {
  const scratch = mkdtempSync(join(tmpdir(), 'carry-'))
  try {
    const index = { GIT_INDEX_FILE: join(scratch, 'index') }
    const git = checkout.git.with(intoCheckout ? index : { ...index, ...objectsIn(scratch, checkout.git) })
    git.run(['read-tree', checkout.head])
    let parent = checkout.head
    const made = drafts.map(draft => {
      const files = [...draft.files].map(([path, text]) => ({ path, text, mode: checkout.modeOf(path) }))
      parent = makeCommit(git, scratch, parent, { message: draft.message, files })
      return describe(git, parent)
    })
    keep(git, parent)
    return { made, tree: git.run(['rev-parse', `${parent}^{tree}`]) }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

interface CommitFiles {
  readonly message: string
  readonly files: readonly { readonly path: string; readonly text: string; readonly mode: string }[]
}

/** New objects go into the scratch folder, and the checkout's own are seen beside them. */
function objectsIn(scratch: string, git: Git): Record<string, string> {
  const own = resolve(git.run(['rev-parse', '--show-toplevel']), git.run(['rev-parse', '--git-path', 'objects']))
  return { GIT_OBJECT_DIRECTORY: scratch, GIT_ALTERNATE_OBJECT_DIRECTORIES: own }
}

function makeCommit(git: Git, scratch: string, parent: string, { message, files }: CommitFiles): string {
  // The text is committed as it is, whatever line endings the checkout is configured to convert.
  const hashing = ['hash-object', '-w', '--no-filters', '--stdin-paths']
  const copies = files.map(({ text }, index) => {
    const copy = join(scratch, `text-${index}`)
    writeFileSync(copy, text)
    return copy
  })
  const blobs = git.run(hashing, `${copies.join('\n')}\n`).split('\n')
  const entries = files.map(({ mode, path }, index) => `${mode} ${blobs[index]}\t${path}\0`)
  git.run(['update-index', '-z', '--add', '--index-info'], entries.join(''))
  return git.run(['commit-tree', git.run(['write-tree']), '-p', parent], message)
}

function describe(git: Git, id: string): MadeCommit {
  const subject = git.run(['log', '-1', '--format=%s', id])
  const news = git.run(['diff-tree', '-r', '--no-commit-id', '--name-only', '--diff-filter=A', id]).split('\n')
  const counts = git.run(['diff-tree', '-r', '--no-commit-id', '--numstat', id]).split('\n')
  const files = counts.map(line => {
    const [added = '', removed = '', path = ''] = line.split('\t')
    return { path, added: Number(added), removed: Number(removed), isNew: news.includes(path) }
  })
  return { id, subject, files }
}
