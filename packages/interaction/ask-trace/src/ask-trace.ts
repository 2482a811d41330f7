/**
 * The fold over a session's events. One entry for each `ask_user_question` call, native or nested, opened by the call
 * and concluded by the next model request.
 *
 * | event | what the fold does |
 * | --- | --- |
 * | `tool/call`, `tool/code-dispatch-start` | opens an entry, if it is the question tool |
 * | `tool/code-dispatch` | the inner receipt of the oldest open entry with this sub-call id |
 * | `tool/result` | the outer result of the oldest open root call with this id; a native call's inner receipt |
 * | `approval/asked`, `approval/decided` | who refused, for a receipt that does not say |
 * | `agent/inbox/spliced` | a write-back waits |
 * | `user/message`, `tool/result` | text for the next request; a replacement takes the replaced text away |
 * | `turn/start`, `turn/end` | no open call returns any more |
 * | `assistant/chunk`, `assistant/message` | the request was made: entries of earlier steps are concluded |
 * @module @deepseek-ai/dsh-ask-trace/ask-trace
 */
import { TOOL_NOT_STARTED, TOOL_OUTCOME_UNKNOWN } from '@deepseek-ai/dsh-session'
import {
  contentText,
  isErrorResult,
  isHarnessText,
  isReplacement,
  list,
  number,
  questionsOf,
  record,
  text,
  type JsonRecord,
} from './event-view.ts'
import { OpenAsk, type AskStart } from './open-ask.ts'
import { readReceipt, type Receipt } from './receipt.ts'
import { SpinCounter, type SpinSpan } from './spin.ts'
import { summarize } from './summary.ts'
import { TurnCalls, type RootCall } from './turn-calls.ts'
import type { AskReport, PendingReason } from './types.ts'
import { isWriteBack, messageId, writeBackTarget } from './write-back.ts'

const TOOL = 'ask_user_question'

/** A trace that events are pushed into, in log order. */
export interface AskTrace {
  /**
   * @param event - the next event; anything that is no event, or of no interest, is passed over.
   */
  push(event: unknown): void
  /**
   * @returns what the events so far say. The trace goes on: more may be pushed and reported.
   */
  finish(): AskReport
}

/**
 * @param events - a session's events in log order; sequence numbers and times may be missing.
 * @returns one entry for each question, and their summary.
 */
export function traceAsks(events: Iterable<unknown>): AskReport {
  const trace = createAskTrace()
  for (const event of events) trace.push(event)
  return trace.finish()
}

/** @returns an empty trace. */
export function createAskTrace(): AskTrace {
  return new AskFold()
}

class AskFold implements AskTrace {
  private readonly asks: OpenAsk[] = []
  /** Not yet concluded by a request, oldest first. */
  private open: OpenAsk[] = []
  private readonly calls = new TurnCalls(TOOL)
  private readonly approvals = new Map<string, OpenAsk>()
  private readonly spin = new SpinCounter()
  private turn: number | undefined
  private goalRound: AskStart['goalRound']
  private step = 0
  private lastTime: number | undefined
  private unnumbered = 0

  push(value: unknown): void {
    const event = record(value)
    const data = record(event.data)
    this.lastTime = number(event.time) ?? this.lastTime
    switch (event.type) {
      case 'turn/start':
        this.endTurn(event)
        this.turn = number(data.turn)
        break
      case 'turn/end':
        this.endTurn(event)
        break
      case 'step/start':
        this.step += 1
        break
      case 'user/message':
        this.userMessage(event, data)
        break
      case 'assistant/chunk':
        this.request()
        break
      case 'assistant/message':
        this.request()
        this.calls.request(record(data.message))
        break
      case 'tool/call':
        this.toolCall(event, data)
        break
      case 'tool/result':
        this.toolResult(event, data)
        break
      case 'tool/code-dispatch-start':
        if (data.name === TOOL) this.dispatchStart(event, data)
        break
      case 'tool/code-dispatch':
        if (data.name === TOOL) this.dispatchEnd(event, data)
        break
      case 'approval/asked':
        this.approvalAsked(data)
        break
      case 'approval/decided':
        this.approvalDecided(data)
        break
      case 'agent/inbox/spliced':
        for (const message of list(data.inserted).map(record)) this.queueWriteBack(message)
        break
    }
  }

  finish(): AskReport {
    const asks = this.asks.map(ask => ask.snapshot(this.lastTime, this.spin))
    return { asks, summary: summarize(asks, this.spin.union(this.asks.flatMap(lossSpans))) }
  }

  private endTurn(event: JsonRecord): void {
    for (const ask of this.open) ask.close(number(event.time))
    this.calls.clear()
    this.approvals.clear()
    this.turn = undefined
    this.goalRound = undefined
  }

  private userMessage(event: JsonRecord, data: JsonRecord): void {
    const source = record(data.source)
    const round = number(source.round) ?? 0
    if (source.kind === 'user') this.spin.stop()
    if (source.kind === 'goal' && round > 0) {
      this.goalRound = { goalId: text(source.goalId) ?? '', round }
      this.spin.round()
    }
    const target = isWriteBack(data) ? this.writeBackTarget(data) : undefined
    // A write-back is its own question's; the same word in it answers no other.
    const silent = target !== undefined || isHarnessText(source)
    const key = this.readText(event, silent ? '' : contentText(data.content))
    target?.readWriteBack(key)
  }

