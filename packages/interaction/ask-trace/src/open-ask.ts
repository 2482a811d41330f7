/**
 * One question on its way: from the call, over its receipt and the root call's result, to the next model request.
 * @module @deepseek-ai/dsh-ask-trace/open-ask
 */
import { needlesIn, type Needle } from './carries.ts'
import type { SpinCounter, SpinSpan } from './spin.ts'
import type { RootCall } from './turn-calls.ts'
import type { ContextLayer, InnerLayer, OuterLayer, PendingReason, TracedAsk, Verdict } from './types.ts'
import { LOST, verdictOf } from './verdict.ts'

/** What is known of a question when it is asked. */
export type AskStart = Pick<TracedAsk, 'mode' | 'calls' | 'turn' | 'goalRound' | 'seq' | 'time' | 'questions'>

/** The state of one question. A trace feeds it every later event that concerns it, in order. */
export class OpenAsk {
  readonly start: AskStart
  /** The root call, as the very object: call ids may repeat. */
  readonly root: RootCall
  inner: InnerLayer = { kind: 'pending', reason: 'NO_RECEIPT' }
  /** What the approval for this call decided. */
  approval: string | undefined
  /** The write-back that waits in the inbox for this question. */
  queuedMessageId: string | undefined
  /** Goal rounds that followed the receipt. */
  spin: SpinSpan | undefined

  /** How many steps had begun. */
  private readonly step: number
  private outer: OuterLayer = 'missing'
  private context: ContextLayer = 'no-request-yet'
  private over = false
  private writtenBack = false
  private endTime: number | undefined
  private needles: readonly Needle[] = []
  /** What each text of the coming request holds: needle indices, by the text's key. */
  private readonly evidence = new Map<number, readonly number[]>()
  private writeBackKey: number | undefined

  constructor(start: AskStart, root: RootCall, step: number) {
    this.start = start
    this.root = root
    this.step = step
  }

  /** Whether a receipt can still come. */
  get waiting(): boolean {
    return this.pending && !this.over
  }

  get verdict(): Verdict {
    const { outer, context } = this
    const writeBack = this.writtenBack ? 'entered' : this.queuedMessageId === undefined ? 'none' : 'queued'
    return verdictOf({ inner: this.inner.kind, outer, context, writeBack, running: !this.over })
  }

  /** Goal rounds that followed, if the answer is lost. */
  get lossSpan(): SpinSpan | undefined {
    return LOST.has(this.verdict) ? this.spin : undefined
  }

  /** Whether a write-back can be this question's: it came back from a program and was not written back before. */
  get awaitsWriteBack(): boolean {
    if (this.start.mode === 'native' || this.writtenBack || this.queuedMessageId !== undefined) return false
    return this.inner.kind === 'answered' || (this.inner.kind === 'failed' && this.inner.code === 'ABORTED')
  }

  /** Whether the next model output, in the given step, is the answer to a request made after this question's end. */
  requestedIn(step: number): boolean {
    return this.over || step !== this.step
  }

  /** The call's own receipt; `needles` are what has to reach the model. */
  receive(inner: InnerLayer, needles: readonly Needle[], time: number | undefined): void {
    this.inner = inner
    this.needles = needles
    this.endTime = time
  }

  /** The root call's result. */
  return(text: string): void {
    this.over = true
    this.outer = !this.pending && this.isWhole(needlesIn(text, this.needles)) ? 'carries' : 'lacks'
  }

  /** The turn is over, or crash repair wrote a receipt instead of a result: nothing comes back any more. */
  close(time: number | undefined, reason?: PendingReason): void {
    if (this.pending) {
      if (reason !== undefined) this.inner = { kind: 'pending', reason }
      this.endTime ??= time
    }
    this.over = true
  }

  /** A text that the next request is built from. */
  read(key: number, text: string): void {
    const found = needlesIn(text, this.needles)
    if (found.length > 0) this.evidence.set(key, found)
  }

  /** The message that brings this question's answer back. */
  readWriteBack(key: number): void {
    this.writeBackKey = key
    this.writtenBack = true
  }

  /** A text was replaced before the request was made. */
  forget(key: number): void {
    this.evidence.delete(key)
    if (this.writeBackKey === key) this.writeBackKey = undefined
  }

  /** The next request was made: what it was built from is settled, and no text is looked at any more. */
  conclude(): void {
    const whole = this.writeBackKey !== undefined || this.isWhole([...this.evidence.values()].flat())
    this.context = !this.pending && whole ? 'carries' : 'lacks'
    this.needles = []
    this.evidence.clear()
  }

  /**
   * @param lastTime - time of the log's last event.
   * @param rounds - the log's goal rounds.
   * @returns the question as it stands now.
   */
  snapshot(lastTime: number | undefined, rounds: SpinCounter): TracedAsk {
    const end = this.endTime ?? (this.pending ? lastTime : undefined)
    const { start, inner, outer, context, writtenBack, verdict, lossSpan } = this
    return {
      ...start,
      inner,
      outer,
      context,
      writtenBack,
      ...(start.time === undefined || end === undefined ? {} : { waitedMs: end - start.time }),
      verdict,
      roundsSpun: lossSpan === undefined ? 0 : rounds.length(lossSpan),
    }
  }

  private get pending(): boolean {
    return this.inner.kind === 'pending'
  }

  private isWhole(found: readonly number[]): boolean {
    return new Set(found).size === this.needles.length
  }
}
