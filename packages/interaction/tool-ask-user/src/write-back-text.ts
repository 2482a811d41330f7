/**
 * The text that is written back: one element that carries the id of the call, around one line of JSON. It is well-formed
 * whatever a person answered, and never longer than its limit. What does not fit goes in this order: the longest answer
 * texts are cut, then ids, then items are left out from the end, with their count.
 * @module @deepseek-ai/dsh-tool-ask-user/write-back-text
 */
import { boundContextSummary } from '@deepseek-ai/dsh-llm'
import { TextRetainer } from '@deepseek-ai/dsh-output-retention'
import type { AnsweredQuestion, AskedQuestion, AskOutcome } from './write-back-outcome.ts'

/** The end of an answer text that was cut. */
const CUT_MARK = ' [answer truncated]'

/** The most that the element takes over of a call's id, from its end: there it says which nested call it is. */
const CALL_ID_CHARS = 100

/**
 * The message's text.
 * @param callId - id of the nested call.
 * @param outcome - what is said of it.
 * @param limitBytes - the most UTF-8 bytes of the text; at least 1,024.
 * @returns one element, `user_answer` or `user_question_withdrawn`.
 */
export function writeBackText(callId: string, outcome: AskOutcome, limitBytes: number): string {
  switch (outcome.kind) {
    case 'answered':
      return answersText(callId, outcome.answers, limitBytes)
    case 'replaced':
      return withLongest(limitBytes, maxBytes => element('user_answer', callId, cutAnswer(outcome.text, maxBytes)))
    case 'withdrawn':
      return withdrawnText(callId, outcome.questions, outcome.shownMs, limitBytes)
  }
}

/**
 * One line for a collapsed transcript row, within the harness's bound.
 * @param outcome - what is said.
 * @returns the summary, without line breaks or control characters.
 */
export function writeBackSummary(outcome: AskOutcome): string {
  const line = summaryLine(outcome).replace(/[\s\p{Cc}]+/gu, ' ')
  return boundContextSummary(line.trimEnd()).toWellFormed()
}

function summaryLine(outcome: AskOutcome): string {
  switch (outcome.kind) {
    case 'answered':
      return `User answered ${outcome.answers.map(summarizeAnswer).join('; ') || '(nothing)'}`
    case 'replaced':
      return `User answered: ${outcome.text}`
    case 'withdrawn':
      return `Question withdrawn: ${outcome.questions.map(({ question }) => question).join('; ')}`
  }
}

function summarizeAnswer({ id, selected, custom }: AnsweredQuestion): string {
  const given = custom === undefined ? selected : [...selected, custom]
  return `${id}: ${given.length === 0 ? '(skipped)' : given.join(', ')}`
}

function answersText(callId: string, answers: readonly AnsweredQuestion[], limitBytes: number): string {
  const draw = (count: number, shortenId: (id: string) => string) => (maxBytes: number) =>
    element('user_answer', callId, {
      answers: answers.slice(0, count).map(({ question, id, selected, custom }) => ({
        question: shorten(question),
        id: shortenId(id),
        selected: selected.map(label => cutAnswer(label, maxBytes)),
        ...(custom === undefined ? {} : { custom: cutAnswer(custom, maxBytes) }),
      })),
      ...noteOn(answers.length, answers.length - count),
    })
  const whole = draw(answers.length, id => id)
  if (fits(whole(CUT_MARK.length), limitBytes)) return withLongest(limitBytes, whole)
  const count = largest(0, answers.length, n => fits(draw(n, shorten)(CUT_MARK.length), limitBytes))
  return withLongest(limitBytes, draw(count, shorten))
}

function noteOn(count: number, left: number): { note?: string } {
  if (count === 0) return { note: 'No answer was given.' }
  if (left === 0) return {}
  return { note: `${left} answer(s) left out, for length. Ask again, in fewer questions, if you need them.` }
}

function withdrawnText(
  callId: string,
  questions: readonly AskedQuestion[],
  shownMs: number,
  limitBytes: number,
): string {
  const draw = (count: number) =>
    element('user_question_withdrawn', callId, {
      questions: questions
        .slice(0, count)
        .map(({ question, id }) => ({ question: shorten(question), id: shorten(id) })),
      shownMs: Math.round(shownMs),
      ...(count === questions.length ? {} : { more: questions.length - count }),
      note:
        'Withdrawn unanswered: the program ended while the user was being asked.'
        + ' Ask again, and await the answer, if you still need it.',
    })
  return draw(largest(0, questions.length, count => fits(draw(count), limitBytes)))
}

/** Draw with the longest answer texts for which the result fits. */
function withLongest(limitBytes: number, draw: (maxBytes: number) => string): string {
  return draw(largest(CUT_MARK.length, limitBytes, maxBytes => fits(draw(maxBytes), limitBytes)))
}

/** The largest whole number of a range that holds; what holds for a number holds for those below, and for the first. */
function largest(first: number, last: number, holds: (n: number) => boolean): number {
  if (holds(last)) return last
  let [low, high] = [first, last]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) low = middle
    else high = middle
  }
  return low
}

function fits(text: string, limitBytes: number): boolean {
  return Buffer.byteLength(text) <= limitBytes
}

/** An answer text of at most `maxBytes` bytes; it ends between two characters. */
function cutAnswer(text: string, maxBytes: number): string {
  if (fits(text, maxBytes)) return text
  const head = new TextRetainer({ kind: 'head', maxBytes: maxBytes - CUT_MARK.length })
  head.push(text)
  return head.finish().text + CUT_MARK
}

/** At most 200 characters of a question or an id. */
function shorten(text: string): string {
  return text.replace(/^([^]{199})[^]{2,}$/u, '$1…')
}

/**
 * JSON leaves `<` alone, and some control characters. Both are escaped, so that no answer can close the element or reach
 * a terminal. The attribute with its quotes is a JSON string, too, without the characters that mean something in markup.
 */
function element(name: string, callId: string, body: unknown): string {
  const id = JSON.stringify(callId.slice(-CALL_ID_CHARS)).slice(1, -1)
  const call = id.replace(/\\"|[<>&\u007f-\u009f\u2028\u2029]/g, escapeCharacter)
  const json = JSON.stringify(body).replace(/[<\u007f-\u009f\u2028\u2029]/g, escapeCharacter)
  return `<${name} call="${call}">\n${json}\n</${name}>`
}

function escapeCharacter(match: string): string {
  return `\\u${match
    .charCodeAt(match.length - 1)
    .toString(16)
    .padStart(4, '0')}`
}
