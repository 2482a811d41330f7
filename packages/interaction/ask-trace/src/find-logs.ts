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

/** The name that stands for standard input. */
export const STDIN = '-'

/** What an argument names. */
export interface FoundLogs {
  /** The logs, in the order of their paths. */
  readonly logs: readonly string[]
  /** What could not be looked into. */
  readonly defects: readonly { readonly path: string; readonly message: string }[]
}

/**
 * @param input - `-` for standard input, a file, taken whatever its name, or a folder, searched at any depth. Symbolic
 *   links inside a folder are not followed.
 * @returns the logs; a defect says when there is nothing by this name, or no log in the folder, or when a folder
 *   cannot be read.
 */
export async function findLogs(input: string): Promise<FoundLogs> {
  if (input === STDIN) return { logs: [input], defects: [] }
  try {
    if (!(await stat(input)).isDirectory()) return { logs: [input], defects: [] }
  } catch (error) {
    return { logs: [], defects: [{ path: input, message: cannotOpen(error).message }] }
  }
  const { logs, defects } = await searchFolder(input)
  if (logs.length > 0 || defects.length > 0) return { logs: logs.sort(), defects }
  return { logs, defects: [{ path: input, message: `a folder without any ${[...LOG_NAMES].join(' or ')}` }] }
}

async function searchFolder(root: string) {
  const logs: string[] = []
  const defects: { path: string; message: string }[] = []
  const folders = [root]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    try {
      for (const entry of await readdir(folder, { withFileTypes: true })) {
        const path = join(folder, entry.name)
        if (entry.isDirectory()) folders.push(path)
        else if (entry.isFile() && LOG_NAMES.has(entry.name)) logs.push(path)
      }
    } catch (error) {
      defects.push({ path: folder, message: cannotOpen(error).message })
    }
  }
  return { logs, defects }
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
