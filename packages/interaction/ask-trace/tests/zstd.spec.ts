import { randomBytes } from 'node:crypto'
import { createZstdDecompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { frame } from '../../../../scripts/bench-support/session-log.ts'
import { decodeZstd } from '../src/zstd-decode.ts'
import { frames } from './log-files.ts'

vi.setConfig({ testTimeout: 30_000 })

/** Chunks of a size, as a file gives them. */
async function* chunks(bytes: Buffer, size = bytes.length): AsyncGenerator<Buffer> {
  await Promise.resolve()
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function decoded(bytes: Buffer, size?: number) {
  const plain: Buffer[] = []
  const notes: string[] = []
  const torn = () => notes.flatMap(note => /^the file ends inside the zstd frame at byte (\d+)/.exec(note)?.[1] ?? [])
  try {
    for await (const { plain: piece } of decodeZstd(chunks(bytes, size), note => notes.push(note))) plain.push(piece)
    return { plain: Buffer.concat(plain), torn: torn().map(Number), notes }
  } catch (error) {
    return { plain: Buffer.concat(plain), torn: torn().map(Number), notes, error }
  }
}

/** A frame of raw and repeated blocks, put together by hand. */
function handmade(blocks: readonly { type: 0 | 1 | 3; size: number; bytes: Buffer }[]): Buffer {
  const parts = blocks.map(({ type, size, bytes }, index) => {
    const header = Buffer.alloc(3)
    header.writeUIntLE(size * 8 + type * 2 + Number(index === blocks.length - 1), 0, 3)
    return Buffer.concat([header, bytes])
  })
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58]), ...parts])
}

const INCOMPRESSIBLE = randomBytes(6 * 1024 * 1024)

describe('why frames are taken one by one', () => {
  it('Node decodes the first frame of a chain and drops the rest without an error', async () => {
    const chain = frames('one\n', 'two\n')
    expect(zstdDecompressSync(chain).toString()).toBe('one\n')
    const stream = createZstdDecompress()
    stream.end(chain)
    expect(Buffer.concat((await stream.toArray()) as Buffer[]).toString()).toBe('one\n')
  })

  it('Node 22 takes a frame that is cut short for a whole one; Node 24 does not', () => {
    const text = 'one\n'.repeat(100)
    const decode = () => zstdDecompressSync(frame(Buffer.from(text)).subarray(0, -9)).toString()
    if (process.versions.node.startsWith('22.')) expect(decode()).not.toBe(text)
    else expect(decode).toThrow('unexpected end of file')
  })
})

describe('a chain of frames', () => {
  it.each([1, 2, 3, 7, 1000])('is decoded whole when it comes in chunks of %i bytes', async size => {
    const texts = Array.from({ length: 50 }, (_, n) => `line ${n} ${'x'.repeat(n * 20)}\n`)
    expect(await decoded(frames(...texts), size)).toEqual({ plain: Buffer.from(texts.join('')), torn: [], notes: [] })
  })

  it.each([
    ['no checksum', zstdCompressSync(Buffer.from('plain\n'))],
    ['one window only', zstdCompressSync(Buffer.from('plain\n'), { pledgedSrcSize: 6 })],
    ['an empty text', frame(Buffer.alloc(0))],
    ['a repeated block', handmade([{ type: 1, size: 1000, bytes: Buffer.from('x') }])],
    [
      'raw blocks',
      handmade([
        { type: 0, size: 3, bytes: Buffer.from('abc') },
        { type: 0, size: 0, bytes: Buffer.alloc(0) },
      ]),
    ],
    ['a large text', frame(INCOMPRESSIBLE)],
    ['a large text of little', frame(Buffer.alloc(20 * 1024 * 1024, 'x'))],
  ])('may hold a frame of %s', async (_, middle) => {
    const chain = Buffer.concat([frames('before\n'), middle, frames('after\n')])
    const expected = Buffer.concat([Buffer.from('before\n'), zstdDecompressSync(middle), Buffer.from('after\n')])
    for (const size of [5_000, 65_536, chain.length]) {
      const { plain, torn, error } = await decoded(chain, size)
      expect([plain.equals(expected), torn, error]).toEqual([true, [], undefined])
    }
  })

  it.each([0, 1, 300])('skips a frame of %i bytes that holds no data', async length => {
    const skippable = Buffer.alloc(8 + length)
    skippable.writeUInt32LE(0x184d2a53, 0)
    skippable.writeUInt32LE(length, 4)
    const chain = Buffer.concat([skippable, frames('one\n'), skippable, frames('two\n'), skippable])
    for (const size of [1, 7, chain.length]) {
      expect(await decoded(chain, size)).toEqual({
        plain: Buffer.from('one\ntwo\n'),
        torn: [],
        notes: ['3 zstd frames without data (skippable) were passed over'],
      })
    }
  })
})

