/**
 * One job's output between its producer and its readers. What is drawn only to be looked at is held until a read takes
 * it, so that every text of the producer comes out once and in order, whoever looked first.
 * @module @deepseek-ai/dsh-jobs-local/job-output
 */
import type { JobHooks } from '@deepseek-ai/dsh-jobs'

/** When unread output began and when it last grew, on its caller's clock. */
export interface Unread {
  readonly first: number
  readonly last: number
}

/** With this much held, no more is drawn: the producer keeps the rest and bounds it in its own way. */
const MOST_HELD_BYTES = 64 * 1024

/** The output of one job. */
export class JobOutput {
  /** Whether the job prints as it runs. Any other has a final output, which never wakes anybody. */
  readonly streams: boolean
  /** The output that no read has taken, as far as a draw or a signal has shown it. */
  unread: Unread | undefined
  private readonly readOutput: JobHooks['readOutput']
  private onOutput: JobHooks['onOutput']
  private readonly warn: (fault: string) => void
  private disposeSignal: (() => void) | undefined
  private held = ''

  /**
   * @param hooks - the job's producer.
   * @param warn - takes the report of a producer that throws while nobody reads.
   */
  constructor(hooks: JobHooks, warn: (fault: string) => void) {
    this.streams = hooks.readOutput !== undefined
    this.readOutput = hooks.readOutput?.bind(hooks)
    this.onOutput = hooks.onOutput?.bind(hooks)
    this.warn = warn
  }

  /**
   * Hear the producer's signal, if it has one, until {@link unsubscribe}. A producer that throws has none from then on.
   * @param printed - called on each signal, the first perhaps at once.
   */
  subscribe(printed: () => void): void {
    const isSound = this.contain('onOutput', () => {
      this.disposeSignal = this.onOutput?.(printed)
    })
    if (!isSound) this.onOutput = undefined
  }

  /** Hear the signal no longer. */
  unsubscribe(): void {
    const dispose = this.disposeSignal
    this.disposeSignal = undefined
    this.contain('the disposer of onOutput', () => dispose?.())
  }

  /** Whether the producer's signal tells of every output. */
  get isHeard(): boolean {
    return this.disposeSignal !== undefined
  }

  /** Whether a draw may be made to look for output: the producer gives no signal, and the hold is not full. */
  get drawable(): boolean {
    return !this.isHeard && Buffer.byteLength(this.held) < MOST_HELD_BYTES
  }

  /**
   * Take down that there is output, or more of it.
   * @param now - when it was seen.
   */
  note(now: number): void {
    this.unread = { first: this.unread?.first ?? now, last: now }
  }

  /**
   * Look for output, and hold what there is.
   * @param now - the present.
   * @returns false if the producer threw; what is held stays.
   */
  draw(now: number): boolean {
    return this.contain('readOutput', () => {
      const text = this.readOutput?.()
      if (!text) return
      this.held += text
      this.note(now)
    })
  }

  /**
   * Read everything since the last read.
   * @returns what was held, then the new text; `undefined` from a job that does not stream. If the producer throws, what
   *   is held stays for the next read.
   */
  take(): string | undefined {
    const text = this.readOutput?.()
    if (text === undefined) return undefined
    const all = this.held + text
    this.held = ''
    this.unread = undefined
    return all
  }

  private contain(hook: string, call: () => void): boolean {
    try {
      call()
      return true
    } catch (error) {
      this.warn(`${hook} threw while nobody read (producer contract violation): ${String(error)}`)
      return false
    }
  }
}
