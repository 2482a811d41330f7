/**
 * What ends a wait on a job before the job does, and what the wait then returns.
 * @module @deepseek-ai/dsh-jobs/wake-types
 */
import type { JobSnapshot } from './types.ts'

/** Which events, besides settlement and the timeout, end a wait, and how patiently. Times are milliseconds. */
export interface JobWakeOptions {
  /** End the wait when the job has output that no read has returned yet, and its producer tells of output. */
  readonly output?: boolean
  /** End the wait when the calling agent has a steer from its user pending. */
  readonly steer?: boolean
  /** Settle window after a trigger (default 250; 0 = none). */
  readonly graceMs?: number
  /** Longest time unread output is held back while the job keeps printing (default 1,000). */
  readonly maxHoldMs?: number
  /** The first interval between two ends by output on one job (default 10,000; 0 = no pacing). It doubles each time. */
  readonly outputIntervalMs?: number
  /** The longest such interval, at least `outputIntervalMs` (default 120,000, or `outputIntervalMs` if that is more). */
  readonly maxOutputIntervalMs?: number
}

/** A wait's result. */
export interface JobWaitResult extends JobSnapshot {
  /** What ended the wait; set exactly when output or a steer did, on a job that is still alive. */
  readonly wokenBy?: 'output' | 'steer'
  /**
   * With `wokenBy: 'output'`: how long from now output of this job ends no further wait, in milliseconds, unless the job
   * falls quiet after it has printed for long. 0 while output may end the next wait at once.
   */
  readonly nextOutputWakeMs?: number
}
