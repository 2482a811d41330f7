/**
 * What the receipt of a question says, and what of it has to reach the model.
 * @module @deepseek-ai/dsh-ask-trace/receipt
 */
import { answerParts, messageParts, type Part } from './answer-parts.ts'
import { answersOf } from './event-view.ts'
import { failureOf, type FailureHints } from './failure.ts'
import type { InnerLayer, TracedQuestion } from './types.ts'

/** A receipt as it stands in the log. */
export interface Receipt extends FailureHints {
  readonly text: string
  readonly isError: boolean
}

/**
 * @param receipt - the receipt.
 * @param questions - what was asked.
 * @returns the inner layer, and what has to reach the model: the answer, or the failure's message. Of a receipt that is
 *   neither (a listener replaced or cut it) the text stands for both.
 */
export function readReceipt(
  receipt: Receipt,
  questions: readonly TracedQuestion[],
): { readonly inner: InnerLayer; readonly parts: readonly Part[] } {
  if (receipt.isError) {
    const inner = failureOf(receipt.text, receipt)
    return { inner, parts: messageParts(inner.message) }
  }
  const answers = answersOf(receipt.text)
  return answers === undefined
    ? { inner: { kind: 'unreadable', message: receipt.text }, parts: messageParts(receipt.text) }
    : { inner: { kind: 'answered', answers }, parts: answerParts(answers, questions) }
}
