/**
 * A checkout of the harness: what must hold before anything is carried onto it, and its files as they are committed.
 * @module
 */
import { realpathSync } from 'node:fs'
import { Git } from './git.ts'
import { Refusal } from './refusal.ts'

/** A regular file, as `git ls-tree` shows it: its mode, its hash and its path. A link is not followed. */
const REGULAR = /^(100644|100755) blob (\S+)\t([^]*)$/

interface Entry {
  readonly mode: string
  readonly blob: string
  text?: string
}

/** A clean git work tree. It is read at the commit that is checked out, never from the files themselves. */
export class Checkout {
  readonly git: Git
  /** The commit that is checked out. */
  readonly head: string
  private readonly entries: ReadonlyMap<string, Entry>

  private constructor(git: Git, head: string) {
    this.git = git
    this.head = head
    this.entries = entriesOf(git, head)
  }

  /**
   * Open the checkout in a folder.
   * @param folder - the root of a git work tree.
   * @returns the checkout.
   * @throws Refusal if it is none, or has changes that are not committed.
   */
  static open(folder: string): Checkout {
    const git = new Git(folder)
    const root = refusing(`${folder}: no git work tree`, () => git.run(['rev-parse', '--show-toplevel']))
    if (realpathSync(root) !== realpathSync(folder))
      throw new Refusal(`${folder}: not the root of its work tree, ${root}`)
    const head = refusing(`${folder}: nothing is committed yet`, () =>
      git.run(['rev-parse', '--verify', 'HEAD^{commit}']),
    )
    const [change] = git.run(['status', '--porcelain']).split('\n')
    if (change !== undefined && change !== '')
      throw new Refusal(`${folder}: the work tree is not clean (${change.trim()}); commit or stash what is there`)
    return new Checkout(git, head)
  }

  /**
   * Read a committed file.
   * @param path - from the root.
   * @returns its text, or `undefined` without such a regular file.
   */
  read(path: string): string | undefined {
    const entry = this.entries.get(path)
    if (entry !== undefined) entry.text ??= this.git.bytes(['cat-file', 'blob', entry.blob]).toString('utf8')
    return entry?.text
  }

  /**
   * @param path - from the root.
   * @returns the mode of a committed file, or what a new one gets.
   */
  modeOf(path: string): string {
    return this.entries.get(path)?.mode ?? '100644'
  }
}

function entriesOf(git: Git, commit: string): Map<string, Entry> {
  const lines = git.run(['ls-tree', '-r', '-z', commit]).split('\0')
  return new Map(
    lines.flatMap(line => {
      const [, mode, blob, path] = REGULAR.exec(line) ?? []
      return mode === undefined || blob === undefined || path === undefined ? [] : [[path, { mode, blob }]]
    }),
  )
}

/** Say what it means that a command of git fails. */
function refusing(meaning: string, run: () => string): string {
  try {
    return run()
  } catch (error) {
    throw new Refusal(`${meaning} (${(error as Error).message})`)
  }
}
