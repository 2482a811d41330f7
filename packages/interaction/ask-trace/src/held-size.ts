/**
 * About how many bytes a trace holds. A compressed log can unpack to any number of questions; whoever reads one stops
 * when a trace grows out of bounds.
 * @module @deepseek-ai/dsh-ask-trace/held-size
 */
import type { OpenAsk } from './open-ask.ts'

/** Measured: an entry with its layers and evidence, an object of a question, a call. */
const ASK_BYTES = 2_500
const OBJECT_BYTES = 200
const CALL_BYTES = 400

/** Of one character that is looked for, if each is a token of its own. */
const SEARCH_BYTES = 100

/** The sizes of the questions, added up. */
export class HeldSize {
  private asks = 0
  private searches = 0

  /** Of all questions so far. */
  get bytes(): number {
    return this.asks + this.searches
  }

  /** @param calls - how many calls are open. */
  ofCalls(calls: number): number {
    return CALL_BYTES * calls
  }

  /** A question is asked. */
  open({ start }: OpenAsk): void {
    this.asks += ASK_BYTES
    for (const { id, question, header = '', options } of start.questions) {
      this.asks += OBJECT_BYTES + 2 * (id.length + question.length + header.length)
      for (const { label, description = '' } of options)
        this.asks += OBJECT_BYTES + 2 * (label.length + description.length)
    }
  }

  /** A question is answered. */
  receive(ask: OpenAsk, receipt: string): void {
    this.asks += 2 * receipt.length
    ask.searchBytes += SEARCH_BYTES * (receipt.length + labelChars(ask))
    this.searches += ask.searchBytes
  }

  /** A question is concluded: what it looked for is let go. */
  close(ask: OpenAsk): void {
    this.searches -= ask.searchBytes
  }
}

function labelChars({ start }: OpenAsk): number {
  const labels = start.questions.flatMap(({ options }) => options.map(({ label }) => label.length))
  return labels.reduce((sum, length) => sum + length, 0)
}
