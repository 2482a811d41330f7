/** Reads the session log that a run left on disk, with the harness's own persistence package. */
import { Context } from '@deepseek-ai/cordis'
import { traceAsks } from '@deepseek-ai/dsh-ask-trace'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { SessionStore, type SessionEvent } from '@deepseek-ai/dsh-session'
import { JsonlSessionPersistence } from '@deepseek-ai/dsh-session-persistence-jsonl'
import type {} from '@deepseek-ai/dsh-tools'

/**
 * @param folder - the `sessions` folder of a `DSH_HOME`; it must hold exactly one session.
 * @returns the session's events in order.
 */
export async function readSession(folder: string): Promise<readonly SessionEvent[]> {
  const ctx = new Context()
  try {
    await ctx.plugin(SessionStore)
    await ctx.plugin(JsonlSessionPersistence, { root: folder })
    const [header, ...others] = await ctx.sessionPersistence.list()
    if (header === undefined || others.length > 0) throw new Error(`${folder} does not hold exactly one session`)
    return (await ctx.sessionPersistence.readFrom(header.id, 0)).events
  } finally {
    await ctx.fiber.dispose()
  }
}

/** The events of one type, with their data. */
export function eventsOf<T extends SessionEvent['type']>(
  events: readonly SessionEvent[],
  type: T,
): Extract<SessionEvent, { type: T }>[] {
  return events.filter((event): event is Extract<SessionEvent, { type: T }> => event.type === type)
}

/** How a tool call ended, as far as the model or a program could see. */
export interface Settled {
  readonly isError: boolean
  readonly text: string
}

/** The results of all direct calls of one tool, in order. */
export function resultsOf(events: readonly SessionEvent[], tool: string): Settled[] {
  const ids = eventsOf(events, 'tool/call')
    .filter(({ data }) => data.name === tool)
    .map(({ data }) => data.callId)
  return eventsOf(events, 'tool/result')
    .map(({ data }) => data.message.content[0])
    .filter(block => ids.includes(block.toolCallId))
    .map(block => ({ isError: block.isError === true, text: textOf(block.content) }))
}

/** The receipts of all questions that Code Mode programs asked: the inner layer, which the model does not see. */
export function settledAsks(events: readonly SessionEvent[]): Settled[] {
  return eventsOf(events, 'tool/code-dispatch')
    .filter(({ data }) => data.name === 'ask_user_question')
    .map(({ data }) => ({ isError: data.isError, text: textOf(data.content) }))
}

/** What became of every question, as `pnpm trace` says it of the same log. */
export function verdictsOf(events: readonly SessionEvent[]): string[] {
  return traceAsks(events).asks.map(({ verdict }) => verdict)
}

/** The texts of the messages that one plugin put before the model. */
export function messagesFrom(events: readonly SessionEvent[], plugin: string): string[] {
  return eventsOf(events, 'user/message')
    .filter(({ data: { source } }) => source.kind === 'plugin' && source.plugin === plugin)
    .map(({ data }) => textOf(data.content))
}

function textOf(content: readonly ContentBlock[]): string {
  return content.map(block => (block.type === 'text' ? block.text : '')).join('')
}
