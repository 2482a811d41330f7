/**
 * Plain bytes of a zstd file that is a chain of frames, as a stream.
 * @module @deepseek-ai/dsh-ask-trace/zstd-decode
 */
import { pipeline, Readable } from 'node:stream'
import { constants, createZstdDecompress, zstdDecompressSync } from 'node:zlib'
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

/**
 * @param source - the file's bytes.
 * @param onTorn - told where the last frame starts, if the file ends inside it; what can be decoded of it still comes.
 * @returns the plain bytes, frame by frame.
 * @throws {SessionLogError} at damage, after everything before it.
 */
export async function* decodeZstd(
  source: AsyncIterable<Buffer>,
  onTorn: (start: number) => void,
): AsyncGenerator<Buffer> {
  const pieces = framePieces(source, onTorn)
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

async function* framePieces(
  source: AsyncIterable<Buffer>,
  onTorn: (start: number) => void,
): AsyncGenerator<FramePiece, undefined> {
  const scanner = new FrameScanner()
  for await (const chunk of source) yield* scanner.push(chunk)
  if (scanner.openFrame !== undefined) onTorn(scanner.openFrame)
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
