/**
 * Plain bytes of a zstd file that is a chain of frames, as a stream.
 * @module @deepseek-ai/dsh-ask-trace/zstd-decode
 */
import { pipeline, Readable } from 'node:stream'
import { constants, createZstdDecompress, zstdDecompressSync } from 'node:zlib'
import { MAX_LINE_BYTES } from './lines.ts'
import { messageOf, SessionLogError } from './log-error.ts'
import { FrameScanner, ZSTD_MAGIC, type FramePiece } from './zstd-frames.ts'

/**
 * Frames that cannot grow beyond this are decoded in one go, which is five times as fast as a stream for each; that is
 * nearly every frame of a log, since one frame is one batch of events.
 */
const SMALL_FRAME_BYTES = 4 * 1024 * 1024

/** The scanner knows where a frame ends, so that the decoder need not complain of one that is cut short. */
const OPTIONS = { finishFlush: constants.ZSTD_e_flush }

const MAGIC = Buffer.alloc(4)
MAGIC.writeUInt32LE(ZSTD_MAGIC)

/** No log that a harness wrote comes near either; together they mark a compression bomb. */
const MAX_UNPACKED_BYTES = MAX_LINE_BYTES
const MAX_RATIO = 1_000

/**
 * @param source - the file's bytes.
 * @param onNote - told of frames that hold no data, and where the last frame starts, if the file ends inside it; what can
 *   be decoded of it still comes.
 * @returns the plain bytes, frame by frame, and how much of the file was read for them.
 * @throws {SessionLogError} at damage, after everything before it.
 */
export async function* decodeZstd(
  source: AsyncIterable<Buffer>,
  onNote: (note: string) => void,
): AsyncGenerator<{ readonly plain: Buffer; readonly offset: number }> {
  const scanner = new FrameScanner()
  let unpacked = 0
  for await (const plain of decodeFrames(framePieces(source, scanner))) {
    unpacked += plain.length
    if (unpacked > MAX_UNPACKED_BYTES && unpacked > MAX_RATIO * scanner.offset) throw bomb(scanner)
    yield { plain, offset: scanner.offset }
  }
  if (scanner.skippedFrames > 0)
    onNote(`${scanner.skippedFrames} zstd frames without data (skippable) were passed over`)
  if (scanner.openFrame === undefined) return
  onNote(`the file ends inside the zstd frame at byte ${scanner.openFrame}; what could be read of it was read`)
}

async function* framePieces(
  source: AsyncIterable<Buffer>,
  scanner: FrameScanner,
): AsyncGenerator<FramePiece, undefined> {
  for await (const chunk of source) yield* scanner.push(chunk)
}

async function* decodeFrames(pieces: AsyncGenerator<FramePiece, undefined>): AsyncGenerator<Buffer> {
  try {
    let held: FramePiece[] = []
    for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
      const piece = next.value
      held.push(piece)
      if (piece.cost > SMALL_FRAME_BYTES) yield* decodeLarge(frameBytes(held, pieces), piece.start)
      else if (piece.last) yield decodeSmall(held, piece.start)
      else continue
      held = []
    }
    const torn = held[0]
    if (torn !== undefined) yield decodeSmall(held, torn.start)
  } finally {
    await pieces.return(undefined)
  }
}

function bomb({ offset }: FrameScanner): SessionLogError {
  return new SessionLogError(
    `a compression bomb: the first ${offset} bytes unpack to more than ${MAX_UNPACKED_BYTES}, ${MAX_RATIO} times as many`,
  )
}

function decodeSmall(pieces: readonly FramePiece[], start: number): Buffer {
  try {
    return zstdDecompressSync(Buffer.concat([MAGIC, ...pieces.map(({ bytes }) => bytes)]), OPTIONS)
  } catch (error) {
    throw damaged(start, error)
  }
}

async function* decodeLarge(bytes: AsyncIterable<Buffer>, start: number): AsyncGenerator<Buffer> {
  const decoder = createZstdDecompress(OPTIONS)
  // A failure of either side comes out of the loop below.
  pipeline(Readable.from(bytes), decoder, () => undefined)
  try {
    for await (const plain of decoder) yield plain as Buffer
  } catch (error) {
    throw error instanceof SessionLogError ? error : damaged(start, error)
  }
}

/** The bytes of one frame: the pieces that were held back, then those to come. */
async function* frameBytes(held: readonly FramePiece[], more: AsyncIterator<FramePiece>): AsyncGenerator<Buffer> {
  yield MAGIC
  for (const { bytes } of held) yield bytes
  let last = held.at(-1)?.last === true
  while (!last) {
    const next = await more.next()
    if (next.done === true) return
    yield next.value.bytes
    last = next.value.last
  }
}

function damaged(start: number, error: unknown): SessionLogError {
  return new SessionLogError(`damaged: the zstd frame at byte ${start}: ${messageOf(error)}`, { cause: error })
}
