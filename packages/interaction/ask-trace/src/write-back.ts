/**
 * The context messages with which `ask_user_question` tells the model, past its program, what became of a question: the
 * answer, or that the question was withdrawn. Only an element that parses counts.
 * @module @deepseek-ai/dsh-ask-trace/write-back
 */
import { answersOf, contentText, parseJson, record, text, type JsonRecord } from './event-view.ts'
import type { TracedAnswer } from './types.ts'

/** What one message says. */
export type WriteBack =
  | { readonly kind: 'answer' | 'withdrawn'; readonly call: string }
  /** Of a first form of the tool, which did not name the call. */
  | { readonly kind: 'answers'; readonly answers: readonly TracedAnswer[] }

const ELEMENT = /^<(user_answer|user_question_withdrawn) call=("[^"<>&]*")>\n([^\n<]*)\n<\/\1>$/
const FIRST_FORM = /^\s*<user_answer>([^<]*)<\/user_answer>\s*$/

/** Only so much of the end of a call's id is written. */
const CALL_CHARS = 100

/**
 * @param message - a user message, in the log or in the inbox.
 * @returns what it brings back; undefined if it is no element of the question tool.
 */
export function writeBackOf(message: JsonRecord): WriteBack | undefined {
  const { kind, plugin } = record(message.source)
  if (kind !== 'plugin' || plugin !== 'tool-ask-user') return undefined
  const content = contentText(message.content)
  return element(content) ?? firstForm(content)
}

/**
 * @param subCallId - a nested call's id.
 * @returns what a message says of it.
 */
export function writtenCallOf(subCallId: string): string {
  return subCallId.slice(-CALL_CHARS)
}

/** @returns the identity that a message keeps from the inbox to the log; empty for one that has none. */
export function messageId(message: JsonRecord): string {
  return text(message.id) ?? ''
}

function element(content: string): WriteBack | undefined {
  const [, name, attribute = '', json = ''] = ELEMENT.exec(content) ?? []
  const call = text(parseJson(attribute))
  if (call === undefined || parseJson(json) === undefined) return undefined
  return { kind: name === 'user_answer' ? 'answer' : 'withdrawn', call }
}

function firstForm(content: string): WriteBack | undefined {
  const answers = answersOf(FIRST_FORM.exec(content)?.[1] ?? '')
  return answers === undefined ? undefined : { kind: 'answers', answers }
}
