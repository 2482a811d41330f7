/**
 * How `job_output` renders what it read, whole and under a byte limit.
 * @module @deepseek-ai/dsh-tool-jobs/output-text
 */
import { fitTail } from './byte-limit.ts'
import { statusLine, type PublicJobSnapshot } from './snapshot.ts'
import { resultEnding, type JobWake } from './wake-result.ts'

/** The value of `job_output`. */
export interface OutputValue {
  /** What the read returned. */
  text: string
  /** The job after the read. */
  job: PublicJobSnapshot
  /** Why the wait before it ended early, if it did. */
  wake?: JobWake
}

/**
 * Render a read: its text, the wake line if there is one, and the status line last.
 * @param value - the value of `job_output`.
 * @param limit - most UTF-8 bytes. Kept are, in this order: the status line, the wake line, a marker that says that
 * output is missing, and the text's tail.
 * @returns what the model sees.
 */
export function renderOutput({ text, job, wake }: OutputValue, limit = Infinity): string {
  const body = text === '' ? '(no new output)' : text.replace(/\n$/, '')
  return fitTail(body, `\n${resultEnding(wake, statusLine(job), limit - 1)}`, '[output truncated]', limit)
}
