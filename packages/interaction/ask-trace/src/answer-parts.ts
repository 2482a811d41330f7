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

/** One thing that has to reach the model. What is seldom needed is made when it is. */
export interface Part {
  /** Id of its question; empty for a message. */
  readonly question: string
  readonly said: string
  /** The text, and a label also without its "(Recommended)". */
  readonly forms: readonly Form[]
  /** Labels of the same question that were not chosen. */
  readonly others: readonly Form[]
  /** Whether the wording of the questions has it too. */
  readonly isInQuestion: boolean
  /** Whether any match is as good as another: so for a message, which is nobody's answer. */
  readonly isMessage: boolean
  readonly item: Item | undefined
}

const LONG_CHARS = 8

/** Of more selected labels than this the first are looked for. */
const MAX_LABELS = 1_000

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
  const parts: Part[] = []
  const quoted = new Lazy(() => quotedForms(parts, questions))
  for (const answer of answers) for (const part of partsOf(answer, questions, quoted)) parts.push(part)
  return parts
}

/**
 * @param message - a failure's message.
 * @returns the one part for it; none for an empty message.
 */
export function messageParts(message: string): Part[] {
  const forms = formsOf(message)
  const part = { question: '', said: message, forms, others: [], isInQuestion: false, isMessage: true, item: undefined }
  return forms.length === 0 ? [] : [part]
}

/** A value that is made when it is first asked for. */
class Lazy<Value> {
  private made: { readonly value: Value } | undefined
  private readonly make: () => Value

  constructor(make: () => Value) {
    this.make = make
  }

  get value(): Value {
    this.made ??= { value: this.make() }
    return this.made.value
  }
}

/** One label, or one free text. */
class AnswerPart implements Part {
  readonly question: string
  readonly said: string
  readonly item: Item
  readonly isMessage = false
  private readonly ownForms: Lazy<readonly Form[]>
  private readonly otherForms: Lazy<readonly Form[]>
  private readonly quoted: Lazy<ReadonlySet<Form>>

  constructor(
    said: string,
    item: Item & { readonly question: string },
    others: Lazy<readonly Form[]>,
    quoted: Lazy<ReadonlySet<Form>>,
  ) {
    this.question = item.question
    this.said = said
    this.item = item
    this.ownForms = new Lazy(() => formsOf(said))
    this.otherForms = others
    this.quoted = quoted
  }

  get forms(): readonly Form[] {
    return this.ownForms.value
  }

  get others(): readonly Form[] {
    return this.otherForms.value
  }

  get isInQuestion(): boolean {
    return this.forms.some(form => this.quoted.value.has(form))
  }
}

function partsOf(
  { id, selected: all, custom = '' }: TracedAnswer,
  questions: readonly TracedQuestion[],
  quoted: Lazy<ReadonlySet<Form>>,
): Part[] {
  const selected = all.slice(0, MAX_LABELS)
  const others = new Lazy(() => {
    const labels = questions.filter(question => question.id === id).flatMap(({ options }) => options)
    const chosen = new Set(selected)
    return labels.filter(({ label }) => !chosen.has(label)).flatMap(({ label }) => formsOf(label))
  })
  const item = {
    question: id,
    id: looseTokens(id),
    selected: selected.map(looseTokens),
    custom: custom === '' ? undefined : looseTokens(custom),
  }
  // What consists of backslashes alone has no tokens: there is nothing to look for.
  return [...selected, custom]
    .filter(said => firstTokens(plainText(said), 1).length > 0)
    .map(said => new AnswerPart(said, item, others, quoted))
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
  return new Set(found.flatMap(phrase => forms[phrase] as Form[]))
}