  private writeBackTarget(message: JsonRecord): OpenAsk | undefined {
    const id = messageId(message)
    const queued = this.open.find(ask => id !== undefined && ask.queuedMessageId === id)
    return queued ?? writeBackTarget(message, this.open)
  }

  private queueWriteBack(message: JsonRecord): void {
    if (!isWriteBack(message)) return
    const target = writeBackTarget(message, this.open)
    if (target !== undefined) target.queuedMessageId = messageId(message)
  }

  /** A text of the coming request; if it replaces earlier ones, they are not in it. */
  private readText(event: JsonRecord, content: string): number {
    const key = number(event.seq) ?? --this.unnumbered
    const replaced = isReplacement(event) ? list(event.sourceEventSeqs) : []
    for (const ask of this.open) {
      for (const seq of replaced) ask.forget(number(seq) ?? Number.NaN)
      ask.read(key, content)
    }
    return key
  }

  private request(): void {
    if (this.open.length === 0) return
    const concluded = this.open.filter(ask => ask.requestedIn(this.step))
    this.open = this.open.filter(ask => !ask.requestedIn(this.step))
    for (const ask of concluded) ask.conclude()
    if (concluded.some(({ verdict }) => verdict.startsWith('delivered'))) this.spin.stop(concluded.flatMap(lossSpans))
  }

  private toolCall(event: JsonRecord, data: JsonRecord): void {
    const root = this.calls.start(text(data.callId) ?? '')
    if (data.name === TOOL) this.openNative(event, root, data.arguments)
  }

  private openNative(event: JsonRecord, root: RootCall, args: unknown): OpenAsk {
    return this.openAsk(event, { mode: 'native', calls: { root: root.callId }, questions: questionsOf(args) }, root)
  }

  private openAsk(event: JsonRecord, start: Pick<AskStart, 'mode' | 'calls' | 'questions'>, root: RootCall): OpenAsk {
    const seq = number(event.seq)
    const time = number(event.time)
    const ask = new OpenAsk(
      {
        ...start,
        ...(this.turn === undefined ? {} : { turn: this.turn }),
        ...(this.goalRound === undefined ? {} : { goalRound: this.goalRound }),
        ...(seq === undefined ? {} : { seq }),
        ...(time === undefined ? {} : { time }),
      },
      root,
      this.step,
    )
    this.asks.push(ask)
    this.open.push(ask)
    return ask
  }

  private dispatchStart(event: JsonRecord, data: JsonRecord): OpenAsk {
    const rootId = text(data.rootCallId) ?? ''
    const calls = { root: rootId, parent: text(data.parentCallId) ?? '', sub: text(data.subCallId) ?? '' }
    const start = { mode: 'nested', calls, questions: questionsOf(data.arguments) } as const
    return this.openAsk(event, start, this.calls.around(rootId))
  }

  private dispatchEnd(event: JsonRecord, data: JsonRecord): void {
    const ask = this.open.find(({ waiting, start }) => waiting && start.calls.sub === (text(data.subCallId) ?? ''))
    const receipt = { text: contentText(data.content), isError: data.isError === true }
    this.receive(ask ?? this.dispatchStart(event, data), event, receipt)
  }

  private receive(ask: OpenAsk, event: JsonRecord, receipt: Receipt): void {
    const { inner, needles } = readReceipt({ ...receipt, approval: ask.approval }, ask.start.questions)
    ask.receive(inner, needles, number(event.time))
    ask.spin = this.spin.begin()
  }

  private toolResult(event: JsonRecord, data: JsonRecord): void {
    const message = record(data.message)
    const content = contentText(message.content)
    if (!isReplacement(event)) this.settleCall(event, data, message, content)
    this.readText(event, content)
  }

  private settleCall(event: JsonRecord, data: JsonRecord, message: JsonRecord, content: string): void {
    const callId = text(record(message.source).callId) ?? ''
    const code = text(record(data.error).code)
    const root = this.calls.end(callId)
    const asks = root === undefined ? this.neverStarted(event, callId) : this.open.filter(ask => ask.root === root)
    for (const ask of asks) {
      if (isRepair(code)) {
        ask.close(number(event.time), code)
        continue
      }
      if (ask.start.mode === 'native')
        this.receive(ask, event, { text: content, isError: isErrorResult(message), code })
      ask.return(content)
    }
  }

  /** A question that the model asked for and that no call event followed: crash repair closes it with a result alone. */
  private neverStarted(event: JsonRecord, callId: string): OpenAsk[] {
    const requested = this.calls.takeRequested(callId)
    return requested === undefined ? [] : [this.openNative(event, { callId }, requested.args)]
  }

  private approvalAsked(data: JsonRecord): void {
    const ask = this.open.find(({ waiting, start }) => waiting && (start.calls.sub ?? start.calls.root) === data.callId)
    if (ask !== undefined) this.approvals.set(text(data.id) ?? '', ask)
  }

  private approvalDecided(data: JsonRecord): void {
    const ask = this.approvals.get(text(data.id) ?? '')
    if (ask !== undefined) ask.approval = text(data.outcome)
  }
}

function lossSpans({ lossSpan }: OpenAsk): SpinSpan[] {
  return lossSpan === undefined ? [] : [lossSpan]
}

function isRepair(code: string | undefined): code is PendingReason {
  return code === TOOL_OUTCOME_UNKNOWN || code === TOOL_NOT_STARTED
}
