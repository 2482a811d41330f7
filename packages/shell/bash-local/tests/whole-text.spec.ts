import { describe, expect, it } from 'vitest'
import type { SubprocessOutputRead, SubprocessOutputReader } from '@deepseek-ai/dsh-subprocess'
import { readWhole } from '../src/whole-text.ts'

/** A stream that the test prints to. It keeps the newest bytes, up to its window, and decodes as the known providers do. */
class Stream implements SubprocessOutputReader {
  bytes = Buffer.alloc(0)
  /** Every offset that was asked for. */
  readonly asked: number[] = []
  private readonly window: number
  private readonly spillPath: string | undefined
  private offset = 0

  constructor(window = Infinity, spillPath?: string) {
    this.window = window
    this.spillPath = spillPath
  }

  print(...bytes: number[]): this {
    this.bytes = Buffer.concat([this.bytes, Buffer.from(bytes)])
    return this
  }

  readFrom(from: number): SubprocessOutputRead {
    this.asked.push(from)
    const start = Math.max(0, this.bytes.length - this.window)
    const text = this.bytes.subarray(Math.max(start, from)).toString('utf8')
    const spill = this.spillPath === undefined ? {} : { spillPath: this.spillPath }
    return { text, nextOffset: this.bytes.length, lossy: from < start, ...spill }
  }

  /** The next read of a consumer. */
  read(isSettled = false): SubprocessOutputRead {
    const read = readWhole(this, this.offset, isSettled)
    this.offset = read.nextOffset
    return read
  }

  /** The text of the next read. */
  text(isSettled = false): string {
    return this.read(isSettled).text
  }
}

function bytesOf(text: string): number[] {
  return [...Buffer.from(text)]
}

describe('a read in whole characters', () => {
  it.each(['é', '€', '中', '😀', 'a中b😀c', '\uFEFF中'])(
    'never ends inside a character, wherever it falls: %s',
    (text: string) => {
      const stream = new Stream()
      const reads = bytesOf(text).map(byte => stream.print(byte).text())
      expect([...reads, stream.text(true)].filter(read => read !== '')).toEqual(Array.from(text))
    },
  )

  it.each([
    ['two bytes', [0xc3], 1],
    ['three bytes, one printed', [0xe4], 1],
    ['three bytes, two printed', [0xe4, 0xb8], 2],
    ['four bytes, one printed', [0xf0], 1],
    ['four bytes, two printed', [0xf0, 0x9f], 2],
    ['four bytes, three printed', [0xf0, 0x9f, 0x98], 3],
  ])('leaves exactly the printed part of a character unread: %s', (_case, head, held) => {
    const stream = new Stream().print(...bytesOf('中'), ...head)
    expect(stream.read()).toEqual({ text: '中', nextOffset: 3 + head.length - held, lossy: false })
    expect(stream.read()).toEqual({ text: '', nextOffset: 3, lossy: false })
  })

  it('gives half a character out as U+FFFD once the process has ended', () => {
    const stream = new Stream().print(...bytesOf('中'), 0xf0, 0x9f)
    expect(stream.text()).toBe('中')
    expect(stream.text(true)).toBe('\uFFFD')
  })

  it.each([
    ['U+FFFD itself', bytesOf('\uFFFD')],
    ['a byte that begins no character', [0xff]],
    ['a byte that continues none', [0x80]],
  ])('gives %s out with the next byte, or at the end', (_case, bytes) => {
    const followed = new Stream().print(...bytes)
    expect(followed.text()).toBe('')
    expect(followed.print(0x21).text()).toBe('\uFFFD!')
    const last = new Stream().print(...bytes)
    expect(last.text()).toBe('')
    expect(last.text(true)).toBe('\uFFFD')
  })

  it('shows invalid bytes as one decode of the whole does', () => {
    const bytes = [0x61, 0xff, 0xe4, 0xb8, 0x62, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf4, 0x90, 0x80, 0x80, 0x63]
    const stream = new Stream()
    const text = bytes.map(byte => stream.print(byte).text()).join('') + stream.text(true)
    expect(text).toBe(Buffer.from(bytes).toString('utf8'))
  })

  it('costs one read of the stream, unless a character is incomplete', () => {
    const stream = new Stream().print(...bytesOf('中 done\n'))
    stream.read()
    stream.print(0xe4).read(true)
    expect(stream.asked).toEqual([0, 9])
  })

  it('looks at no byte that was read before', () => {
    const stream = new Stream().print(...bytesOf('\uFFFD\uFFFD'), 0x61).print()
    stream.read()
    stream.print(0xe4, 0xb8)
    stream.asked.length = 0
    stream.read()
    expect(stream.asked).toEqual([7, 7])
  })
})

