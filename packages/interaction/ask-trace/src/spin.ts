/**
 * Goal rounds that spin after an answer was lost: those that begin before the human writes again, or before a later
 * answer arrives. Whether an answer is lost shows only at the next request, so rounds are counted from every receipt.
 * @module @deepseek-ai/dsh-ask-trace/spin
 */

/** Rounds that followed a receipt: from one count of rounds to another, or to the log's end. */
export interface SpinSpan {
  readonly from: number
  to: number | undefined
}

/** Counts goal rounds, and which of them follow a receipt. */
export class SpinCounter {
  rounds = 0
  private open: SpinSpan[] = []

  /** A goal round begins. */
  round(): void {
    this.rounds += 1
  }

  /**
   * Something new reached the model: what it does from here on is no longer for want of an earlier answer.
   * @param running - spans of answers that were lost only now; they go on.
   */
  stop(running: readonly SpinSpan[] = []): void {
    const goOn = new Set(running)
    for (const span of this.open) if (!goOn.has(span)) span.to = this.rounds
    this.open = [...running]
  }

  /** @returns the rounds to come, until the next stop. */
  begin(): SpinSpan {
    const span: SpinSpan = { from: this.rounds, to: undefined }
    this.open.push(span)
    return span
  }

  /** @returns how many rounds the span has. */
  length({ from, to }: SpinSpan): number {
    return (to ?? this.rounds) - from
  }

  /** @returns how many rounds lie in any of the spans, each counted once. */
  union(spans: readonly SpinSpan[]): number {
    let total = 0
    let counted = 0
    for (const { from, to = this.rounds } of spans.toSorted((a, b) => a.from - b.from)) {
      total += Math.max(0, to - Math.max(from, counted))
      counted = Math.max(counted, to)
    }
    return total
  }
}
