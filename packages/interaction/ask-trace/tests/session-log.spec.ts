import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { packChunkRuns, type SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it, vi } from 'vitest'
import { readSessionLog } from '../src/index.ts'
import { LineSplitter } from '../src/lines.ts'
import { folder, frames, file, HEADER, jsonl, LOST, read } from './log-files.ts'

vi.setConfig({ testTimeout: 30_000 })

describe('a session log', () => {
  it.each([
    ['plain', jsonl([HEADER, ...LOST])],
    ['in two frames, as the backend writes it', frames(jsonl([HEADER]), jsonl(LOST))],
    ['in a frame for each line', frames(...[HEADER, ...LOST].map(record => jsonl([record])))],
    ['with a line that crosses frames', frames(jsonl([HEADER]) + '{"type":"tu', 'rn/start"}\n' + jsonl(LOST))],
    ['without a version in its header', jsonl([{ ...HEADER, version: undefined }, ...LOST])],
    ['whose last line is whole but has no newline', jsonl([HEADER, ...LOST]).slice(0, -1)],
    ['with blank lines at its end', `${jsonl([HEADER, ...LOST])}\n \n\r\n`],
    ['with a blank last line that has no newline', `${jsonl([HEADER, ...LOST])} `],
    ['behind a byte order mark', `\ufeff${jsonl([HEADER, ...LOST])}`],
    ['behind a byte order mark, compressed', frames(`\ufeff${jsonl([HEADER])}`, jsonl(LOST))],
  ])('is read %s', async (_, content) => {
    const { events, notes, error } = await read(file(content))
    expect([events.slice(-LOST.length), notes, error]).toEqual([LOST, [], undefined])
  })

  it('of a header alone has no events', async () => {
    expect(await read(file(JSON.stringify(HEADER)))).toMatchObject({ events: [], notes: [], error: undefined })
  })

  it('may pack runs of chunks into rows', async () => {
    const run = Array.from({ length: 4 }, (_, n) => ({
      type: 'assistant/chunk',
      seq: n,
      time: n,
      data: { turn: 1, step: 1, chunk: { type: 'text-delta', index: 0, text: `${n}` } },
    })) as SessionEvent[]
    const rows = packChunkRuns(run)
    expect(rows).toHaveLength(1)
    expect((await read(file(jsonl([HEADER, ...rows])))).events).toEqual(run)
  })

  it('may be stripped of sequence numbers and times, in packed rows too', async () => {
    const data = { turn: 1, step: 1, index: 0 }
    const rows = [
      { type: 'text-chunks', data: { ...data, dt: [5], texts: ['a', 'b'] } },
      { type: 'reasoning-chunks', data: { ...data, texts: ['c'] } },
      { type: 'tool-call-chunks', data: { ...data, id: 'x', args: ['d', 'e'] } },
    ]
    const { events, skipped } = await read(file(jsonl([HEADER, ...rows, ...LOST])))
    expect(skipped).toBe(0)
    expect(events.slice(0, 5).map(event => (event as { data: { chunk: object } }).data.chunk)).toMatchObject([
      { type: 'text-delta', text: 'a' },
      { type: 'text-delta', text: 'b' },
      { type: 'reasoning-delta', text: 'c' },
      { type: 'tool-call-delta', argumentsDelta: 'd' },
      { type: 'tool-call-delta', argumentsDelta: 'e' },
    ])
    expect(events[0]).not.toHaveProperty('seq')
    expect(events[0]).not.toHaveProperty('time')
    expect(events.slice(5)).toEqual(LOST)
  })

  it('may hold events of unknown types, and says so', async () => {
    const unknown = ['a/1', 'a/2', 'a/3', 'a/4', 'a/4'].map(type => ({ type, data: {} }))
    const { events, notes } = await read(file(jsonl([HEADER, ...unknown, { type: 'b', ignorable: true }])))
    expect(events).toHaveLength(6)
    expect(notes).toEqual(['5 events of unknown types were passed over (a/1, a/2, a/3, …)'])
    const one = await read(file(jsonl([HEADER, { type: 'a/1', data: {} }])))
    expect(one.notes).toEqual(['1 event of an unknown type was passed over (a/1)'])
  })
})

describe('a torn log', () => {
  it('is read up to its last whole line', async () => {
    const { events, notes, error } = await read(file(jsonl([HEADER, ...LOST]).slice(0, -4)))
    expect([events, error]).toEqual([LOST.slice(0, -1), undefined])
    expect(notes).toEqual([`line ${LOST.length + 1} is cut off and was left out`])
  })

  it('is read up to the frame that the file ends in', async () => {
    const whole = frames(jsonl([HEADER]), jsonl(LOST))
    const { events, notes, error } = await read(file(Buffer.concat([whole, frames(jsonl(LOST)).subarray(0, -9)])))
    expect([events, error]).toEqual([LOST, undefined])
    expect(notes).toEqual([
      `the file ends inside the zstd frame at byte ${whole.length}; what could be read of it was read`,
    ])
  })
})