describe('a read that lost the beginning', () => {
  it('begins where memory begins, and holds the end as any other', () => {
    const stream = new Stream(4, '/spill').print(...bytesOf('中中'), 0xe4)
    expect(stream.read()).toEqual({ text: '中', nextOffset: 6, lossy: true, spillPath: '/spill' })
    expect(stream.print(0xb8, 0xad).read()).toEqual({ text: '中', nextOffset: 9, lossy: false, spillPath: '/spill' })
  })

  it('shows what is left of a character whose head is gone', () => {
    const stream = new Stream(4).print(...bytesOf('😀!'))
    expect(stream.read()).toEqual({ text: '\uFFFD\uFFFD\uFFFD!', nextOffset: 5, lossy: true })
  })

  it('says so, too, when the bytes that were held are gone', () => {
    const stream = new Stream(4).print(0xe4, 0xb8)
    expect(stream.read()).toEqual({ text: '', nextOffset: 0, lossy: false })
    expect(stream.print(...bytesOf('!!!')).read()).toEqual({ text: '\uFFFD!!!', nextOffset: 5, lossy: true })
  })

  it('holds one byte where memory has room for fewer than three', () => {
    const stream = new Stream(2).print(0xf0, 0x9f, 0x98)
    expect(stream.read()).toEqual({ text: '\uFFFD', nextOffset: 2, lossy: true })
    expect(stream.text(true)).toBe('\uFFFD')
  })
})

describe('every short sequence of bytes', () => {
  /** One byte of each kind that the decoder treats differently, and the bounds of those kinds. */
  const KINDS = [
    ...[0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbd, 0xbf, 0xc0, 0xc2, 0xdf],
    ...[0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff],
  ]

  function* sequences(length: number): Generator<readonly number[]> {
    if (length === 0) yield []
    else for (const head of sequences(length - 1)) for (const byte of KINDS) yield [...head, byte]
  }

  /** Whether some bytes make one character of it. */
  function isHead(bytes: readonly number[]): boolean {
    return [1, 2, 3].some(missing =>
      [0x80, 0x90, 0xa0].some((byte: number) => {
        const text = Buffer.from([...bytes, byte, 0x80, 0x80].slice(0, bytes.length + missing)).toString('utf8')
        return Array.from(text).length === 1 && text !== '\uFFFD'
      }),
    )
  }

  const HEADS = new Set([1, 2, 3].flatMap(length => [...sequences(length)].filter(isHead).map(String)))

  /** What is wrong with a read that ends behind these bytes. */
  function faults(bytes: readonly number[]): string[] {
    const stream = new Stream().print(...bytes)
    const { text, nextOffset } = stream.read()
    const head = [3, 2, 1].find(length => HEADS.has(String(bytes.slice(-length))) && length <= bytes.length)
    const isCut = [undefined, ...KINDS].every((next: number | undefined) => {
      const rest = next === undefined ? [] : [next]
      const later = Buffer.from([...bytes.slice(nextOffset), ...rest]).toString('utf8')
      return text + later === Buffer.from([...bytes, ...rest]).toString('utf8')
    })
    return [
      ...(isCut ? [] : [`${String(bytes)} is cut badly at ${nextOffset}`]),
      ...(bytes.length - nextOffset > 3 ? [`${String(bytes)} leaves more than a character`] : []),
      ...(head !== undefined && bytes.length - nextOffset !== head ? [`${String(bytes)} does not hold ${head}`] : []),
    ]
  }

  it('knows the heads of characters', () => {
    expect([[0xc2], [0xe0, 0xa0], [0xf4, 0x8f, 0xbf]].map(isHead)).toEqual([true, true, true])
    expect([[0xc0], [0xe0, 0x80], [0xf4, 0x90], [0x80], [0x7f]].some(isHead)).toBe(false)
  })

  it.each([1, 2, 3])(
    'of length %i is cut where the decode of the whole allows it, before an incomplete character',
    (length: number) => {
      expect([...sequences(length)].flatMap(faults)).toEqual([])
    },
  )
})
