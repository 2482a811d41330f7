/**
 * Lines of a byte stream, whole, however the bytes arrive.
 * @module @deepseek-ai/dsh-ask-trace/lines
 */
import { SessionLogError } from './log-error.ts'

/** The longest line that is read; longer ones are no events but damage, or an attack on memory. */
export const MAX_LINE_BYTES = 64 * 1024 * 1024

const NEWLINE = 0x0a
const NOTHING = Buffer.alloc(0)

/** Cuts a stream into lines. It holds no more than one unfinished line. */
export class LineSplitter {
  /** Lines handed out so far. */
  count = 0
  /** The longest line that is accepted. */
  maxBytes: number
  private pieces: Buffer[] = []
  private pieceBytes = 0
  private lineStart = 0

  /**
   * @param maxBytes - the longest line that is accepted.
   */
  constructor(maxBytes = MAX_LINE_BYTES) {
    this.maxBytes = maxBytes
  }

  /**
   * @param chunk - the next bytes; they may be overwritten once the lines are consumed.
   * @returns the lines that end in them, without their newlines.
   * @throws {SessionLogError} when a line grows beyond the limit.
   */
  *push(chunk: Buffer): Generator<string> {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      const bytes = this.pieceBytes + end - from
      this.check(bytes)
      this.lineStart += bytes + 1
      yield this.take(chunk, from, end)
      from = end + 1
    }
    // Copied: the rest outlives the chunk.
    if (from < chunk.length) this.keep(Buffer.from(chunk.subarray(from)))
  }

  /**
   * @returns what stands after the last newline, if anything does.
   */
  rest(): string | undefined {
    return this.pieceBytes === 0 ? undefined : this.take(NOTHING, 0, 0)
  }

  private keep(piece: Buffer): void {
    this.pieces.push(piece)
    this.pieceBytes += piece.length
    this.check(this.pieceBytes)
  }

  private check(bytes: number): void {
    if (bytes <= this.maxBytes) return
    throw new SessionLogError(`longer than ${this.maxBytes} bytes; it begins at byte ${this.lineStart} of the text`, {
      line: this.count + 1,
    })
  }

  /** The line that ends in the chunk; most lines also begin in it. */
  private take(chunk: Buffer, from: number, end: number): string {
    this.count += 1
    if (this.pieceBytes === 0) return chunk.toString('utf8', from, end)
    const line = Buffer.concat([...this.pieces, chunk.subarray(from, end)]).toString('utf8')
    this.pieces = []
    this.pieceBytes = 0
    return line
  }
}
