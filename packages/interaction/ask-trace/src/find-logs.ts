/**
 * The session logs that an argument names.
 * @module @deepseek-ai/dsh-ask-trace/find-logs
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { record, text } from './event-view.ts'
import { messageOf, SessionLogError } from './log-error.ts'

/** The harness gives every session a folder of its own and its log one of these names. */
const LOG_NAMES: ReadonlySet<string> = new Set(['session.jsonl', 'session.jsonl.zstd'])

/**
 * @param input - a file, taken whatever its name, or a folder, searched at any depth. Symbolic links inside a folder
 *   are not followed.
 * @returns the logs, in the order of their paths.
 * @throws {SessionLogError} when there is nothing by this name, when a folder cannot be read, or holds no log.
 */
export async function findLogs(input: string): Promise<string[]> {
  try {
    if (!(await stat(input)).isDirectory()) return [input]
    const entries = await readdir(input, { recursive: true, withFileTypes: true })
    const logs = entries.filter(entry => entry.isFile() && LOG_NAMES.has(entry.name))
    if (logs.length === 0) throw new SessionLogError(`a folder without any ${[...LOG_NAMES].join(' or ')}`)
    return logs.map(({ parentPath, name }) => join(parentPath, name)).sort()
  }
  catch (error) {
    throw error instanceof SessionLogError ? error : cannotOpen(error)
  }
}

/** What a failed system call means, in words. */
const FAILURES: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'no such file or folder'],
  ['EACCES', 'permission denied'],
])

/**
 * @param error - what a file operation threw.
 * @returns the same, as a defect of the log.
 */
export function cannotOpen(error: unknown): SessionLogError {
  const known = FAILURES.get(text(record(error).code) ?? '')
  return new SessionLogError(known ?? `cannot be read: ${messageOf(error)}`, { cause: error })
}
