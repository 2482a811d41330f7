/**
 * The trace of one session log on disk.
 * @module @deepseek-ai/dsh-ask-trace/trace-log
 */
import { createAskTrace, traceAsks, type AskTrace } from './ask-trace.ts'
import { number, record, text, type JsonRecord } from './event-view.ts'
import { messageOf, SessionLogError } from './log-error.ts'
import { readSessionLog } from './session-log.ts'
import type { AskReport } from './types.ts'

/** Far more questions than any session has. */
const MAX_HELD_BYTES = 100_000_000

/** What one log says. */
export interface LogTrace {
  readonly path: string
  readonly session: SessionInfo
  readonly report: AskReport
  /** How much of the log the report covers: nothing of it was readable, rows or its end are missing, or all of it. */
  readonly read: 'refused' | 'partly' | 'whole'
  /** What was passed over on the way: a tail that a crash cut off, rows that were left out, events of unknown types. */
  readonly notes: readonly string[]
  /** Why the file is no session log, or where it ceases to be one; the report covers what stands before. */
  readonly defect?: LogDefect
}

/** Which session it is, as far as its log says. */
export interface SessionInfo {
  readonly title?: string
  /** The folder it worked in. */
  readonly cwd?: string
  /** Unix ms. */
  readonly createdAt?: number
}

/** A defect of a file. */
export interface LogDefect {
  readonly message: string
  readonly line?: number
}

/**
 * @param path - the log's file; `-` for standard input.
 * @returns its trace; a defect of the file is part of it, never thrown.
 */
export async function traceLog(path: string): Promise<LogTrace> {
  const reading = new LogReading()
  try {
    const defect = await reading.run(path)
    return reading.result(path, defect)
  } catch (error) {
    // Whatever in it makes the trace fail: this log is refused, and the caller goes on with the next.
    const defect = { message: `cannot be traced: ${messageOf(error)}` }
    return { path, session: reading.session, report: traceAsks([]), read: 'refused', notes: [], defect }
  }
}

/** One log while it is read. */
class LogReading {
  readonly trace: AskTrace = createAskTrace()
  readonly notes: string[] = []
  session: SessionInfo = {}
  skipped = 0
  /** Whether anything of it could be read. */
  isLog = false

  async run(path: string): Promise<LogDefect | undefined> {
    const listener = {
      onHeader: (header: JsonRecord) => {
        this.isLog = true
        this.session = sessionOf(header)
      },
      onNote: (note: string) => {
        this.notes.push(note)
      },
      onSkipped: (rows: number, note: string) => {
        this.skipped = rows
        this.notes.push(note)
      },
    }
    try {
      for await (const events of readSessionLog(path, listener)) for (const event of events) this.push(event)
      return undefined
    } catch (error) {
      if (error instanceof SessionLogError) return defectOf(error)
      throw error
    }
  }

  result(path: string, defect: LogDefect | undefined): LogTrace {
    const { session, notes, skipped, isLog } = this
    const report = this.trace.finish()
    return {
      path,
      session,
      report,
      read: defect === undefined && skipped === 0 ? 'whole' : isLog ? 'partly' : 'refused',
      notes: [...notes, ...report.notes],
      ...(defect === undefined ? {} : { defect }),
    }
  }

  private push(event: { readonly type: string; readonly data?: unknown }): void {
    this.trace.push(event)
    if (event.type === 'session/title') this.session = { ...this.session, ...titleOf(event.data) }
    if (this.trace.heldBytes <= MAX_HELD_BYTES) return
    throw new SessionLogError('more questions and open calls than a session has; the report covers those before')
  }
}

function sessionOf(header: JsonRecord): SessionInfo {
  const cwd = text(header.cwd)
  const createdAt = number(header.createdAt)
  return { ...(cwd === undefined ? {} : { cwd }), ...(createdAt === undefined ? {} : { createdAt }) }
}

function titleOf(data: unknown): SessionInfo {
  const title = text(record(data).title)
  return title === undefined ? {} : { title }
}

function defectOf({ message, line }: SessionLogError): LogDefect {
  return { message, ...(line === undefined ? {} : { line }) }
}
