/**
 * When unread output of a job ends a wait: soon at first, and when the job falls quiet; less and less often while it goes
 * on printing. Times are milliseconds on one clock.
 * @module @deepseek-ai/dsh-jobs-local/output-pace
 */
import type { WakeSettings } from './wake-settings.ts'

/** When unread output began and when it last grew. */
export interface Unread {
  readonly first: number
  readonly last: number
}

/** When output ends a wait, and how: `quick` since the job fell quiet, `paced`, or `late` after a longer quiet. */
export interface OutputDue {
  readonly at: number
  readonly by: 'quick' | 'paced' | 'late'
}

/** What a job's output has used up by ending waits, and when it last did. */
export interface Pace {
  readonly lastEnd: number
  /** Ends that were not quick; each but the first doubles the interval. */
  readonly slow: number
  /** Quick and late ends that are left. */
  readonly quick: number
  readonly late: number
  /** The silence after which all this begins anew. */
  readonly restMs: number
}

/** The pace of a job whose output has not ended a wait yet. */
export const FRESH: Pace = { lastEnd: -Infinity, slow: 0, quick: 3, late: 2, restMs: Infinity }

/**
 * When and how unread output ends a wait, if no more of it comes.
 * @param unread - the output's times; what was unread when the wait began counts from there.
 * @param startedAt - when the wait began.
 * @param wake - the wait's settings.
 * @param pace - the job's pace.
 * @returns the time and the kind.
 */
export function outputDue(unread: Unread, startedAt: number, wake: WakeSettings, pace: Pace): OutputDue {
  const last = Math.max(unread.last, startedAt)
  const quiet = last + wake.graceMs
  const settled = Math.min(quiet, Math.max(unread.first, startedAt) + wake.maxHoldMs)
  if (wake.outputIntervalMs === 0 || (quiet === settled && pace.quick > 0)) return { at: settled, by: 'quick' }
  const paced = Math.max(settled, pace.lastEnd + intervalMs(pace, wake))
  const late = pace.late > 0 ? Math.max(settled, last + wake.outputIntervalMs) : Infinity
  return late < paced ? { at: late, by: 'late' } : { at: paced, by: 'paced' }
}

/**
 * How long after an end the next paced one may come.
 * @param pace - the job's pace.
 * @param wake - a wait's settings.
 * @returns milliseconds; 0 without pacing.
 */
export function intervalMs(pace: Pace, wake: WakeSettings): number {
  const { outputIntervalMs, maxOutputIntervalMs } = wake
  return outputIntervalMs && Math.min(outputIntervalMs * 2 ** Math.max(pace.slow - 1, 0), maxOutputIntervalMs)
}

/**
 * The pace after output has ended a wait.
 * @param pace - the pace before.
 * @param by - how it ended it.
 * @param now - when.
 * @param wake - the wait's settings; without an interval nothing is used up.
 * @returns the pace from now on.
 */
export function spend(pace: Pace, by: OutputDue['by'], now: number, wake: WakeSettings): Pace {
  const { outputIntervalMs } = wake
  if (outputIntervalMs === 0) return pace
  const next = { ...pace, lastEnd: now, restMs: 6 * outputIntervalMs }
  if (by === 'quick') return { ...next, quick: pace.quick - 1 }
  return { ...next, slow: pace.slow + 1, late: by === 'late' ? pace.late - 1 : pace.late }
}
