/**
 * One question on its way: from the call, over its receipt and the root call's result, to the next model request.
 * @module @deepseek-ai/dsh-ask-trace/open-ask
 */
import type { Part } from './answer-parts.ts'
import { placeOf, type ContextWindow, type LogText, type WindowText } from './context-window.ts'
import { layerEvidence, matchesOutright, matchOf, strengthOf, weakest } from './evidence.ts'
import { excerptOf } from './excerpt.ts'
import { isAbortCode } from './failure.ts'
import type { SpinCounter, SpinSpan } from './spin.ts'
import type { RootCall } from './turn-calls.ts'
import type { AskEvidence, InnerLayer, PendingReason, TracedAsk, TracedMatch, TracedPlace, Verdict } from './types.ts'
import { LOST, verdictOf, type Layers } from './verdict.ts'

/** What is known of a question when it is asked. */
export type AskStart = Pick<TracedAsk, 'mode' | 'calls' | 'turn' | 'goalRound' | 'seq' | 'time' | 'questions'>

/** The root call's result, as it concerns one question. */
export interface Returned {
  /** A match for each part. */
  readonly matches: readonly TracedMatch[]
  /** The beginning of the result, if it lacks anything. */
  readonly head: TracedPlace | undefined
  /** Its place in the coming request. */
  readonly entry: WindowText
  readonly isScalar: boolean
}

/** The element that was written past the program. */
interface Element {
  readonly matches: readonly TracedMatch[]
  readonly entry: WindowText
  readonly isAnswer: boolean
}

/** One number or one boolean, and nothing else. */
const SCALAR = /^\s*(?:true|false|-?\d+(?:\.\d+)?)\s*$/

/** @returns whether a result is one number or one boolean, which may stand for the answer in the program's own way. */
export function isScalar(text: string): boolean {
  return text.length < 100 && SCALAR.test(text)
}

/** The state of one question. A trace feeds it every later event that concerns it, in order. */
export class OpenAsk {
  readonly start: AskStart
  /** The root call, as the very object: call ids may repeat. */
  readonly root: RootCall
  /** How many steps had begun. */
  readonly step: number
  inner: InnerLayer = { kind: 'pending', reason: 'NO_RECEIPT' }
  /** What has to reach the model. */
  parts: readonly Part[] = []
  /** What the approval for this call decided. */
  approval: string | undefined
  /** Whether a message waits in the inbox that holds this question's answer. */
  isQueued = false
  /** Whether the call was aborted while neither its program nor its turn was. */
  isWithdrawn = false
  /** Goal rounds that followed the receipt. */
  spin: SpinSpan | undefined
  /** About how many bytes it takes to look for the answer. */
  searchBytes = 0
  /** Whether the next request was made. */
  isConcluded = false

  private receiptPlace: TracedPlace | undefined
  /** Index of the first text that may carry the answer. */
  private since = 0
  private returned: Returned | undefined
  private isUnreadable = false
  private element: Element | undefined
  private over = false
  private endTime: number | undefined
  /** What the request was judged by, once it was made. */
  private request: readonly TracedMatch[] | undefined

  constructor(start: AskStart, root: RootCall, step: number) {
    this.start = start
    this.root = root
    this.step = step
  }

  /** Whether a receipt can still come. */
  get waiting(): boolean {
    return this.inner.kind === 'pending' && !this.over
  }

  /** Whether the call was cut off while the question was open. */
  get isAborted(): boolean {
    return this.inner.kind === 'failed' && isAbortCode(this.inner.code)
  }

  /** Whether an element can be this question's: it came back from a program and was not written back before. */
  get awaitsElement(): boolean {
    return this.start.mode === 'nested' && !this.isConcluded && this.element === undefined
  }

  get verdict(): Verdict {
    return verdictOf(this.layers)
  }

  /** Goal rounds that followed, if the answer is lost. */
  get lossSpan(): SpinSpan | undefined {
    return LOST.has(this.verdict) ? this.spin : undefined
  }

  /**
   * The call's own receipt.
   * @param inner - what it says.
   * @param parts - what has to reach the model.
   * @param receipt - its text.
   * @param since - index of the first text that may carry them.
   */
  receive(inner: InnerLayer, parts: readonly Part[], receipt: LogText, since: number, time: number | undefined): void {
    const [first] = parts
    const at = first === undefined ? -1 : receipt.text.indexOf(first.said)
    this.inner = inner
    this.parts = parts
    this.receiptPlace = placeOf(receipt, excerptOf(receipt.text, placeAt(at, first?.said.length ?? 0)))
    this.since = since
    this.endTime = time
  }

  /** The root call's result. */
  return(returned: Returned): void {
    this.over = true
    this.returned = returned
  }

  /** The root call's result, or the call's own, is in a shape that this trace does not know. */
  returnUnreadable(shape: string): void {
    if (this.over) return
    this.over = true
    this.isUnreadable = true
    if (this.inner.kind === 'pending') this.inner = { kind: 'unreadable', message: shape }
  }

