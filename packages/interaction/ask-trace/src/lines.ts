/**
 * Lines of a byte stream, whole, however the bytes arrive.
 * @module @deepseek-ai/dsh-ask-trace/lines
 */
import { SessionLogError } from './log-error.ts'

/** The longest line that is read; longer ones are no events but damage, or an attack on memory. */
export const MAX_LINE_BYTES = 64 * 1024 * 1024

const NEWLINE = 0x0a

/** Cuts a stream into lines. It holds no more than one unfinished line. */
export class LineSplitter {
  /** Lines handed out so far. */
  count = 0
  private readonly maxBytes: number
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
      this.keep(chunk.subarray(from, end))
      this.lineStart += this.pieceBytes + 1
      yield this.take()
      from = end + 1
    }
    // Copied: the rest outlives the chunk.
    if (from < chunk.length) this.keep(Buffer.from(chunk.subarray(from)))
  }

  /**
   * @returns what stands after the last newline, if anything does.
   */
  rest(): string | undefined {
    return this.pieceBytes === 0 ? undefined : this.take()
  }

  private keep(piece: Buffer): void {
    this.pieces.push(piece)
    this.pieceBytes += piece.length
    if (this.pieceBytes <= this.maxBytes) return
    throw new SessionLogError(`longer than ${this.maxBytes} bytes; it begins at byte ${this.lineStart} of the text`, {
      line: this.count + 1,
    })
  }

  private take(): string {
    const line = Buffer.concat(this.pieces, this.pieceBytes).toString('utf8')
    this.pieces = []
    this.pieceBytes = 0
    this.count += 1
    return line
  }
}
