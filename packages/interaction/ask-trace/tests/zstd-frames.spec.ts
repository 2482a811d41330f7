import { describe, expect, it } from 'vitest'
import { FrameScanner } from '../src/zstd-frames.ts'

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd]

/** One raw block of three bytes, the last of its frame. */
const BLOCK = [0b11001, 0, 0, 7, 7, 7]

/** RFC 8878, tables 3 and 4: bytes of the content size, and of the dictionary id, for each flag. */
const SIZE_BYTES = [0, 2, 4, 8]
const ID_BYTES = [0, 1, 2, 4]

describe('the end of a frame is found for every header there is', () => {
  const headers = [0, 1, 2, 3].flatMap(size =>
    [false, true].flatMap(single =>
      [false, true].flatMap(checksum => [0, 1, 2, 3].map(id => ({ size, single, checksum, id }))),
    ),
  )

  it.each(headers)('%j', ({ size, single, checksum, id }) => {
    const descriptor = size * 64 + Number(single) * 32 + Number(checksum) * 4 + id
    const sizeBytes = size === 0 && single ? 1 : (SIZE_BYTES[size] ?? 0)
    const rest = Array.from({ length: Number(!single) + (ID_BYTES[id] ?? 0) + sizeBytes }, () => 0xff)
    const frame = [descriptor, ...rest, ...BLOCK, ...(checksum ? [1, 2, 3, 4] : [])]
    const bytes = Buffer.from([...MAGIC, ...frame, ...MAGIC, ...frame])

    for (const chunkBytes of [1, bytes.length]) {
      const scanner = new FrameScanner()
      const found: number[][] = [[]]
      for (let at = 0; at < bytes.length; at += chunkBytes) {
        for (const piece of scanner.push(bytes.subarray(at, at + chunkBytes))) {
          found.at(-1)?.push(...piece.bytes)
          if (piece.last) found.push([])
        }
      }
      expect(found).toEqual([frame, frame, []])
      expect(scanner.openFrame).toBeUndefined()
    }
  })
})

it('a frame costs its size and the most that it can grow to', () => {
  const compressed = Buffer.from([...MAGIC, 0, 0x58, 0b10101, 0, 0, 1, 2])
  const [piece] = new FrameScanner().push(compressed)
  expect(piece).toMatchObject({ last: true, start: 0, cost: 128 * 1024 + compressed.length - 4 })
})
