/**
 * The files of a checkout with changes that are not written anywhere yet, commit after commit.
 * @module
 */
import type { Checkout } from './checkout.ts'

/** One commit to be. */
export interface DraftCommit {
  readonly message: string
  /** The whole text of every file that it adds or changes. */
  readonly files: ReadonlyMap<string, string>
}

/** Collects commits. Each begins with the files that the one before left. */
export class Draft {
  readonly commits: DraftCommit[] = []
  private readonly checkout: Pick<Checkout, 'read'>
  private readonly texts = new Map<string, string>()
  private changed = new Map<string, string>()

  constructor(checkout: Pick<Checkout, 'read'>) {
    this.checkout = checkout
  }

  /**
   * Read a file as the commits so far leave it.
   * @param path - from the root.
   * @returns its text, or `undefined` without such a file.
   */
  read(path: string): string | undefined {
    return this.texts.get(path) ?? this.checkout.read(path)
  }

  /**
   * Add or change a file in the commit that is being collected.
   * @param path - from the root.
   * @param text - all of it.
   */
  write(path: string, text: string): void {
    if (this.read(path) === text) return
    this.texts.set(path, text)
    this.changed.set(path, text)
  }

  /**
   * Close the commit that is being collected.
   * @param message - its message.
   * @returns whether there was anything to commit.
   */
  commit(message: string): boolean {
    if (this.changed.size === 0) return false
    this.commits.push({ message, files: this.changed })
    this.changed = new Map()
    return true
  }
}
