/**
 * What has to reach the model: each label and each free text of an answer, or the message of a failure.
 * @module @deepseek-ai/dsh-ask-trace/answer-parts
 */
import { PhraseFinder } from './phrase-finder.ts'
import { firstTokens, plainText } from './tokens.ts'
import type { TracedAnswer, TracedQuestion } from './types.ts'

/** A text to look for. */
export interface Form {
  /** Its tokens, without letter case. */
  readonly loose: readonly string[]
  /** Its tokens as they are, in one string. */
  readonly exact: string
  /** Whether it is long enough to stand in a text for no other reason. */
  readonly isLong: boolean
}

/** The receipt's item that a part belongs to, as tokens of its fields. */
export interface Item {
  readonly id: readonly string[]
  readonly selected: readonly (readonly string[])[]
  readonly custom: readonly string[] | undefined
}

/** One thing that has to reach the model. */
export interface Part {
  /** Id of its question; empty for a message. */
  readonly question: string
  readonly said: string
  /** The text, and a label also without its "(Recommended)". */
  readonly forms: readonly Form[]
  /** Labels of the same question that were not chosen. */
  readonly others: readonly Form[]
  /** Whether the wording of the questions has it too. */
  readonly inQuestion: boolean
  /** Whether any match is as good as another: so for a message, which is nobody's answer. */
  readonly isMessage: boolean
  readonly item: Item | undefined
}

const LONG_CHARS = 8

/** An answer of more tokens (some 50 KB of prose) is looked for by so many of them. */
const MAX_TOKENS = 10_000

/** The tool tells the model to mark a label so. A human's eye reads past it, and so does many a program. */
const RECOMMENDED = /[([（]\s*recommended\s*[)\]）]/i

/**
 * @param answers - what the human said.
 * @param questions - what was asked.
 * @returns one part for each label and each free text; none for skipped questions.
 */
export function answerParts(answers: readonly TracedAnswer[], questions: readonly TracedQuestion[]): Part[] {
  const parts = answers.flatMap(answer => partsOf(answer, questions))
  const quoted = quotedForms(parts, questions)
  return parts.map(part => ({ ...part, inQuestion: part.forms.some(form => quoted.has(form)) }))
}

/**
 * @param message - a failure's message.
 * @returns the one part for it; none for an empty message.
 */
export function messageParts(message: string): Part[] {
  const forms = formsOf(message)
  const part = { question: '', said: message, forms, others: [], inQuestion: false, isMessage: true, item: undefined }
  return forms.length === 0 ? [] : [part]
}

/** @returns how many tokens a pass over a text would look for. */
export function tokenCount(parts: readonly Part[]): number {
  const count = (forms: readonly Form[]) => forms.reduce((sum, { loose }) => sum + loose.length, 0)
  return parts.reduce((sum, { forms, others }) => sum + count(forms) + count(others), 0)
}

function partsOf({ id, selected, custom = '' }: TracedAnswer, questions: readonly TracedQuestion[]): Part[] {
  const labels = questions.filter(question => question.id === id).flatMap(({ options }) => options)
  const chosen = new Set(selected)
  const others = labels.filter(({ label }) => !chosen.has(label)).flatMap(({ label }) => formsOf(label))
  const item = {
    id: looseTokens(id),
    selected: selected.map(looseTokens),
    custom: custom === '' ? undefined : looseTokens(custom),
  }
  return [...selected, custom]
    .map(said => ({ said, forms: formsOf(said) }))
    .filter(({ forms }) => forms.length > 0)
    .map(({ said, forms }) => ({ question: id, said, forms, others, inQuestion: false, isMessage: false, item }))
}

function formsOf(text: string): Form[] {
  const said = text.trim()
  return [said, said.replace(RECOMMENDED, ' ').trim()]
    .filter((form, index) => index === 0 || form !== said)
    .map(formOf)
    .filter(({ loose }) => loose.length > 0)
}

function formOf(text: string): Form {
  const plain = plainText(text)
  const found = firstTokens(plain, MAX_TOKENS)
  return {
    loose: found.map(({ loose }) => loose),
    exact: found.map(({ exact }) => exact).join('\u0000'),
    isLong: Array.from(text.slice(0, 2 * LONG_CHARS)).length >= LONG_CHARS,
  }
}

function looseTokens(text: string): string[] {
  return firstTokens(plainText(text), MAX_TOKENS).map(({ loose }) => loose)
}

/** The forms that occur in the questions' texts, headings and descriptions. */
function quotedForms(parts: readonly Part[], questions: readonly TracedQuestion[]): Set<Form> {
  const finder = new PhraseFinder()
  const forms: Form[][] = []
  for (const form of parts.flatMap(part => part.forms)) (forms[finder.add(form.loose)] ??= []).push(form)
  const wording = questions.flatMap(({ question, header = '', options }) => [
    question,
    header,
    ...options.map(({ description = '' }) => description),
  ])
  const found = wording.flatMap(text => [...finder.firstPlaces(plainText(text)).keys()])
  return new Set(found.flatMap(phrase => forms[phrase] ?? []))
}