it('no more of a frame is decoded at once than a small frame may hold', async () => {
  const sizes: number[] = []
  for await (const { plain } of decodeZstd(chunks(frame(Buffer.alloc(64 * 1024 * 1024, 'x'))), () => undefined)) {
    sizes.push(plain.length)
  }
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(64 * 1024 * 1024)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(4 * 1024 * 1024)
})

describe('a file that ends inside a frame', () => {
  it('gives the frames before it, and says where it starts', async () => {
    const first = frame(Buffer.from('one\n'))
    const second = frame(Buffer.from('two\n'))
    for (let cut = 1; cut < second.length; cut += 1) {
      const { plain, torn, error } = await decoded(Buffer.concat([first, second.subarray(0, cut)]), 5)
      expect([plain.toString().slice(0, 4), torn, error]).toEqual(['one\n', [first.length], undefined])
    }
  })

  it('gives what can be decoded of the frame itself', async () => {
    const large = frame(INCOMPRESSIBLE)
    for (const cut of [1_000_000, 5_000_000]) {
      const { plain, torn } = await decoded(large.subarray(0, cut), 65_536)
      expect(plain.length).toBeGreaterThan(cut - 200_000)
      expect(INCOMPRESSIBLE.subarray(0, plain.length).equals(plain)).toBe(true)
      expect(torn).toEqual([0])
    }
  })
})

describe('a damaged chain', () => {
  const good = frames('one\n')

  it.each([
    ['bytes that begin no frame', Buffer.from('junk!'), 'no zstd frame begins at byte'],
    ['a reserved bit', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0b1000]), 'uses a reserved bit'],
    ['a reserved block type', handmade([{ type: 3, size: 1, bytes: Buffer.from('x') }]), 'a block of a reserved type'],
    ['a block that is too long', handmade([{ type: 1, size: 131_073, bytes: Buffer.from('x') }]), 'more than 128 KiB'],
    ['a wrong checksum in a small frame', spoiled(frame(Buffer.from('two\n'))), 'checksum'],
    ['a wrong checksum in a large frame', spoiled(frame(INCOMPRESSIBLE)), 'checksum'],
  ])('gives what stands before %s, and then the defect', async (_, bad, message) => {
    const { plain, error } = await decoded(Buffer.concat([good, bad, good]), 65_536)
    expect(plain.subarray(0, 4).toString()).toBe('one\n')
    expect(error).toMatchObject({ name: 'SessionLogError', message: expect.stringContaining(message) as string })
    expect(error).toMatchObject({ message: expect.stringContaining(`byte ${good.length}`) as string })
  })

  it('ends where a large frame breaks off into no structure', async () => {
    const broken = Buffer.concat([frame(INCOMPRESSIBLE).subarray(0, 5_500_000), Buffer.alloc(1_000_000, 0xff)])
    const { error } = await decoded(broken, 65_536)
    expect(error).toMatchObject({ name: 'SessionLogError', message: expect.stringMatching(/^damaged: /) as string })
  })

  function spoiled(bytes: Buffer): Buffer {
    const last = bytes.length - 1
    bytes.writeUInt8(bytes.readUInt8(last) ^ 1, last)
    return bytes
  }
})

describe('a compression bomb', () => {
  const bomb = (mib: number) => frame(Buffer.alloc(mib * 1024 * 1024, 'x\n'))

  it('is refused once it has unpacked to more than 64 MiB and a thousand times its size', async () => {
    const bytes = bomb(80)
    expect(bytes.length).toBeLessThan(20_000)
    const { plain, error } = await decoded(bytes)
    expect(plain.length).toBeLessThanOrEqual(64 * 1024 * 1024)
    expect(error).toMatchObject({
      name: 'SessionLogError',
      message: expect.stringMatching(/^a compression bomb: /) as string,
    })
  })

  it('is refused in many small frames too', async () => {
    const { error } = await decoded(Buffer.concat(Array.from({ length: 40 }, () => bomb(2))))
    expect(error).toMatchObject({ message: expect.stringMatching(/^a compression bomb: /) as string })
  })

  it('is no large log that was packed well', async () => {
    const { plain, error } = await decoded(Buffer.concat([frame(randomBytes(200_000)), bomb(80)]))
    expect([plain.length, error]).toEqual([200_000 + 80 * 1024 * 1024, undefined])
  })
})

it('a reader that stops early lets go of the file', async () => {
  let open = true
  async function* source() {
    try {
      yield* chunks(frames('one\n', 'two\n', 'three\n'), 8)
    } finally {
      open = false
    }
  }
  const plain = decodeZstd(source(), () => undefined)
  await plain.next()
  await plain.return(undefined)
  expect(open).toBe(false)
})
