/**
 * What the receipt of a question says, and what of it has to reach the model.
 * @module @deepseek-ai/dsh-ask-trace/receipt
 */
import { answerNeedles, messageNeedles, type Needle } from './carries.ts'
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
 * @returns the inner layer, and needles for the outer ones: the answer, or the failure's message. A receipt that a
 *   listener replaced or cut is an answer that cannot be read; its text stands for it.
 */
export function readReceipt(
  receipt: Receipt,
  questions: readonly TracedQuestion[],
): { readonly inner: InnerLayer; readonly needles: readonly Needle[] } {
  if (receipt.isError) {
    const inner = failureOf(receipt.text, receipt)
    return { inner, needles: messageNeedles(inner.message) }
  }
  const answers = answersOf(receipt.text)
  return answers === undefined
    ? { inner: { kind: 'answered', answers: [] }, needles: messageNeedles(receipt.text) }
    : { inner: { kind: 'answered', answers }, needles: answerNeedles(answers, questions) }
}
