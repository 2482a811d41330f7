/**
 * What ends a wait on a job before the job does: output that nobody has read, or a steer from the caller's user. The
 * functions decide; `JobWakes` feeds them with draws, signals, the inbox and one timer. A wait watches two things side
 * by side, and leaves for good when one of them, or anything else, ends it:
 *
 * | state           | entered                                    | left                                               |
 * | --------------- | ------------------------------------------ | -------------------------------------------------- |
 * | no steer        | at first; steers were claimed or withdrawn | a steer is pending: its window opens               |
 * | steer window    | a steer is pending                         | window over: ends by `steer` if still pending      |
 * | nothing unread  | at first; a read took everything           | a draw brings text, or the producer signals        |
 * | unread, not due | text came, or more of it                   | due, and a last draw does not put it off: ends by  |
 * |                 |                                            | `output`                                           |
 * | deaf to output  | the producer threw in a draw               | never                                              |
 *
 * Closing sites: a wake (`wake`), and the disposer that `watch` returns, which the wait calls when the job's end, the
 * caller's abort or the timeout has ended it. Those three win over a wake that has not happened yet. With the last wait
 * goes the subscription to the producer's signal; until the first one it is heard from the job's start, so that a wait
 * knows without a draw what is unread. A later wait looks once, and hears again.
 * @module @deepseek-ai/dsh-jobs-local/wait-wake
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { JobHooks, JobId } from '@deepseek-ai/dsh-jobs'
import { MAX_TIMER_DELAY_MS } from '@deepseek-ai/dsh-timeout'
import { JobOutput, type Unread } from './job-output.ts'
import { SteerWatch, type SteerWakes } from './steer-watch.ts'
import type { WakeSettings } from './wake-settings.ts'

/** What a wait was woken by. */
export type WokenBy = 'output' | 'steer'

/** When each end of a wait falls due; `Infinity` for one that is not in sight. */
export type WaitDues = Readonly<Record<WokenBy | 'timeout', number>>

/**
 * When unread output ends a wait: once it is quiet or was held long enough, and not too soon after the last time.
 * @param unread - the output's times.
 * @param lastWake - the job's last output wake, `-Infinity` before the first.
 * @param wake - the wait's settings.
 * @returns the time, on the clock of the others.
 */
export function outputDue(unread: Unread, lastWake: number, wake: WakeSettings): number {
  const settled = Math.min(unread.last + wake.graceMs, unread.first + wake.maxHoldMs)
  return Math.max(lastWake + wake.outputIntervalMs, settled)
}

/**
 * Whether a wake ends a wait now. From the time of the timeout on none does: the timeout is about to.
 * @param now - the present.
 * @param due - when each end falls due.
 * @returns the wake, or else when to ask again.
 */
export function decide(now: number, due: WaitDues): WokenBy | number {
  if (now >= due.timeout) return Infinity
  if (now >= due.steer) return 'steer'
  if (now >= due.output) return 'output'
  return Math.min(due.steer, due.output)
}

/** What the jobs of one registry share. */
export interface WakeHost {
  /** The registry's own context: a listener there does not end with the plugin that happens to wait. */
  readonly ctx: Context
  /** A clock that never runs backwards, in milliseconds. */
  readonly now: () => number
  readonly steerWakes: SteerWakes
}

/** A wait that wants to be woken. */
export interface WakeRequest {
  readonly wake: WakeSettings
  readonly caller: Agent | undefined
  readonly timeoutMs: number
  /** Aborted once the caller or the timeout has ended the wait. */
  readonly signal: AbortSignal
  /** Called at most once, when a wake ends the wait and everything that served it here is released. */
  readonly end: (wokenBy: WokenBy) => void
}

/** What may open or close the window of a steer. */
const INBOX_CHANGES = ['agent/inbox/inserted', 'agent/inbox/discarded', 'agent/inbox/claimed'] as const

interface Watch extends WakeRequest {
  readonly timeoutAt: number
  readonly steers: SteerWatch | undefined
  readonly unlisten: () => void
  /** Whether unread output may end the wait; no longer once the producer threw. */
  listening: boolean
}

/** The wakes of one job, and its output, which they look at. */
export class JobWakes {
  private readonly host: WakeHost
  private readonly warn: (fault: string) => void
  private readonly output: JobOutput
  private readonly watches = new Set<Watch>()
  private timer: NodeJS.Timeout | undefined
  private lastDraw = -Infinity
  private lastWake = -Infinity

