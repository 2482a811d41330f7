/**
 * Whether a text carries an answer: each label and each free text of it, as a whole word or in its JSON form. What the
 * model itself wrote into the question (its options, its wording) is not an answer and does not count.
 * @module @deepseek-ai/dsh-ask-trace/carries
 */
import type { TracedAnswer, TracedQuestion } from './types.ts'

/** One thing that has to reach the model, in every form a program may print it. */
export interface Needle {
  readonly forms: readonly string[]
  /** Where a form stands inside the question's own wording: such an occurrence is a quotation. */
  readonly quotations: readonly Quotation[]
}

interface Quotation {
  readonly form: string
  readonly prompt: string
  readonly offset: number
}

/** Scripts that are written without spaces have no whole words to look for. */
const WORD = /[\p{L}\p{N}\p{M}_]/u
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u

/** `\n` before a word, in JSON, is a line break and not the letter n. */
const ESCAPE_BEFORE = /\\(?:[bfnrt]|u[\da-fA-F]{4})$/

/** `"label": "Blue"` is an option; an answer says `"selected": ["Blue"]`. */
const LABEL_KEY_BEFORE = /label\\*["']?\s*:\s*\\*["']$/

/**
 * @param answers - what the human said.
 * @param questions - what was asked.
 * @returns one needle for each label and each free text; none for skipped questions.
 */
export function answerNeedles(answers: readonly TracedAnswer[], questions: readonly TracedQuestion[]): Needle[] {
  const prompts = questions.flatMap(promptTexts)
  return answers
    .flatMap(({ selected, custom }) => [...selected, custom ?? ''])
    .map(said => said.trim())
    .filter(said => said !== '')
    .map(said => needle(said, prompts))
}

/**
 * @param message - a failure's message, or a receipt that is no JSON.
 * @returns the one needle for it; none for an empty message.
 */
export function messageNeedles(message: string): Needle[] {
  const said = message.trim()
  return said === '' ? [] : [needle(said, [])]
}

/**
 * @param haystack - text that the model gets to read.
 * @param needles - what has to be in it.
 * @returns the indices of the needles that are.
 */
export function needlesIn(haystack: string, needles: readonly Needle[]): number[] {
  return needles.flatMap((wanted, index) => (wanted.forms.some(form => occurs(haystack, form, wanted)) ? [index] : []))
}

/** All texts of a question in which its answer may stand by chance. */
function promptTexts({ question, header, options }: TracedQuestion): string[] {
  return [question, header ?? '', ...options.map(({ description }) => description ?? '')]
}

function needle(said: string, prompts: readonly string[]): Needle {
  const forms = jsonForms(said)
  // A prompt inside the answer, or equal to it, is no quotation of the question: the human said more than that.
  const quoting = prompts.filter(prompt => prompt.includes(said) && !said.includes(prompt))
  const quotations = forms.flatMap(form =>
    quoting.flatMap(jsonForms).flatMap(prompt => offsets(prompt, form).map(offset => ({ form, prompt, offset }))),
  )
  return { forms, quotations }
}

/** The text itself, as JSON, and as JSON inside JSON. */
function jsonForms(said: string): string[] {
  const once = JSON.stringify(said).slice(1, -1)
  const twice = JSON.stringify(once).slice(1, -1)
  return [...new Set([said, once, twice])]
}

function offsets(haystack: string, form: string): number[] {
  const found = []
  for (let at = haystack.indexOf(form); at !== -1; at = haystack.indexOf(form, at + 1)) found.push(at)
  return found
}

function occurs(haystack: string, form: string, { quotations }: Needle): boolean {
  for (let at = haystack.indexOf(form); at !== -1; at = haystack.indexOf(form, at + 1)) {
    if (!wholeWord(haystack, at, form)) continue
    if (LABEL_KEY_BEFORE.test(haystack.slice(Math.max(0, at - 24), at))) continue
    const quoted = quotations.some(
      quotation => quotation.form === form && haystack.startsWith(quotation.prompt, at - quotation.offset),
    )
    if (!quoted) return true
  }
  return false
}

function wholeWord(haystack: string, at: number, form: string): boolean {
  const before = Array.from(haystack.slice(Math.max(0, at - 2), at)).at(-1)
  const after = codePoint(haystack, at + form.length)
  const escaped = ESCAPE_BEFORE.test(haystack.slice(Math.max(0, at - 6), at))
  return (escaped || !joins(before, codePoint(form, 0))) && !joins(Array.from(form.slice(-2)).at(-1), after)
}

function codePoint(haystack: string, at: number): string | undefined {
  const code = haystack.codePointAt(at)
  return code === undefined ? undefined : String.fromCodePoint(code)
}

/** Whether two neighbouring characters stand inside one word. */
function joins(left: string | undefined, right: string | undefined): boolean {
  return [left, right].every(side => side !== undefined && WORD.test(side) && !UNSPACED.test(side))
}
