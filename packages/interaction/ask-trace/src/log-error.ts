/**
 * What is wrong with a file that is no session log, or no longer one.
 * @module @deepseek-ai/dsh-ask-trace/log-error
 */

/**
 * @param error - anything that was thrown.
 * @returns its message, or else it as a text.
 */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A defect, with the place where it was met. The message names neither the file nor the place. */
export class SessionLogError extends Error {
  /** Line number from 1, where the defect is in a line. */
  readonly line: number | undefined

  constructor(message: string, options: { readonly line?: number; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.name = 'SessionLogError'
    this.line = options.line
  }
}
