/**
 * Calls listeners when a read of a process would return something new. The subprocess service has no event for that, so
 * a timer looks at the two streams, only while somebody listens, and consumes nothing. Two positions a stream: up to
 * *read* all was handed out, up to *told* all was handed out or signalled; both never lie inside a character.
 *
 * | state             | entered                              | left                                                  |
 * | ----------------- | ------------------------------------ | ----------------------------------------------------- |
 * | live, nobody      | at first; the last disposer          | a subscription; the end of the process                |
 * | live, listened to | the first subscription               | the last disposer; the end of the process             |
 * | last look due     | the process ended, somebody listens  | the last look, in a later macrotask; the last disposer |
 * | over              | the last look; the end, with nobody  | never                                                 |
 *
 * In each state a new listener is called at once, before `onOutput` returns, if something is unread; in the two after
 * the end that is all that ever happens to it. A reader that throws ends the looks, and the state goes on without them.
 *
 * Closing sites of the looks: the last disposer, and the end of the process, which the end of the subprocess service
 * brings about. Closing sites of a subscription: its disposer, and the last look, after which there is no other.
 * @module @deepseek-ai/dsh-bash-local/output-signal
 */
import type { SubprocessOutputReader } from '@deepseek-ai/dsh-subprocess'
import { readWhole } from './whole-text.ts'

/** Between two ticks of the timer. */
const TICK_MS = 100

const MOST_TICKS = 10

/**
 * When to look again. A look joins all that memory holds of a stream, so a large memory makes it slow; this keeps looks
 * at or below 2 % of the time, up to 20 ms each.
 * @param lookMs - how long the last look took.
 * @returns the number of ticks until the next one.
 */
export function ticksAfter(lookMs: number): number {
  return Math.min(Math.max(1, Math.ceil((50 * lookMs) / TICK_MS)), MOST_TICKS)
}

/** A timer that all processes of an executor share: one for each would cost as much as the looks. */
export class LookTimer {
  private readonly looks = new Set<() => void>()
  private timer: NodeJS.Timeout | undefined

  /**
   * @param look - what to call at every tick.
   */
  start(look: () => void): void {
    this.looks.add(look)
    // The processes themselves keep the harness alive.
    this.timer ??= setTimeout(() => {
      for (const each of [...this.looks]) {
        if (this.looks.has(each)) each()
      }
      this.timer?.refresh()
    }, TICK_MS).unref()
  }

  /**
   * @param look - what to call no more.
   */
  stop(look: () => void): void {
    this.looks.delete(look)
    if (this.looks.size > 0) return
    clearTimeout(this.timer)
    this.timer = undefined
  }
}

/** An output stream, and how far it was handed out. */
export interface SignalStream {
  readonly reader: SubprocessOutputReader
  /** Offset of the first byte that no read has returned; never inside a character. */
  readonly offset: () => number
}

/** What a process has to show. */
export interface SignalSource {
  readonly timer: LookTimer
  readonly streams: readonly SignalStream[]
  /** Whether a read would also return a note that is in no stream. */
  readonly hasNote: () => boolean
  /** Takes the report of a fault that is contained here. */
  readonly warn: (fault: string) => void
}

/** The listeners of one process, and the looks for them. */
export class OutputSignal {
  /** Whether the process has ended; from then on nothing is held back for its end. */
  isSettled = false
  private readonly source: SignalSource
  private readonly streams: readonly (SignalStream & { told: number })[]
  private readonly subscriptions = new Set<{ readonly listener: () => void }>()
  /** Whether a look has found output that its listeners were not called for. */
  private isUntold = false
  private isBroken = false
  private ticksLeft = 1
  private lastLook: NodeJS.Immediate | undefined

  /**
   * @param source - the process.
   */
  constructor(source: SignalSource) {
    this.source = source
    this.streams = source.streams.map(stream => ({ ...stream, told: 0 }))
  }

  /**
   * Subscribe: the process's `onOutput`.
   * @param listener - what to call.
   * @returns the disposer.
   */
  subscribe(listener: () => void): () => void {
    this.look()
    // Those that listen already are not called between the end and `done`: the last look does that.
    if (!this.isSettled) this.tell()
    const subscription = { listener }
    if (!this.isSettled) this.subscriptions.add(subscription)
    if (this.isUnread()) this.call(listener)
    if (!this.isSettled && !this.isBroken) this.source.timer.start(this.tick)
    return () => {
      this.subscriptions.delete(subscription)
      if (this.subscriptions.size === 0) this.stop()
    }
  }

  /** The process has ended. The last look comes after `done` has resolved: whoever awaits that goes first. */
  settle(): void {
    this.isSettled = true
    this.stop()
    if (this.subscriptions.size === 0) return
    this.lastLook = setImmediate(() => {
      this.look()
      this.isUntold ||= this.source.hasNote()
      this.tell()
    })
  }

  private readonly tick = (): void => {
    this.ticksLeft -= 1
    if (this.ticksLeft > 0) return
    this.look()
    this.tell()
  }

  private stop(): void {
    this.source.timer.stop(this.tick)
    clearImmediate(this.lastLook)
  }

  /** Move *told* to the readable end of each stream. What was read meanwhile needs no look. */
  private look(): void {
    if (this.isBroken) return
    const started = performance.now()
    try {
      for (const stream of this.streams) {
        const from = Math.max(stream.told, stream.offset())
        stream.told = readWhole(stream.reader, from, this.isSettled).nextOffset
        this.isUntold ||= stream.told > from
      }
    } catch (error: unknown) {
      this.isBroken = true
      this.source.timer.stop(this.tick)
      this.source.warn(`has output that throws when it is looked at, and signals it no longer: ${String(error)}`)
    }
    this.ticksLeft = ticksAfter(performance.now() - started)
  }

  private isUnread(): boolean {
    return this.source.hasNote() || this.streams.some(({ told, offset }) => told > offset())
  }

  /** Call everybody, but for whom another listener disposes meanwhile, if there is output that nobody was called for. */
  private tell(): void {
    if (!this.isUntold || !this.isUnread()) return
    this.isUntold = false
    for (const subscription of [...this.subscriptions]) {
      if (this.subscriptions.has(subscription)) this.call(subscription.listener)
    }
  }

  private call(listener: () => void): void {
    try {
      listener()
    } catch (error: unknown) {
      this.source.warn(`has a listener for output that threw: ${String(error)}`)
    }
  }
}
