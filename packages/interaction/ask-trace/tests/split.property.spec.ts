import fc from 'fast-check'
import { expect, it } from 'vitest'
import { frame } from '../../../../scripts/bench-support/session-log.ts'
import { createAskTrace } from '../src/index.ts'
import { LineSplitter } from '../src/lines.ts'
import { decodeZstd } from '../src/zstd-decode.ts'
import { ANSWER, asking, request, round, turnEnd, turnStart } from './events.ts'
import { frames, HEADER, jsonl } from './log-files.ts'

const EVENTS = [
  turnStart(1),
  ...asking('a', 'asked 蓝 😀'),
  ...request(),
  round(1),
  ...asking('b', ANSWER),
  ...request(),
  turnEnd(1),
].map((event, seq) => ({ ...event, seq, time: seq }))

const TEXT = Buffer.from(jsonl([HEADER, ...EVENTS]))

/** Cuts at every given place. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map(place => place % bytes.length))].sort((a, b) => a - b)
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length))
}

async function* stream(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  await Promise.resolve()
  yield* chunks
}

function trace(chunks: readonly Buffer[]) {
  const lines = new LineSplitter()
  const fold = createAskTrace()
  for (const chunk of chunks) for (const line of lines.push(chunk)) fold.push(JSON.parse(line))
  return fold.finish()
}

const WHOLE = trace([TEXT])
const places = fc.array(fc.nat(), { maxLength: 60 })

it('a log gives the same trace however its text is cut into chunks', () => {
  expect(WHOLE.asks.map(({ verdict, roundsSpun }) => [verdict, roundsSpun])).toEqual([
    ['lost-in-program', 1],
    ['delivered', 0],
  ])
  fc.assert(
    fc.property(places, at => {
      expect(trace(cut(TEXT, at))).toEqual(WHOLE)
    }),
  )
})

it('a log gives the same trace however it is cut into frames, and the frames into chunks', async () => {
  await fc.assert(
    fc.asyncProperty(places, places, async (frameCuts, chunkCuts) => {
      const chain = Buffer.concat(cut(TEXT, frameCuts).map(frame))
      const plain: Buffer[] = []
      for await (const { plain: piece } of decodeZstd(stream(cut(chain, chunkCuts)), () => undefined)) plain.push(piece)
      expect(trace(plain)).toEqual(WHOLE)
    }),
  )
})

it('a torn log never gives more than the whole one, and never fails', async () => {
  const chain = frames(jsonl([HEADER]), ...EVENTS.map(event => jsonl([event])))
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: chain.length - 1 }), places, async (size, chunkCuts) => {
      const torn: string[] = []
      const plain: Buffer[] = []
      const bytes = chain.subarray(0, size)
      for await (const { plain: piece } of decodeZstd(stream(cut(bytes, chunkCuts)), note => torn.push(note)))
        plain.push(piece)
      const text = Buffer.concat(plain)
      expect(TEXT.subarray(0, text.length).equals(text)).toBe(true)
      expect(torn.length).toBeLessThanOrEqual(1)
    }),
  )
})
