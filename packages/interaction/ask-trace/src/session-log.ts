/**
 * Session logs as files: `.jsonl`, plain or as a chain of zstd frames, recognised by their first bytes.
 * @module @deepseek-ai/dsh-ask-trace/session-log
 */
import { createReadStream } from 'node:fs'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import type { JsonRecord } from './event-view.ts'
import { cannotOpen, STDIN } from './find-logs.ts'
import { LineSplitter, MAX_LINE_BYTES } from './lines.ts'
import { SessionLogError } from './log-error.ts'
import { RecordReader } from './record-reader.ts'
import { decodeZstd } from './zstd-decode.ts'
import { isZstd } from './zstd-frames.ts'

const READ_BYTES = 256 * 1024

/** Told what a log says beside its events; every call comes before the reading ends. */
export interface LogListener {
  /** The header, as it stands in the log. */
  readonly onHeader?: (header: JsonRecord) => void
  /** What the reader passed over without harm: a tail that a crash cut off, events it does not know. */
  readonly onNote?: (note: string) => void
  /** How many rows could not be decoded and were left out, and the first of them. */
  readonly onSkipped?: (rows: number, note: string) => void
}

/**
 * Read a session log as a stream; the file is never held whole.
 * @param path - the file; `-` for standard input.
 * @param listener - told what else there is.
 * @returns the log's events in order, a batch for each storage record.
 * @throws {SessionLogError} when the file is no session log, or cannot be read any further; the events before that place
 *   have come by then.
 */
export async function* readSessionLog(
  path: string,
  listener: LogListener = {},
): AsyncGenerator<readonly SessionEvent[]> {
  const reader = new RecordReader(header => listener.onHeader?.(header))
  const lines = new LineSplitter()
  const onNote = (note: string) => listener.onNote?.(note)
  try {
    for await (const chunk of plainBytes(path, lines, onNote)) {
      for (const line of lines.push(chunk)) {
        const events = reader.read(line)
        if (events.length > 0) yield events
      }
    }
    const rest = lines.rest()
    if (rest !== undefined) yield* reader.readLast(rest, onNote)
    reader.finish(onNote)
  } catch (error) {
    throw error instanceof SessionLogError ? error : cannotOpen(error)
  } finally {
    if (reader.skipped > 0) listener.onSkipped?.(reader.skipped, reader.skippedNote)
  }
}

async function* plainBytes(path: string, lines: LineSplitter, onNote: (note: string) => void): AsyncGenerator<Buffer> {
  const file = path === STDIN ? process.stdin : createReadStream(path, { highWaterMark: READ_BYTES })
  const [head, bytes] = await peek(file as AsyncIterable<Buffer>)
  const alien = FORMATS.find(({ magic }) => head.subarray(0, magic.length).equals(magic))
  if (alien !== undefined) throw new SessionLogError(alien.problem)
  if (!isZstd(head)) {
    yield* bytes
    return
  }
  for await (const { plain, offset } of decodeZstd(bytes, onNote)) {
    lines.maxBytes = unpackedLineBytes(offset)
    yield plain
  }
}

/** A line takes several times its size while it is read, so that a short file may not unpack to a very long one. */
function unpackedLineBytes(fileBytes: number): number {
  return Math.min(MAX_LINE_BYTES, Math.max(MAX_LINE_BYTES / 16, 4 * fileBytes))
}

/** What people take for a session log, by its first bytes. */
const FORMATS = [
  {
    magic: Buffer.from([0x1f, 0x8b]),
    problem: 'compressed with gzip; unpack it first (gunzip), a log is plain or zstd',
  },
  { magic: Buffer.from([0x50, 0x4b, 0x03, 0x04]), problem: 'a zip archive; unpack it first' },
  { magic: Buffer.from([0x42, 0x5a, 0x68]), problem: 'compressed with bzip2; unpack it first' },
  { magic: Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a]), problem: 'compressed with xz; unpack it first' },
]

/** The first bytes, at least four if there are so many, and all bytes, these included. */
async function peek(source: AsyncIterable<Buffer>): Promise<[Buffer, AsyncIterable<Buffer>]> {
  const iterator = source[Symbol.asyncIterator]()
  const held: Buffer[] = []
  for (let size = 0; size < 4;) {
    const next = await iterator.next()
    if (next.done === true) break
    held.push(next.value)
    size += next.value.length
  }
  const head = Buffer.concat(held)
  return [head, concat(head, { [Symbol.asyncIterator]: () => iterator })]
}

async function* concat(head: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head
  yield* rest
}
