/**
 * The context messages with which `ask_user_question` brings an answer back from a program.
 * @module @deepseek-ai/dsh-ask-trace/write-back
 */
import { isDeepStrictEqual } from 'node:util'
import { answersOf, contentText, record, text, type JsonRecord } from './event-view.ts'
import type { OpenAsk } from './open-ask.ts'
import type { TracedAnswer } from './types.ts'

const ELEMENT = /<user_answer>([^<]*)<\/user_answer>/

/**
 * @param message - a user message, in the log or in the inbox.
 * @returns whether it is a write-back.
 */
export function isWriteBack(message: JsonRecord): boolean {
  const { kind, plugin } = record(message.source)
  return kind === 'plugin' && plugin === 'tool-ask-user'
}

/**
 * Whose answer a write-back holds: the first open question with these very answers, else with these question ids; a
 * message that cannot be read counts for the first question that waits for one, since they come in order.
 * @param message - the write-back.
 * @param asks - open questions, oldest first.
 */
export function writeBackTarget(message: JsonRecord, asks: readonly OpenAsk[]): OpenAsk | undefined {
  const waiting = asks.filter(ask => ask.awaitsWriteBack)
  const answers = answersOf(ELEMENT.exec(contentText(message.content))?.[1] ?? '')
  if (answers === undefined) return waiting[0]
  return waiting.find(ask => holds(ask, answers)) ?? waiting.find(ask => asksFor(ask, answers))
}

function holds({ inner }: OpenAsk, answers: readonly TracedAnswer[]): boolean {
  return inner.kind === 'answered' && isDeepStrictEqual(inner.answers, answers)
}

function asksFor({ start }: OpenAsk, answers: readonly TracedAnswer[]): boolean {
  const ids = new Set(start.questions.map(({ id }) => id))
  return answers.every(({ id }) => ids.has(id))
}

/** @returns the identity that a message keeps from the inbox to the log. */
export function messageId(message: JsonRecord): string | undefined {
  return text(message.id)
}
