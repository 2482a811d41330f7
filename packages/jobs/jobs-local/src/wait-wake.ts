/**
 * What ends a wait on a job before the job does: output that nobody has read, or a steer from the caller's user. Nothing
 * is read to see whether there is output: it ends waits on jobs whose producer tells of it, and on no others.
 *
 * | held for the waits on a job | from                              | until               |
 * | --------------------------- | --------------------------------- | ------------------- |
 * | the producer's subscription | the first wait with `output`      | the last one ends   |
 * | the listener for inboxes    | the first wait                    | the last one ends   |
 * | one timer                   | something is due before a timeout | nothing is any more |
 *
 * Closing sites: `look`, where output and steers end waits; `close`, for the end of the job; and the disposer that `watch`
 * returns, for a wait that the caller's abort or the timeout has ended.
 * @module @deepseek-ai/dsh-jobs-local/wait-wake
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { JobHooks, JobWaitResult } from '@deepseek-ai/dsh-jobs'
import { FRESH, intervalMs, outputDue, spend, type OutputDue, type Unread } from './output-pace.ts'
import { countEnd, steerDue, type SteerDue, type SteerWatch } from './steer-watch.ts'
import type { WakeSettings } from './wake-settings.ts'

/** What ends a wait now, or else when to ask again. */
export type Verdict = SteerDue | OutputDue | number

/**
 * Whether a wait ends now. While a steer is pending output does not end it; from its timeout on nothing here does.
 * @param now - the present.
 * @param timeoutAt - when the wait's time is over.
 * @param steer - the pending steer, if there is one.
 * @param output - the unread output, if there is some.
 * @returns the verdict.
 */
export function decide(now: number, timeoutAt: number, steer?: SteerDue, output?: OutputDue): Verdict {
  const due = steer ?? output
  if (due === undefined || Math.max(now, due.at) >= timeoutAt) return Infinity
  return now >= due.at ? due : due.at
}

/** A wait that output or a steer may end. */
export interface WakeRequest {
  readonly wake: WakeSettings
  readonly caller: Agent | undefined
  readonly timeoutMs: number
  /** Aborted once the caller or the timeout has ended the wait. */
  readonly signal: AbortSignal
  /** Called at most once, when everything that served the wait here is released. */
  readonly end: (woken: Pick<JobWaitResult, 'wokenBy' | 'nextOutputWakeMs'>) => void
}

interface Watch extends WakeRequest {
  readonly startedAt: number
  readonly output: boolean
}

/** The waits on one job that output and steers may end, and the times of its output. */
export class JobWakes {
  private readonly hooks: JobHooks
  private readonly steers: SteerWatch
  private readonly warn: (fault: string) => void
  private readonly watches = new Set<Watch>()
  private unsubscribe: (() => void) | undefined
  private timer: NodeJS.Timeout | undefined
  private unread: Unread | undefined
  private silentSince = 0
  private pace = FRESH

  /**
   * @param hooks - the job's producer.
   * @param steers - the registry's.
   * @param warn - takes the report of a producer that throws while nobody reads.
   */
  constructor(hooks: JobHooks, steers: SteerWatch, warn: (fault: string) => void) {
    this.hooks = hooks
    this.steers = steers
    this.warn = warn
  }

  /**
   * Take what the job has printed since the last read.
   * @returns the producer's text as it is; `undefined` from a job that does not stream.
   */
  read(): string | undefined {
    const text = this.hooks.readOutput?.()
    this.unread = undefined
    if (text) this.silentSince = performance.now()
    if (this.timer) this.look()
    return text
  }

  /**
   * Let output and steers end a wait.
   * @param request - the wait.
   * @returns a disposer, for when the wait has ended otherwise.
   */
  watch(request: WakeRequest): () => void {
    const startedAt = performance.now()
    const watch = { ...request, startedAt, output: request.wake.output && this.subscribe(startedAt) }
    this.watches.add(watch)
    this.steers.listeners.add(this.look)
    if (this.verdict(watch, startedAt) !== Infinity) this.look()
    return () => {
      if (!this.watches.delete(watch)) return
      this.release()
      if (this.timer) this.look()
    }
  }

  /** The job has ended, which is what ends its waits. */
  close(): void {
    this.watches.clear()
    this.release()
    clearTimeout(this.timer)
  }

  /** Listen to the producer, if it tells of output. What it tells of before there is a disposer was there already. */
  private subscribe(now: number): boolean {
    const { hooks } = this
    if (this.unsubscribe) return true
    if (!hooks.readOutput || !hooks.onOutput) return false
    let found: Unread | undefined
    try {
      this.unsubscribe = hooks.onOutput(() => {
        if (this.unsubscribe) this.printed(performance.now())
        else found = { first: now, last: now }
      })
    } catch (error) {
      this.warn(`onOutput threw (producer contract violation): ${String(error)}`)
      return false
    }
    this.unread = found
    if (found) this.silentSince = now
    return true
  }

  private printed(now: number): void {
    if (now - this.silentSince >= this.pace.restMs) this.pace = FRESH
    this.silentSince = now
    this.unread = { first: this.unread?.first ?? now, last: now }
    this.look()
  }

  /** Ask every wait whether it ends, all for one moment. Those that output ends then are one end to the pace. */
  private readonly look = (now = performance.now()): void => {
    const ended: [Watch, SteerDue | OutputDue][] = []
    let next = Infinity
    let { pace } = this
    for (const watch of this.watches) {
      const verdict = this.verdict(watch, now)
      if (typeof verdict === 'number') {
        next = Math.min(next, verdict)
        continue
      }
      ended.push([watch, verdict])
      this.watches.delete(watch)
      if (verdict.by !== 'steer' && pace === this.pace) pace = spend(pace, verdict.by, now, watch.wake)
    }
    this.pace = pace
    clearTimeout(this.timer)
    // A timer may come a fraction early: its time has come all the same.
    const timeUp = () => {
      this.look(Math.max(next, performance.now()))
    }
    this.timer = next === Infinity ? undefined : setTimeout(timeUp, next - now)
    this.release()
    for (const [{ startedAt, wake, end }, due] of ended) {
      if (due.by === 'steer') countEnd(due.steers, startedAt, now)
      const nextOutputWakeMs = pace.quick > 0 ? 0 : intervalMs(pace, wake)
      end(due.by === 'steer' ? { wokenBy: 'steer' } : { wokenBy: 'output', nextOutputWakeMs })
    }
  }

  private verdict({ wake, caller, timeoutMs, signal, startedAt, output }: Watch, now: number): Verdict {
    if (signal.aborted) return Infinity
    const steers = wake.steer && caller ? this.steers.pending(caller) : undefined
    const steer = steers && steerDue(steers, startedAt, wake.graceMs)
    const unread = output ? this.unread : undefined
    return decide(now, startedAt + timeoutMs, steer, unread && outputDue(unread, startedAt, wake, this.pace))
  }

  /** Let go of what no wait needs any more. */
  private release(): void {
    if (this.watches.size === 0) this.steers.listeners.delete(this.look)
    const { unsubscribe } = this
    if (!unsubscribe || [...this.watches].some(({ output }) => output)) return
    this.unsubscribe = undefined
    try {
      unsubscribe()
    } catch (error) {
      this.warn(`the disposer of onOutput threw (producer contract violation): ${String(error)}`)
    }
  }
}
