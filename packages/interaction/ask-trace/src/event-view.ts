/**
 * Typed views of what a log holds. A log is somebody else's file: nothing in it is taken for granted, and a field of
 * another type counts as absent.
 * @module @deepseek-ai/dsh-ask-trace/event-view
 */
import type { TracedAnswer, TracedOption, TracedQuestion } from './types.ts'

/** A JSON object. */
export type JsonRecord = Readonly<Record<string, unknown>>

/**
 * @param value - any JSON value.
 * @returns the value if it is an object, else an empty one.
 */
export function record(value: unknown): JsonRecord {
  return isRecord(value) ? value : {}
}

/** @returns whether the value is a JSON object. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @returns the value if it is a string. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** @returns the value if it is a number. */
export function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** @returns the value's elements if it is an array, else none. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : []
}

/** @returns the value of the JSON text, or undefined if it is none. */
export function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/**
 * @param content - content blocks of a message or a receipt; a tool-result block holds blocks of its own.
 * @returns the text a model reads in them, one block a line.
 */
export function contentText(content: unknown): string {
  return list(content)
    .map(block => {
      const { type, content: inner } = record(block)
      return type === 'tool-result' ? list(inner).map(blockText).join('\n') : blockText(block)
    })
    .join('\n')
}

function blockText(block: unknown): string {
  return text(record(block).text) ?? ''
}

/**
 * @param args - the arguments of an `ask_user_question` call, as an object or as the model's raw JSON.
 * @returns its questions; malformed ones are left out.
 */
export function questionsOf(args: unknown): TracedQuestion[] {
  const { questions } = record(typeof args === 'string' ? parseJson(args) : args)
  return list(questions).filter(isRecord).map(question)
}

function question(value: JsonRecord): TracedQuestion {
  const header = text(value.header)
  return {
    id: text(value.id) ?? '',
    question: text(value.question) ?? '',
    ...(header === undefined ? {} : { header }),
    options: list(value.options).filter(isRecord).map(option),
  }
}

function option(value: JsonRecord): TracedOption {
  const description = text(value.description)
  return { label: text(value.label) ?? '', ...(description === undefined ? {} : { description }) }
}

/**
 * @param json - the text of a receipt.
 * @returns the answers in it, or undefined if it holds none (a listener may have replaced or cut the text).
 */
export function answersOf(json: string): TracedAnswer[] | undefined {
  const { answers } = record(parseJson(json))
  return Array.isArray(answers) ? list(answers).filter(isRecord).map(answer) : undefined
}

function answer(value: JsonRecord): TracedAnswer {
  const custom = text(value.custom)
  return {
    id: text(value.id) ?? '',
    selected: list(value.selected).filter(label => typeof label === 'string'),
    ...(custom === undefined ? {} : { custom }),
  }
}

/**
 * Goal prompts and runtime snapshots are the harness's own words: an answer that is a word of theirs is not in them.
 * @param source - where a message came from.
 */
export function isHarnessText({ kind, plugin }: JsonRecord): boolean {
  return kind === 'goal' || (kind === 'plugin' && plugin === '@deepseek-ai/dsh-system-prompt')
}

/** @returns whether a later event takes the place of earlier ones, as compaction and pruning do. */
export function isReplacement(event: JsonRecord): boolean {
  return record(event.surfaceOp).op === 'replace'
}

/** @returns whether a tool-result message says that its call failed. */
export function isErrorResult(message: JsonRecord): boolean {
  return list(message.content).some(block => record(block).isError === true)
}

/** @returns whose message it is: a plugin's name, or the kind of its source. */
export function sourceName({ kind, plugin }: JsonRecord): string {
  return text(plugin) ?? text(kind) ?? 'an unknown source'
}
