/**
 * The frame boundaries of a zstd stream, found without decompressing (RFC 8878, section 3.1). Node's own decoder stops
 * after the first frame of a chain, and that of Node 22 takes a frame that is cut short for a whole one.
 *
 * | state | bytes it waits for | then |
 * | --- | --- | --- |
 * | magic | 4 | descriptor, or size of a skippable frame |
 * | descriptor | 1 | rest of the header, whose length it names |
 * | header | 0 to 13 | block header |
 * | block header | 3 | block, whose length and kind it names |
 * | block | its length | block header; after the last block checksum or magic |
 * | checksum | 0 or 4 | magic |
 * | skip size | 4 | skipped |
 * | skipped | its length | magic |
 * @module @deepseek-ai/dsh-ask-trace/zstd-frames
 */
import { SessionLogError } from './log-error.ts'

/** A stretch of one frame's bytes, after its magic number. Skippable frames are left out. */
export interface FramePiece {
  readonly bytes: Buffer
  /** Whether the frame's last byte is among them. */
  readonly last: boolean
  /** What the frame may cost in memory so far: its size, and the most that it can decompress to. */
  readonly cost: number
  /** Where the frame starts in the file. */
  readonly start: number
}

/** First four bytes of a frame, as a little-endian number. */
export const ZSTD_MAGIC = 0xfd2fb528

/**
 * @param head - the first bytes of a file.
 * @returns whether they begin a frame, be it one that holds no data.
 */
export function isZstd(head: Buffer): boolean {
  if (head.length < 4) return false
  const magic = head.readUInt32LE(0)
  return magic === ZSTD_MAGIC || isSkippable(magic)
}

function isSkippable(magic: number): boolean {
  return Math.floor(magic / 16) === SKIPPABLE_MAGIC
}

const SKIPPABLE_MAGIC = 0x184d2a5
const MAX_BLOCK_BYTES = 128 * 1024

type State = 'magic' | 'descriptor' | 'header' | 'block-header' | 'block' | 'checksum' | 'skip-size' | 'skipped'

/** States whose bytes are read as a number of at most four bytes; the others' bytes are only counted. */
const FIELDS: ReadonlySet<State> = new Set(['magic', 'descriptor', 'block-header', 'skip-size'])

/** Follows the structure of a stream, however its bytes arrive. */
export class FrameScanner {
  /** Start of the frame that is still open, or undefined between frames. */
  openFrame: number | undefined
  /** Bytes that were read. */
  offset = 0
  /** Frames that hold no data. */
  skippedFrames = 0
  private state: State = 'magic'
  private wanted = 4
  private field = 0
  private fieldBytes = 0
  private cost = 0
  private checksum = false
  private lastBlock = false

  private isOpen(): boolean {
    return this.openFrame !== undefined
  }

  private piece(bytes: Buffer, last: boolean, start: number): FramePiece {
    return { bytes, last, cost: this.cost, start }
  }

  /**
   * @param chunk - the next bytes of the file.
   * @returns the chunk cut at frame boundaries.
   * @throws {SessionLogError} when the structure is none of zstd's.
   */
  *push(chunk: Buffer): Generator<FramePiece> {
    let from = 0
    let at = 0
    while (at < chunk.length) {
      const start = (this.openFrame ??= this.offset)
      const { state } = this
      at += this.take(chunk.subarray(at))
      const last = !this.isOpen()
      if (last && state !== 'skip-size' && state !== 'skipped') yield this.piece(chunk.subarray(from, at), last, start)
      if (last || (state === 'magic' && this.state !== 'magic')) from = at
    }
    const { openFrame: start, state } = this
    const silent = from === at || state === 'magic' || state === 'skip-size' || state === 'skipped'
    if (start !== undefined && !silent) yield this.piece(chunk.subarray(from), false, start)
  }

  /** Takes what the state waits for, as far as it is there, and returns its length. */
  private take(bytes: Buffer): number {
    const taken = Math.min(this.wanted, bytes.length)
    if (FIELDS.has(this.state)) this.readField(bytes.subarray(0, taken))
    this.offset += taken
    this.cost += taken
    this.wanted -= taken
    while (this.wanted === 0) this.advance()
    return taken
  }

  private readField(bytes: Buffer): void {
    for (const byte of bytes) this.field += byte * 2 ** (8 * this.fieldBytes++)
  }

  /** All bytes of a state are there: which state is next. */
  private advance(): void {
    const { field } = this
    switch (this.state) {
      case 'magic':
        this.afterMagic(field)
        return
      case 'descriptor':
        this.enter('header', this.headerBytes(field))
        return
      case 'header':
        this.enter('block-header', 3)
        return
      case 'block-header':
        this.afterBlockHeader(field)
        return
      case 'block':
        if (!this.lastBlock) this.enter('block-header', 3)
        else this.enter('checksum', this.checksum ? 4 : 0)
        return
      case 'skip-size':
        this.enter('skipped', field)
        return
      case 'skipped':
        this.skippedFrames += 1
        this.openFrame = undefined
        this.enter('magic', 4)
        return
      case 'checksum':
        this.openFrame = undefined
        this.enter('magic', 4)
    }
  }

  private afterMagic(magic: number): void {
    this.cost = 0
    if (magic === ZSTD_MAGIC) this.enter('descriptor', 1)
    else if (isSkippable(magic)) this.enter('skip-size', 4)
    else throw new SessionLogError(`damaged: no zstd frame begins at byte ${this.openFrame}`)
  }

  private headerBytes(descriptor: number): number {
    if ((descriptor & 0b1000) !== 0) throw this.damaged('uses a reserved bit')
    this.checksum = (descriptor & 0b100) !== 0
    const singleSegment = (descriptor & 0b10_0000) !== 0
    const sizeFlag = descriptor >>> 6
    const sizeBytes = sizeFlag === 0 ? Number(singleSegment) : 2 ** sizeFlag
    const idFlag = descriptor & 0b11
    return Number(!singleSegment) + (idFlag === 3 ? 4 : idFlag) + sizeBytes
  }

  private afterBlockHeader(header: number): void {
    const type = (header >>> 1) & 0b11
    const size = header >>> 3
    if (type === 3) throw this.damaged('has a block of a reserved type')
    if (size > MAX_BLOCK_BYTES) throw this.damaged('has a block of more than 128 KiB')
    this.lastBlock = (header & 1) === 1
    // A compressed block may grow to the largest size there is; a raw or a repeated one names its own.
    this.cost += type === 2 ? MAX_BLOCK_BYTES : size
    this.enter('block', type === 1 ? 1 : size)
  }

  private damaged(what: string): SessionLogError {
    return new SessionLogError(`damaged: the zstd frame at byte ${this.openFrame} ${what}`)
  }

  private enter(state: State, wanted: number): void {
    this.state = state
    this.wanted = wanted
    this.field = 0
    this.fieldBytes = 0
  }
}
