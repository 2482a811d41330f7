/**
 * About how many bytes a trace holds. A compressed log can unpack to any number of questions; whoever reads one stops
 * when a trace grows out of bounds.
 * @module @deepseek-ai/dsh-ask-trace/held-size
 */
import { tokenCount, type Part } from './answer-parts.ts'
import type { OpenAsk } from './open-ask.ts'

/** Measured: an entry with its layers and evidence, a token of an automaton, an object of a question, a call. */
const ASK_BYTES = 2_500
const TOKEN_BYTES = 200
const OBJECT_BYTES = 200
const CALL_BYTES = 400

/** The sizes of the questions, added up. */
export class HeldSize {
  private asks = 0
  private tokens = 0

  /** Of all questions so far. */
  get bytes(): number {
    return this.asks + TOKEN_BYTES * this.tokens
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
  receive(receipt: string, parts: readonly Part[]): void {
    this.asks += 2 * receipt.length
    this.tokens += tokenCount(parts)
  }

  /** A question is concluded: what it looked for is let go. */
  close({ parts }: OpenAsk): void {
    this.tokens -= tokenCount(parts)
  }
}
