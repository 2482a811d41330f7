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
 * | `agent/inbox/spliced` | an element waits |
 * | `user/message`, `tool/result` | text for the next request; a replacement takes the replaced text away |
 * | `turn/start`, `turn/end` | no open call returns any more |
 * | `assistant/chunk`, `assistant/message` | the request was made: entries of earlier steps are concluded |
 *
 * Every text is searched once, for all questions together, and no event looks at all open entries, so that the time
 * grows with the log and not with the number of questions that are open at once.
 * @module @deepseek-ai/dsh-ask-trace/ask-trace
 */
import { TOOL_NOT_STARTED, TOOL_OUTCOME_UNKNOWN } from '@deepseek-ai/dsh-session'
import { ContextWindow, placeOf, type LogText, type WindowText } from './context-window.ts'
import { ElementTargets } from './element-targets.ts'
import { EventNotes } from './event-notes.ts'
import {
  contentText,
  isErrorResult,
  isHarnessText,
  isReplacement,
  list,
  number,
  questionsOf,
  record,
  sourceName,
  text,
  type JsonRecord,
} from './event-view.ts'
import { matchesIn, matchesOutright } from './evidence.ts'
import { excerptOf } from './excerpt.ts'
import { isAbort } from './failure.ts'
import { HeldSize } from './held-size.ts'
import { judgeText } from './judge-text.ts'
import { isScalar, OpenAsk, type AskStart } from './open-ask.ts'
import { QueueMap } from './queue-map.ts'
import { readReceipt, type Receipt } from './receipt.ts'
import { SpinCounter, type SpinSpan } from './spin.ts'
import { summarize } from './summary.ts'
import { plainText } from './tokens.ts'
import { TurnCalls, type RootCall } from './turn-calls.ts'
import type { AskReport, PendingReason } from './types.ts'
import { messageId, writeBackOf } from './write-back.ts'

const TOOL = 'ask_user_question'

/** A trace that events are pushed into, in log order. */
export interface AskTrace {
  /** About how many bytes it holds: questions, calls and texts that are still of interest. */
  readonly heldBytes: number
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
  /** Of the turn; not all of them still run. */
  private running: OpenAsk[] = []
  /** Aborted in this turn, which may turn out to be aborted itself. */
  private withdrawn: OpenAsk[] = []
  private readonly calls = new TurnCalls(TOOL)
  /** Without a receipt, by the call's own id. */
  private readonly waiting = new QueueMap<OpenAsk>()
  private readonly approvals = new Map<string, OpenAsk>()
  private readonly targets = new ElementTargets()
  private readonly window = new ContextWindow()
  private readonly spin = new SpinCounter()
  private readonly notes = new EventNotes()
  private readonly size = new HeldSize()
  private turn: number | undefined
  private goalRound: AskStart['goalRound']
  private step = 0
  private lastTime: number | undefined

  get heldBytes(): number {
    return this.size.bytes + this.size.ofCalls(this.calls.size) + this.window.heldBytes
  }

  push(value: unknown): void {
    const event = record(value)
    const data = record(event.data)
    const seq = number(event.seq)
    if (seq !== undefined) this.notes.seq(seq)
    this.lastTime = number(event.time) ?? this.lastTime
    switch (event.type) {
      case 'turn/start':
        this.endTurn(event, {})
        this.step += 1
        this.turn = number(data.turn)
        break
      case 'turn/end':
        this.endTurn(event, record(data.reason))
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
        for (const message of list(data.inserted).map(record)) this.queueElement(message)
        break
    }
  }

  finish(): AskReport {
    this.search([])
    const asks = this.asks.map(ask => ask.snapshot(this.window, this.lastTime, this.spin))
    const summary = summarize(asks, this.spin.union(this.asks.flatMap(lossSpans)))
    return { asks, summary, notes: this.notes.lines() }
  }

