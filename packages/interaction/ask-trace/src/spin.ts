/**
 * Goal rounds that spin after an answer was lost: those that begin before the human writes again, or before a later
 * answer arrives.
 * @module @deepseek-ai/dsh-ask-trace/spin
 */
import type { OpenAsk, SpinSpan } from './open-ask.ts'

/** Counts goal rounds, and which of them follow a loss. */
export class SpinCounter {
  rounds = 0
  private spinning: SpinSpan[] = []

  /** A goal round begins. */
  round(): void {
    this.rounds += 1
  }

  /** Something new reached the model: what it does from here on is no longer for want of the lost answer. */
  stop(): void {
    for (const span of this.spinning) span.to = this.rounds
    this.spinning = []
  }

  /** An answer is lost; rounds count from its receipt. */
  lose(ask: OpenAsk): void {
    ask.spin = { from: ask.roundsAtReceipt, to: undefined }
    this.spinning.push(ask.spin)
  }
}

/**
 * @param asks - all questions of a log.
 * @param rounds - goal rounds that have begun.
 * @returns the rounds that spun after any loss, each counted once.
 */
export function roundsSpun(asks: readonly OpenAsk[], rounds: number): number {
  const spans = asks.flatMap(({ spin }) => (spin === undefined ? [] : [{ from: spin.from, to: spin.to ?? rounds }]))
  let total = 0
  let counted = 0
  for (const { from, to } of spans.sort((a, b) => a.from - b.from)) {
    total += Math.max(0, to - Math.max(from, counted))
    counted = Math.max(counted, to)
  }
  return total
}
