/** Random bytes, printed and read in random pieces, against one decode of the whole. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readWhole } from '../src/whole-text.ts'
import { ScriptedOutput } from './harness.ts'

const runs = { numRuns: Number(process.env.HUNT_RUNS ?? 25) * 10 }

/** Characters of every length, heads of them, and any byte. */
const bytes = fc
  .array(
    fc.oneof(
      fc.constantFrom('a', 'é', '中', '😀', '\uFFFD').map(text => [...Buffer.from(text)]),
      fc.constantFrom([0xe4, 0xb8], [0xf0, 0x9f, 0x98], [0xf0], [0x80]),
      fc.array(fc.nat({ max: 255 }), { maxLength: 3 }),
    ),
    { maxLength: 12 },
  )
  .map(parts => Uint8Array.from(parts.flat()))

/** Where the stream is cut into what the process writes, and how many reads there are after each. */
const pieces = fc.array(fc.record({ size: fc.nat({ max: 6 }), reads: fc.nat({ max: 2 }) }), { maxLength: 20 })

function decode(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}

it('nothing is damaged, lost or shown twice, and at most three bytes wait for the end', () => {
  fc.assert(
    fc.property(bytes, pieces, (bytes, pieces) => {
      const output = new ScriptedOutput()
      let [printed, offset, all] = [0, 0, '']
      for (const { size, reads } of pieces) {
        output.push(bytes.subarray(printed, printed + size))
        printed = output.bytes.length
        for (let read = 0; read < reads; read += 1) {
          const { text, nextOffset, lossy } = readWhole(output, offset, false)
          expect(nextOffset).toBeGreaterThanOrEqual(offset)
          expect(printed - nextOffset).toBeLessThanOrEqual(3)
          expect(lossy).toBe(false)
          ;[offset, all] = [nextOffset, all + text]
        }
      }
      output.push(bytes.subarray(printed))
      const last = readWhole(output, offset, true)
      expect(last.nextOffset).toBe(bytes.length)
      expect(all + last.text).toBe(decode(bytes))
    }),
    runs,
  )
})

it('a window of memory loses what it must, says so, and holds the end as ever', () => {
  fc.assert(
    fc.property(bytes, pieces, fc.integer({ min: 1, max: 8 }), (bytes, pieces, window) => {
      const output = new ScriptedOutput(window)
      let [printed, offset] = [0, 0]
      for (const { size, reads } of [...pieces, { size: bytes.length, reads: 1 }]) {
        output.push(bytes.subarray(printed, printed + size))
        printed = output.bytes.length
        const start = Math.max(0, printed - window)
        for (let read = 0; read < reads; read += 1) {
          const { text, nextOffset, lossy } = readWhole(output, offset, false)
          expect(lossy).toBe(offset < start)
          expect(nextOffset).toBeGreaterThanOrEqual(Math.max(start, offset))
          expect(printed - nextOffset).toBeLessThanOrEqual(3)
          const shown = bytes.subarray(Math.max(start, offset), printed)
          expect(text + decode(bytes.subarray(nextOffset, printed))).toBe(decode(shown))
          offset = nextOffset
        }
      }
    }),
    runs,
  )
})

it('two who read at the same moment, from wherever, stop at the same place', () => {
  fc.assert(
    fc.property(bytes, pieces, fc.integer({ min: 1, max: 8 }), (bytes, pieces, window) => {
      const output = new ScriptedOutput(window)
      let printed = 0
      const cuts = new Set([0])
      for (const { size } of pieces) {
        output.push(bytes.subarray(printed, printed + size))
        printed = output.bytes.length
        const found = new Set(Array.from(cuts, cut => readWhole(output, cut, false).nextOffset))
        expect([...found]).toHaveLength(1)
        for (const cut of found) cuts.add(cut)
      }
    }),
    runs,
  )
})