describe('no session log', () => {
  it.each([
    ['an empty file', '', 'empty', undefined],
    ['a text', 'Dear diary\n', 'no session header', 1],
    ['a text without newline', 'x', 'no session header', 1],
    ['another JSONL file', '{"a":1}\n{"b":2}\n', 'no session header', 1],
    ['a log without its header', jsonl(LOST), 'no session header', 1],
    ['a log of a newer format', jsonl([{ ...HEADER, version: 3 }]), 'session format version 3; only version 0', 1],
    ['a log of an odd format', jsonl([{ ...HEADER, version: '0' }]), 'session format version "0"', 1],
    ['a header that is cut off', '{"type":"session","ver', 'no session header', 1],
    ['a first frame that is cut off', frames(jsonl([HEADER])).subarray(0, 7), 'empty', undefined],
    ['a gzip file', gzipSync(jsonl([HEADER, ...LOST])), 'compressed with gzip', undefined],
    ['a zip archive', 'PK\u0003\u0004rest', 'a zip archive', undefined],
    ['bytes', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff]), 'damaged', undefined],
  ])('is %s', async (_, content, message, line) => {
    const { events, error } = await read(file(content))
    expect(events).toEqual([])
    expect(error).toMatchObject({ name: 'SessionLogError', line, message: expect.stringContaining(message) as string })
  })

  it('is a missing file, or a folder', async () => {
    expect((await read('/no/such/log')).error).toMatchObject({ message: 'no such file or folder' })
    expect((await read(folder())).error).toMatchObject({ message: expect.stringContaining('EISDIR') as string })
  })
})

describe('a row that cannot be decoded', () => {
  it.each([
    ['text', 'hello', 'not JSON'],
    ['a blank line', '', 'blank'],
    ['a number', '7', 'no session event'],
    ['a list', '[]', 'no session event'],
    ['a record without a type', '{"data":{}}', 'no session event'],
    ['a malformed row of chunks', '{"type":"text-chunks","seq0":1}', 'malformed text-chunks'],
    ['a row of chunks without any', '{"type":"text-chunks","data":{}}', 'malformed text-chunks'],
  ])('is left out, and the log goes on: %s', async (_, line, why) => {
    const { events, notes, skipped, error } = await read(file(`${jsonl([HEADER, ...LOST])}${line}\n${jsonl(LOST)}`))
    expect([events, error, skipped]).toEqual([[...LOST, ...LOST], undefined, 1])
    expect(notes).toEqual([expect.stringMatching(`^1 row was left out: line ${LOST.length + 2}: .*${why}`)])
  })

  it('is counted beside others, of which the first are named', async () => {
    const { notes, skipped } = await read(file(`${jsonl([HEADER])}a\n\n\nb\n7\n[]\n${jsonl(LOST)}`))
    expect(skipped).toBe(6)
    expect(notes).toEqual(['6 rows were left out: line 2: not JSON; line 3: blank; line 5: not JSON; …'])
  })

  it('is said also of a log that ends in a defect', async () => {
    const bytes = Buffer.concat([frames(jsonl([HEADER]), 'oops\n'), Buffer.from('junk')])
    const { notes, error } = await read(file(bytes))
    expect(notes).toEqual(['1 row was left out: line 2: not JSON'])
    expect(error).toMatchObject({ message: expect.stringContaining('no zstd frame begins') as string })
  })

  it('is one of more values than memory should hold, and no text is taken for values', async () => {
    const values = `{"type":"a/1","data":[${'{},'.repeat(600_000)}{}]}`
    const words = JSON.stringify({ type: 'a/1', data: `"\\ ${'{},'.repeat(600_000)}` })
    const { events, notes } = await read(file(`${jsonl([HEADER])}${values}\n${words}\n`))
    expect(events).toHaveLength(1)
    expect(notes[1]).toBe('1 row was left out: line 2: too many values')
  })
})

describe('a line', () => {
  it('may be as long as the limit, and no longer', () => {
    const splitter = new LineSplitter(4)
    expect([...splitter.push(Buffer.from('abcd\nab'))]).toEqual(['abcd'])
    expect(() => [...splitter.push(Buffer.from('cde'))]).toThrow(
      expect.objectContaining({ line: 2, message: 'longer than 4 bytes; it begins at byte 5 of the text' }) as Error,
    )
  })

  it('is kept when its bytes are overwritten before its end arrives', () => {
    const splitter = new LineSplitter()
    const chunk = Buffer.from('ab')
    expect([...splitter.push(chunk)]).toEqual([])
    chunk.fill('x')
    expect([...splitter.push(Buffer.from('c\n'))]).toEqual(['abc'])
  })

  it('is refused before it is held, whatever its end', () => {
    expect(() => [...new LineSplitter(4).push(Buffer.from('abcde\n'))]).toThrow('longer than 4 bytes')
  })

  it('may be shorter the less of a compressed file it comes from', async () => {
    const long = 'x'.repeat(5 * 1024 * 1024)
    const { error } = await read(file(frames(jsonl([HEADER]), long)))
    expect(error).toMatchObject({ line: 2, message: expect.stringContaining('longer than 4194304 bytes') as string })
    const random = randomBytes(2 * 1024 * 1024).toString('hex')
    const { events } = await read(file(frames(jsonl([HEADER, { type: 'a/1', random }, { type: 'a/1', long }]))))
    expect(events).toHaveLength(2)
  })

  it('of 64 MiB and more is refused when a log has one', async () => {
    const long = Buffer.alloc(64 * 1024 * 1024 + 1, 'x')
    const { error } = await read(file(Buffer.concat([Buffer.from(jsonl([HEADER])), long])))
    expect(error).toMatchObject({ line: 2, message: expect.stringContaining('longer than 67108864 bytes') as string })
  })
})

it('a log may be read without listening to its notes', async () => {
  const path = file(jsonl([HEADER, { type: 'a/1' }]).slice(0, -1))
  const batches = []
  for await (const batch of readSessionLog(path)) batches.push(batch)
  expect(batches).toEqual([[{ type: 'a/1' }]])
})
