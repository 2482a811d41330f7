/**
 * Turns the lines of a log into events. A line that holds none is left out and counted, and so are events of unknown
 * types, which are handed on.
 * @module @deepseek-ai/dsh-ask-trace/record-reader
 */
import {
  decodeStorageRecord,
  KNOWN_SESSION_EVENT_TYPES,
  SESSION_FORMAT_VERSION,
  type SessionEvent,
} from '@deepseek-ai/dsh-session'
import { isRecord, list, parseJson, record, type JsonRecord } from './event-view.ts'
import { messageOf, SessionLogError } from './log-error.ts'
import { hasTooManyValues } from './value-count.ts'

const BYTE_ORDER_MARK = '\ufeff'

/** So many are named in a note; the others are counted. */
const NAMED = 3

const PACKED: ReadonlySet<unknown> = new Set(['text-chunks', 'reasoning-chunks', 'tool-call-chunks'])

/** Reads one log, line by line. */
export class RecordReader {
  /** Lines left out, because no event could be made of them. */
  skipped = 0
  private readonly onHeader: (header: JsonRecord) => void
  private readonly firstSkipped: string[] = []
  private line = 0
  /** Blank lines that were not followed by any other so far: a file may end with them. */
  private blank = 0
  private unknown = 0
  private readonly unknownTypes = new Set<string>()

  /**
   * @param onHeader - told the log's first line.
   */
  constructor(onHeader: (header: JsonRecord) => void) {
    this.onHeader = onHeader
  }

  /** What was left out, in words. */
  get skippedNote(): string {
    const rows = this.skipped === 1 ? '1 row was' : `${this.skipped} rows were`
    const more = this.skipped > this.firstSkipped.length ? '; …' : ''
    return `${rows} left out: ${this.firstSkipped.join('; ')}${more}`
  }

  /**
   * @param line - the next line.
   * @returns its events; none for the header.
   * @throws {SessionLogError} when the first line is no header of a log that can be read.
   */
  read(line: string): readonly SessionEvent[] {
    this.line += 1
    if (this.line === 1) {
      this.onHeader(headerOf(line))
      return []
    }
    if (line.trim() === '') {
      this.blank += 1
      return []
    }
    if (this.blank > 0) this.skip(this.line - this.blank, 'blank', this.blank)
    this.blank = 0
    return this.decode(line)
  }

  /** A last line without its newline counts if it is whole; if not, the writer was cut off. */
  *readLast(line: string, onNote: (note: string) => void): Generator<readonly SessionEvent[]> {
    if (line.trim() === '') return
    if (this.line > 0 && parseJson(line) === undefined) onNote(`line ${this.line + 1} is cut off and was left out`)
    else yield this.read(line)
  }

  /** The file is over. */
  finish(onNote: (note: string) => void): void {
    if (this.line === 0) throw new SessionLogError('empty, not a session log')
    if (this.unknown === 0) return
    const events =
      this.unknown === 1 ? '1 event of an unknown type was' : `${this.unknown} events of unknown types were`
    onNote(`${events} passed over (${[...this.unknownTypes].join(', ')}${this.unknownTypes.size < NAMED ? '' : ', …'})`)
  }

  private decode(line: string): SessionEvent[] {
    const value = hasTooManyValues(line) ? undefined : parseJson(line)
    if (value === undefined) return this.skip(this.line, hasTooManyValues(line) ? 'too many values' : 'not JSON')
    if (!isRecord(value) || typeof value.type !== 'string') return this.skip(this.line, 'no session event')
    try {
      const events = decodeRow(value)
      for (const event of events) this.countUnknown(event)
      return events
    } catch (error) {
      return this.skip(this.line, messageOf(error))
    }
  }

  private skip(line: number, why: string, rows = 1): SessionEvent[] {
    this.skipped += rows
    if (this.firstSkipped.length < NAMED) this.firstSkipped.push(`line ${line}: ${why}`)
    return []
  }

  private countUnknown({ type, ignorable }: SessionEvent): void {
    if (KNOWN_SESSION_EVENT_TYPES.has(type) || ignorable === true) return
    this.unknown += 1
    if (this.unknownTypes.size < NAMED) this.unknownTypes.add(type)
  }
}

/** Recorded logs may be stripped of sequence numbers and times, which a packed row needs to be decoded. */
function decodeRow(value: JsonRecord): SessionEvent[] {
  if (!PACKED.has(value.type) || value.seq0 !== undefined || value.time0 !== undefined)
    return decodeStorageRecord(value)
  const data = record(value.data)
  const members = list(data.texts ?? data.args).length
  const dt = data.dt ?? Array.from({ length: Math.max(0, members - 1) }, () => 0)
  const events = decodeStorageRecord({ ...value, seq0: 0, time0: 0, data: { ...data, dt } })
  return events.map(({ seq: _seq, time: _time, ...event }) => event as SessionEvent)
}

function headerOf(line: string): JsonRecord {
  const header = record(parseJson(line.startsWith(BYTE_ORDER_MARK) ? line.slice(1) : line))
  const { type, version } = header
  if (type !== 'session') throw new SessionLogError('no session header, so this is no session log', { line: 1 })
  if (version === undefined || version === SESSION_FORMAT_VERSION) return header
  const found = JSON.stringify(version)
  throw new SessionLogError(`session format version ${found}; only version ${SESSION_FORMAT_VERSION} can be read`, {
    line: 1,
  })
}
