/**
 * The calls of the open turn. Call ids may repeat, so that a call is an object here, and calls pair with their results
 * by order.
 * @module @deepseek-ai/dsh-ask-trace/turn-calls
 */
import { list, record, text, type JsonRecord } from './event-view.ts'
import type { OpenAsk } from './open-ask.ts'
import { QueueMap } from './queue-map.ts'

/** One call that the model itself made. */
export interface RootCall {
  readonly callId: string
  /** The questions asked in it, or by it. */
  readonly asks: OpenAsk[]
}

/** Which calls wait for a result, and which were asked for but never started. */
export class TurnCalls {
  private readonly open = new QueueMap<RootCall>()
  /** Arguments of the tool's calls in the last assistant message, by id: one that is never started has no event. */
  private readonly requested = new Map<string, unknown>()
  private readonly tool: string

  /**
   * @param tool - the tool whose requested calls are kept.
   */
  constructor(tool: string) {
    this.tool = tool
  }

  /** How many calls wait, or were asked for. */
  get size(): number {
    return this.open.size + this.requested.size
  }

  /** The model's message asks for calls. */
  request(message: JsonRecord): void {
    this.requested.clear()
    for (const { type, name, id, arguments: args } of list(message.content).map(record)) {
      if (type === 'tool-call' && name === this.tool) this.requested.set(text(id) ?? '', args)
    }
  }

  /** A call begins. */
  start(callId: string): RootCall {
    const call = { callId, asks: [] }
    this.open.add(callId, call)
    this.requested.delete(callId)
    return call
  }

  /** @returns the call that a nested call belongs to; a log may begin in the middle of one. */
  around(callId: string): RootCall {
    return this.open.first(callId) ?? this.start(callId)
  }

  /** @returns the call that a result ends, if one is open. */
  end(callId: string): RootCall | undefined {
    return this.open.take(callId)
  }

  /** @returns the arguments of a call that was asked for and never started, once. */
  takeRequested(callId: string): { readonly args: unknown } | undefined {
    const args = this.requested.get(callId)
    return this.requested.delete(callId) ? { args } : undefined
  }

  /** The turn is over. */
  clear(): void {
    this.open.clear()
    this.requested.clear()
  }
}
