/**
 * What one commit carries: files of this repository as they are, and edits in the checkout's own.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Draft } from './draft.ts'
import { MissingPlace } from './refusal.ts'
import type { Scope } from './scope.ts'
import { Source } from './source.ts'

const root = join(import.meta.dirname, '../..')

/** The groups that `--only` names. */
export const GROUPS = ['guard', 'write-back', 'jobs', 'bash'] as const
export type Group = (typeof GROUPS)[number]

/** One commit, described. */
export interface Change {
  readonly group: Group
  /** The commit's message, in our names. */
  readonly message: string
  /** Files of this repository that are carried byte for byte, the names aside. The first is what fixes the fault. */
  readonly files: readonly string[]
  /** Edits the checkout's own files. */
  readonly edit: (target: Target) => void
}

/** A checkout's files while a commit is collected. */
export class Target {
  readonly scope: Scope
  private readonly draft: Draft

  constructor(draft: Draft, scope: Scope) {
    this.draft = draft
    this.scope = scope
  }

  /**
   * Read a file that has to be there.
   * @param path - from the root.
   * @returns its text.
   * @throws MissingPlace without such a file.
   */
  read(path: string): string {
    const text = this.draft.read(path)
    if (text === undefined) throw new MissingPlace(`${path}: there is no such file`)
    return text
  }

  /**
   * Edit a TypeScript file.
   * @param path - from the root.
   * @param edit - finds the places and puts in what is new.
   */
  source(path: string, edit: (source: Source) => void): void {
    const source = new Source(path, this.read(path))
    edit(source)
    this.write(path, source.toString())
  }

  /**
   * Add or replace a file.
   * @param path - from the root.
   * @param text - all of it.
   */
  write(path: string, text: string): void {
    this.draft.write(path, text)
  }

  /** @returns whether a file is there. */
  has(path: string): boolean {
    return this.draft.read(path) !== undefined
  }
}

/**
 * Whether a checkout has a change already.
 * @param change - the change.
 * @param draft - the checkout's files.
 * @param scope - its names.
 * @returns whether every file that is carried is there as it is here.
 * @throws MissingPlace if one is there and is another one.
 */
export function isThere(change: Change, draft: Draft, scope: Scope): boolean {
  const present = change.files.filter(path => draft.read(path) !== undefined)
  const other = present.find(path => unify(draft.read(path)) !== unify(carried(path, scope)))
  if (other !== undefined)
    throw new MissingPlace(`${other}: there is such a file already, and it is not the one that is carried`)
  return present.length === change.files.length
}

/**
 * Collect a change as one commit.
 * @param change - the change.
 * @param draft - the checkout's files.
 * @param scope - its names.
 */
export function carry(change: Change, draft: Draft, scope: Scope): void {
  for (const path of change.files) draft.write(path, carried(path, scope))
  change.edit(new Target(draft, scope))
  draft.commit(scope.rename(change.message))
}

function carried(path: string, scope: Scope): string {
  return scope.rename(readFileSync(join(root, path), 'utf8'))
}

function unify(text: string | undefined): string | undefined {
  return text?.replaceAll('\r\n', '\n')
}