  private endTurn(event: JsonRecord, reason: JsonRecord): void {
    for (const ask of this.running) ask.close(number(event.time))
    for (const ask of this.withdrawn) ask.isWithdrawn &&= reason.kind !== 'aborted'
    this.running = []
    this.withdrawn = []
    this.calls.clear()
    this.waiting.clear()
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
    const logText = textOf(event, `user/message of ${sourceName(source)}`, contentText(data.content))
    const element = writeBackOf(data)
    const target = element === undefined ? undefined : this.targets.take(element, messageId(data))
    // An element is its own question's; the same word in it answers no other.
    const entry = this.readText(event, target !== undefined || isHarnessText(source) ? undefined : logText)
    if (entry !== undefined) target?.readElement(logText, entry, element?.kind !== 'withdrawn')
  }

  private queueElement(message: JsonRecord): void {
    const element = writeBackOf(message)
    const id = messageId(message)
    if (element !== undefined && id !== '') this.targets.queue(element, id)
  }

  /** A text of the coming request; if it replaces earlier ones, they are not in it. Without questions, it is not kept. */
  private readText(event: JsonRecord, logText: LogText | undefined): WindowText | undefined {
    if (this.open.length === 0) return undefined
    if (isReplacement(event)) {
      for (const seq of list(event.sourceEventSeqs)) this.window.forget(number(seq) ?? Number.NaN)
    }
    const entry = this.window.add(number(event.seq), logText)
    if (this.window.isFull) this.search([])
    return entry
  }

  /**
   * Searches the texts of the coming request. They are let go by that, so that whatever may be looked for later has to be
   * looked for now; a question that is concluded needs no text beside its own result, if that has everything.
   */
  private search(concluded: readonly OpenAsk[]): void {
    const settled = new Set(concluded.filter(ask => !ask.needsOtherTexts))
    this.window.search(this.open.flatMap(ask => (settled.has(ask) ? [] : ask.parts)))
  }

  /** Concludes all questions of earlier steps; those of this one were asked after its request. */
  private request(): void {
    if (this.open.length === 0 || this.open[0]?.step === this.step) return
    const concluded = this.open.filter(ask => ask.step !== this.step)
    this.search(concluded)
    this.open = this.open.filter(ask => ask.step === this.step)
    for (const ask of concluded) {
      this.size.close(ask)
      ask.conclude(this.window)
    }
    if (this.open.length === 0) {
      this.window.clear()
      this.targets.clear()
    }
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
    this.running.push(ask)
    this.waiting.add(start.calls.sub ?? start.calls.root, ask)
    root.asks.push(ask)
    this.size.open(ask)
    return ask
  }

  private dispatchStart(event: JsonRecord, data: JsonRecord): OpenAsk {
    const rootId = text(data.rootCallId) ?? ''
    const calls = { root: rootId, parent: text(data.parentCallId) ?? '', sub: text(data.subCallId) ?? '' }
    const start = { mode: 'nested', calls, questions: questionsOf(data.arguments) } as const
    return this.openAsk(event, start, this.calls.around(rootId))
  }

  private dispatchEnd(event: JsonRecord, data: JsonRecord): void {
    const sub = text(data.subCallId) ?? ''
    const ask = this.waiting.first(sub, isWaiting) ?? this.dispatchStart(event, data)
    const logText = textOf(event, `tool/code-dispatch of ${sub}`, contentText(data.content))
    this.receive(ask, event, logText, { text: logText.text, isError: data.isError === true })
    this.targets.add(ask)
  }

  private receive(ask: OpenAsk, event: JsonRecord, logText: LogText, receipt: Receipt): void {
    const { inner, parts } = readReceipt({ ...receipt, approval: ask.approval }, ask.start.questions)
    ask.receive(inner, parts, logText, this.window.count, number(event.time))
    ask.spin = this.spin.begin()
    this.size.receive(ask, receipt.text)
  }

