/**
 * The trace of one session log on disk.
 * @module @deepseek-ai/dsh-ask-trace/trace-log
 */
import { createAskTrace } from './ask-trace.ts'
import { SessionLogError } from './log-error.ts'
import { readSessionLog } from './session-log.ts'
import type { AskReport } from './types.ts'

/** What one log says. */
export interface LogTrace {
  readonly path: string
  readonly report: AskReport
  /** What was passed over on the way: a tail that a crash cut off, events of unknown types. */
  readonly notes: readonly string[]
  /** Why the file is no session log, or where it ceases to be one; the report covers what stands before. */
  readonly defect?: LogDefect
}

/** A defect of a file. */
export interface LogDefect {
  readonly message: string
  readonly line?: number
}

/**
 * @param path - the log's file.
 * @returns its trace; a defect of the file is part of it, never thrown.
 */
export async function traceLog(path: string): Promise<LogTrace> {
  const trace = createAskTrace()
  const notes: string[] = []
  const defect = await foldInto(trace, path, notes)
  return { path, report: trace.finish(), notes, ...(defect === undefined ? {} : { defect }) }
}

async function foldInto(
  trace: ReturnType<typeof createAskTrace>,
  path: string,
  notes: string[],
): Promise<LogDefect | undefined> {
  try {
    for await (const events of readSessionLog(path, note => notes.push(note))) {
      for (const event of events) trace.push(event)
    }
    return undefined
  } catch (error) {
    return defectOf(error)
  }
}

function defectOf(error: unknown): LogDefect {
  if (!(error instanceof SessionLogError)) throw error
  const { message, line } = error
  return { message, ...(line === undefined ? {} : { line }) }
}