  /**
   * @param host - what the registry's jobs share.
   * @param id - the job, for the log.
   * @param hooks - the job's producer.
   */
  constructor(host: WakeHost, id: JobId, hooks: JobHooks) {
    this.host = host
    this.warn = fault => {
      host.ctx.logger.warn(`jobs: job ${id} ${fault}`)
    }
    this.output = new JobOutput(hooks, this.warn)
    this.output.subscribe(this.printed)
  }

  /**
   * Take everything that the job has printed since the last read.
   * @returns the text, or `undefined` from a job that does not stream; a throw of the producer loses nothing.
   */
  read(): string | undefined {
    const text = this.output.take()
    this.lastDraw = this.host.now()
    this.look()
    return text
  }

  /**
   * Let output and steers end a wait.
   * @param request - the wait.
   * @returns a disposer, for when the wait has ended otherwise.
   */
  watch(request: WakeRequest): () => void {
    const { wake, caller, timeoutMs } = request
    const { steerWakes } = this.host
    const steers = wake.steer && caller ? new SteerWatch(caller, wake.graceMs, steerWakes, this.warn) : undefined
    const watch: Watch = {
      ...request,
      timeoutAt: this.host.now() + timeoutMs,
      steers,
      unlisten: steers ? this.listen(steers) : () => {},
      listening: wake.output && this.output.streams,
    }
    this.watches.add(watch)
    if (watch.listening && !this.output.isHeard) this.catchUp()
    this.look()
    return () => {
      this.leave(watch)
    }
  }

  /** The job has ended: its producer is not listened to any longer. */
  close(): void {
    this.output.unsubscribe()
  }

  /** What was printed while nobody listened is to be seen now, not at the next poll or signal. */
  private catchUp(): void {
    this.output.subscribe(this.printed)
    if (this.output.unread === undefined) this.draw(this.host.now())
  }

  private listen(steers: SteerWatch): () => void {
    try {
      const changed = ({ agent }: { agent: Agent }) => {
        if (agent === steers.agent) this.look()
      }
      const unlisten = INBOX_CHANGES.map(change => this.host.ctx.on(change, changed))
      return () => {
        unlisten.forEach(dispose => dispose())
      }
    } catch {
      // The registry is being disposed, which ends its jobs and with them this wait.
      return () => {}
    }
  }

  private readonly printed = (): void => {
    this.output.note(this.host.now())
    this.look()
  }

  private leave(watch: Watch): void {
    this.watches.delete(watch)
    watch.unlisten()
    if (this.watches.size > 0) return
    clearTimeout(this.timer)
    this.output.unsubscribe()
  }

  /** Ask every wait whether it ends now, all for one moment and before any of them does; then set the timer. */
  private look(now = this.host.now()): void {
    if (now > this.lastDraw && now >= this.drawDue()) this.draw(now)
    let next = Infinity
    for (const [watch, verdict] of Array.from(
      this.watches,
      each => [each, decide(now, this.dues(each, now))] as const,
    )) {
      if (typeof verdict === 'number') next = Math.min(next, verdict)
      else this.wake(watch, verdict, now)
    }
    next = Math.min(next, this.drawDue())
    clearTimeout(this.timer)
    if (next === Infinity) return
    // A timer may come a fraction early: its time has come all the same.
    this.timer = setTimeout(
      () => {
        this.look(Math.max(next, this.host.now()))
      },
      Math.min(next - now, MAX_TIMER_DELAY_MS),
    )
  }

  private wake(watch: Watch, wokenBy: WokenBy, now: number): void {
    this.leave(watch)
    if (wokenBy === 'output') this.lastWake = now
    else watch.steers?.woke()
    watch.end(wokenBy)
  }

  private dues({ signal, timeoutAt, steers, listening, wake }: Watch, now: number): WaitDues {
    const { unread } = this.output
    return {
      timeout: signal.aborted ? now : timeoutAt,
      steer: steers?.due(now) ?? Infinity,
      output: listening && unread ? outputDue(unread, this.lastWake, wake) : Infinity,
    }
  }

  /** A draw can damage the text that it cuts: there is none but until the first text, and when a wake falls due. */
  private drawDue(): number {
    const { unread, drawable } = this.output
    if (!drawable) return Infinity
    const listening = [...this.watches].filter(watch => watch.listening)
    return Math.min(
      ...listening.map(({ wake }) => (unread ? outputDue(unread, this.lastWake, wake) : this.lastDraw + wake.pollMs)),
    )
  }

  private draw(now: number): void {
    this.lastDraw = now
    if (this.output.draw(now)) return
    for (const watch of this.watches) watch.listening = false
  }
}