  /** The turn is over, or crash repair wrote a receipt instead of a result: nothing comes back any more. */
  close(time: number | undefined, reason?: PendingReason): void {
    if (this.inner.kind === 'pending') {
      if (reason !== undefined) this.inner = { kind: 'pending', reason }
      this.endTime ??= time
    }
    this.over = true
  }

  /** The message that brings this question's answer, or its withdrawal, to the model. */
  readElement(text: LogText, entry: WindowText, isAnswer: boolean): void {
    const reason = isAnswer ? 'user-answer' : 'withdrawn-notice'
    this.element = { matches: matchesOutright(text, this.parts, reason), entry, isAnswer }
  }

  /** The next request was made: what it was built from is settled, and no text is looked at any more. */
  conclude(window: ContextWindow): void {
    this.request = weakest(this.contextMatches(window))
    if (this.returned !== undefined) this.returned = { ...this.returned, matches: weakest(this.returned.matches) }
    this.isConcluded = true
    this.parts = []
  }

  /** Whether the answer may have to be looked for in other texts than its own result. */
  get needsOtherTexts(): boolean {
    return this.element?.entry.alive !== true && this.ownMatches().some(match => (match?.strength ?? 'none') === 'none')
  }

  /**
   * @param window - the coming request, searched.
   * @param lastTime - time of the log's last event.
   * @param rounds - the log's goal rounds.
   * @returns the question as it stands now.
   */
  snapshot(window: ContextWindow, lastTime: number | undefined, rounds: SpinCounter): TracedAsk {
    const { start, inner, verdict, lossSpan, layers } = this
    const end = this.endTime ?? (inner.kind === 'pending' ? lastTime : undefined)
    const waitedMs = start.time === undefined || end === undefined ? undefined : Math.max(0, end - start.time)
    return {
      ...start,
      inner,
      outer: layers.outer === 'missing' || layers.outer === 'unreadable' ? 'missing' : carriesOr(layers.outer),
      context: layers.context === 'no-request-yet' ? 'no-request-yet' : carriesOr(layers.context),
      evidence: this.evidence(window),
      writtenBack: this.element !== undefined,
      ...(waitedMs === undefined ? {} : { waitedMs }),
      verdict,
      roundsSpun: lossSpan === undefined ? 0 : rounds.length(lossSpan),
    }
  }

  private get layers(): Layers {
    const { inner, returned, request, element } = this
    const isAnswer = element?.isAnswer === true
    return {
      inner: inner.kind,
      outer: this.isUnreadable ? 'unreadable' : returned === undefined ? 'missing' : this.strength(returned.matches),
      context: request === undefined ? 'no-request-yet' : this.strength(request),
      element: isAnswer ? 'entered' : this.isQueued ? 'queued' : 'none',
      isRunning: !this.over,
      isWithdrawn: this.isWithdrawn,
      isScalar: returned?.isScalar === true,
    }
  }

  /** A question without a receipt has nothing that could be carried. */
  private strength(matches: readonly TracedMatch[]): ReturnType<typeof strengthOf> {
    return this.inner.kind === 'pending' ? 'none' : strengthOf(matches)
  }

  private evidence(window: ContextWindow): AskEvidence {
    const { receiptPlace: inner, returned } = this
    const request = this.request ?? this.contextMatches(window)
    return {
      ...(inner === undefined ? {} : { inner }),
      ...(returned === undefined ? {} : { outer: layerEvidence(returned.matches, returned.head) }),
      ...(this.over || this.isConcluded ? { context: layerEvidence(request, returned?.head) } : {}),
    }
  }

  /** For each part its match in the question's own result, if the request has that still. */
  private ownMatches(): (TracedMatch | undefined)[] {
    const { returned } = this
    return this.parts.map((_, index) => (returned?.entry.alive === true ? returned.matches[index] : undefined))
  }

  private contextMatches(window: ContextWindow): readonly TracedMatch[] {
    const { element, parts } = this
    if (element?.entry.alive === true) return element.matches
    const own = this.ownMatches()
    return parts.map((part, index) => {
      const match = own[index]
      if (match !== undefined && match.strength !== 'none') return match
      const at = window.lastPlace(part, this.since)
      if (at === undefined) return matchOf(part, { strength: 'none', reason: 'absent' }, undefined)
      return part.isMessage
        ? matchOf(part, { strength: 'strong', reason: 'text' }, at)
        : matchOf(part, { strength: 'weak', reason: 'other-text' }, at)
    })
  }
}

function placeAt(start: number, length: number): { start: number; end: number } {
  return start === -1 ? { start: 0, end: 0 } : { start, end: start + length }
}

function carriesOr(strength: ReturnType<typeof strengthOf>): 'carries' | 'lacks' {
  return strength === 'none' ? 'lacks' : 'carries'
}