  private toolResult(event: JsonRecord, data: JsonRecord): void {
    if (data.message === undefined) {
      this.oldResult(event, data)
      return
    }
    const message = record(data.message)
    const callId = text(record(message.source).callId) ?? ''
    const logText = textOf(event, `tool/result of ${callId}`, contentText(message.content))
    if (isReplacement(event)) this.readText(event, logText)
    else this.settleCall(event, data, callId, logText)
  }

  /** Of an older payload shape, in which a result cannot be told from another. */
  private oldResult(event: JsonRecord, data: JsonRecord): void {
    this.notes.oldResult(number(event.seq))
    const named = this.calls.end(text(data.callId) ?? '')
    for (const ask of named?.asks ?? this.running) ask.returnUnreadable('tool/result without data.message')
  }

  private settleCall(event: JsonRecord, data: JsonRecord, callId: string, logText: LogText): void {
    const code = text(record(data.error).code)
    const root = this.calls.end(callId)
    const asks = root === undefined ? this.neverStarted(event, callId) : root.asks
    const entry = this.readText(event, logText)
    if (entry === undefined) return
    if (isRepair(code)) {
      for (const ask of asks) ask.close(number(event.time), code)
      return
    }
    const isError = isErrorResult(record(data.message))
    for (const ask of asks) {
      if (ask.start.mode === 'native')
        this.returnNative(ask, event, logText, { text: logText.text, isError, code }, entry)
    }
    const nested = asks.filter(ask => ask.start.mode === 'nested')
    this.returnNested(nested, logText, entry, isError && isAbort(logText.text, { code }))
  }

  /** A native call's receipt is its result, whatever it says. */
  private returnNative(ask: OpenAsk, event: JsonRecord, logText: LogText, receipt: Receipt, entry: WindowText): void {
    this.receive(ask, event, logText, receipt)
    const matches = matchesOutright(logText, ask.parts, 'receipt')
    ask.return({ matches, head: undefined, entry, isScalar: false })
  }

  private returnNested(asks: readonly OpenAsk[], logText: LogText, entry: WindowText, isAborted: boolean): void {
    if (asks.length === 0) return
    const plain = plainText(logText.text)
    const findings = judgeText(
      plain,
      asks.flatMap(ask => ask.parts),
    )
    const head = findings.some(({ strength }) => strength === 'none') ? placeOf(logText, excerptOf(plain)) : undefined
    let from = 0
    for (const ask of asks) {
      const own = findings.slice(from, (from += ask.parts.length))
      const matches = matchesIn({ ...logText, text: plain }, ask.parts, own)
      ask.return({ matches, head, entry, isScalar: isScalar(logText.text) })
      if (isAborted || !ask.isAborted) continue
      ask.isWithdrawn = true
      this.withdrawn.push(ask)
    }
  }

  /** A question that the model asked for and that no call event followed: crash repair closes it with a result alone. */
  private neverStarted(event: JsonRecord, callId: string): OpenAsk[] {
    const requested = this.calls.takeRequested(callId)
    return requested === undefined ? [] : [this.openNative(event, { callId, asks: [] }, requested.args)]
  }

  private approvalAsked(data: JsonRecord): void {
    const ask = this.waiting.first(text(data.callId) ?? '', isWaiting)
    if (ask !== undefined) this.approvals.set(text(data.id) ?? '', ask)
  }

  private approvalDecided(data: JsonRecord): void {
    const ask = this.approvals.get(text(data.id) ?? '')
    if (ask !== undefined) ask.approval = text(data.outcome)
  }
}

function textOf(event: JsonRecord, name: string, content: string): LogText {
  return { seq: number(event.seq), event: name, text: content }
}

function isWaiting({ waiting }: OpenAsk): boolean {
  return waiting
}

function lossSpans({ lossSpan }: OpenAsk): SpinSpan[] {
  return lossSpan === undefined ? [] : [lossSpan]
}

function isRepair(code: string | undefined): code is PendingReason {
  return code === TOOL_OUTCOME_UNKNOWN || code === TOOL_NOT_STARTED
}
