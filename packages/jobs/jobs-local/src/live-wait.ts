/**
 * One wait on a live job, from the call to the one event that ends it.
 *
 * | ended by                            | result                               | job becomes reported       |
 * | ----------------------------------- | ------------------------------------ | -------------------------- |
 * | settlement (calls the wait's entry) | the terminal snapshot                | yes, since somebody waited |
 * | the caller's abort                  | rejects with `wait aborted`          | no                         |
 * | the timeout                         | the live snapshot                    | no                         |
 * | output or a steer                   | the live snapshot and which it was   | no                         |
 *
 * Whatever comes first ends the wait: in that same tick the waiter is uncounted and every timer, listener and watch of
 * the wait is released, so that nothing later can end it again or be kept from being announced by it.
 * @module @deepseek-ai/dsh-jobs-local/live-wait
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { JobWaitResult } from '@deepseek-ai/dsh-jobs'
import { deadline } from '@deepseek-ai/dsh-timeout'
import { snapshotOf, type JobRecord } from './job-record.ts'
import type { WakeRequest } from './wait-wake.ts'
import type { WakeSettings } from './wake-settings.ts'

/** Names the timeout of a wait among the reasons for which a signal aborts. */
export const TASK_WAIT_TIMEOUT = 'TASK_WAIT_TIMEOUT'

/** What the caller of a wait asked for. */
export interface WaitRequest {
  readonly timeoutMs: number
  readonly caller: Agent | undefined
  readonly signal: AbortSignal | undefined
  /** Checked wake options; without them neither output nor a steer ends the wait. */
  readonly wake: WakeSettings | undefined
}

/**
 * Wait on a live job.
 * @param record - the job; while the wait lasts, it has an entry in the record's `waitResolvers`.
 * @param request - how long, for whom, and until what.
 * @returns the job at the end of the wait.
 */
export function waitOnLive(record: JobRecord, request: WaitRequest): Promise<JobWaitResult> {
  const { timeoutMs, caller, signal, wake } = request
  const limit = deadline(signal, timeoutMs, TASK_WAIT_TIMEOUT)
  const { promise, resolve, reject } = Promise.withResolvers<JobWaitResult>()
  let unwatch = () => {}

  const end = () => {
    record.waitResolvers.delete(settled)
    limit.signal.removeEventListener('abort', stopped)
    limit[Symbol.dispose]()
    unwatch()
  }
  const settled = () => {
    end()
    resolve(snapshotOf(record))
  }
  const stopped = () => {
    end()
    if (signal?.aborted) reject(new Error('wait aborted'))
    else resolve(snapshotOf(record))
  }

  record.waitResolvers.add(settled)
  limit.signal.addEventListener('abort', stopped)
  if (wake !== undefined) {
    const woken: WakeRequest['end'] = by => {
      end()
      resolve({ ...snapshotOf(record), ...by })
    }
    unwatch = record.wakes.watch({ wake, caller, timeoutMs, signal: limit.signal, end: woken })
  }
  return promise
}
