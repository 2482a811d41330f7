/**
 * Session logs as files: `.jsonl`, plain or as a chain of zstd frames, recognised by their first bytes.
 * @module @deepseek-ai/dsh-ask-trace/session-log
 */
import { createReadStream } from 'node:fs'
import {
  decodeStorageRecord,
  KNOWN_SESSION_EVENT_TYPES,
  SESSION_FORMAT_VERSION,
  type SessionEvent,
} from '@deepseek-ai/dsh-session'
import { isRecord, parseJson, record } from './event-view.ts'
import { cannotOpen } from './find-logs.ts'
import { LineSplitter } from './lines.ts'
import { messageOf, SessionLogError } from './log-error.ts'
import { decodeZstd } from './zstd-decode.ts'
import { ZSTD_MAGIC } from './zstd-frames.ts'

const READ_BYTES = 256 * 1024

/**
 * Read a session log as a stream; the file is never held whole.
 * @param path - the file.
 * @param onNote - told what the reader passed over: a tail that a crash cut off, events it does not know.
 * @returns the log's events in order, a batch for each storage record.
 * @throws {SessionLogError} when the file is no session log, or no longer one from some line on; the events before
 *   that line have come by then.
 */
export async function* readSessionLog(
  path: string,
  onNote: (note: string) => void = () => undefined,
): AsyncGenerator<readonly SessionEvent[]> {
  const reader = new RecordReader()
  const lines = new LineSplitter()
  try {
    for await (const chunk of plainBytes(path, onNote)) {
      for (const line of lines.push(chunk)) {
        const events = reader.read(line)
        if (events.length > 0) yield events
      }
    }
  } catch (error) {
    throw error instanceof SessionLogError ? error : cannotOpen(error)
  }
  const rest = lines.rest()
  if (rest !== undefined) yield* lastLine(rest, reader, onNote)
  reader.finish(onNote)
}

/** A last line without its newline counts if it is whole; if not, the writer was cut off. */
function* lastLine(
  line: string,
  reader: RecordReader,
  onNote: (note: string) => void,
): Generator<readonly SessionEvent[]> {
  if (reader.line > 0 && parseJson(line) === undefined) onNote(`line ${reader.line + 1} is cut off and was left out`)
  else yield reader.read(line)
}

async function* plainBytes(path: string, onNote: (note: string) => void): AsyncGenerator<Buffer> {
  const file = createReadStream(path, { highWaterMark: READ_BYTES })
  const [head, bytes] = await peek(file as AsyncIterable<Buffer>)
  const onTorn = (start: number) => {
    onNote(`the file ends inside the zstd frame at byte ${start}; what could be read of it was read`)
  }
  yield* head === ZSTD_MAGIC ? decodeZstd(bytes, onTorn) : bytes
}

/** The first four bytes, as a number, and all bytes, these included. */
async function peek(source: AsyncIterable<Buffer>): Promise<[number | undefined, AsyncIterable<Buffer>]> {
  const iterator = source[Symbol.asyncIterator]()
  const held: Buffer[] = []
  let size = 0
  while (size < 4) {
    const next = await iterator.next()
    if (next.done === true) break
    held.push(next.value)
    size += next.value.length
  }
  const head = Buffer.concat(held)
  return [size < 4 ? undefined : head.readUInt32LE(0), concat(head, { [Symbol.asyncIterator]: () => iterator })]
}

async function* concat(head: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head
  yield* rest
}

/** Turns lines into events, and counts what it does not know. */
class RecordReader {
  line = 0
  private unknown = 0
  private readonly unknownTypes = new Set<string>()

  read(line: string): readonly SessionEvent[] {
    this.line += 1
    const value = parseJson(line)
    if (this.line === 1) {
      checkHeader(value)
      return []
    }
    if (value === undefined) throw new SessionLogError('not JSON', { line: this.line })
    if (!isRecord(value) || typeof value.type !== 'string') {
      throw new SessionLogError('no session event', { line: this.line })
    }
    const events = this.decode(value)
    for (const event of events) this.countUnknown(event)
    return events
  }

  finish(onNote: (note: string) => void): void {
    if (this.line === 0) throw new SessionLogError('empty, not a session log')
    if (this.unknown === 0) return
    onNote(`${this.unknown} events of unknown types were passed over (${[...this.unknownTypes].join(', ')}, …)`)
  }

  private decode(value: unknown): SessionEvent[] {
    try {
      return decodeStorageRecord(value)
    } catch (error) {
      throw new SessionLogError(messageOf(error), { line: this.line })
    }
  }

  private countUnknown({ type, ignorable }: SessionEvent): void {
    if (KNOWN_SESSION_EVENT_TYPES.has(type) || ignorable === true) return
    this.unknown += 1
    if (this.unknownTypes.size < 3) this.unknownTypes.add(type)
  }
}

function checkHeader(value: unknown): void {
  const { type, version } = record(value)
  if (type !== 'session') throw new SessionLogError('no session header, so this is no session log', { line: 1 })
  if (version === undefined || version === SESSION_FORMAT_VERSION) return
  const found = JSON.stringify(version)
  throw new SessionLogError(`session format version ${found}; only version ${SESSION_FORMAT_VERSION} can be read`, {
    line: 1,
  })
}
