/** What waiting for output costs in model steps: an hour of progress lines must not become an hour of model calls. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { JobWakeOptions } from '@deepseek-ai/dsh-jobs'
import { mountJobs, StreamProducer } from './harness.ts'

type Print = (text: string) => void

const printers: Record<string, (print: Print) => void> = {
  'a line every 50 ms': print =>
    void setInterval(() => {
      print('line\n')
    }, 50),
  'a line a second': print =>
    void setInterval(() => {
      print('line\n')
    }, 1000),
  'a burst of 100 lines, then silence': print =>
    void setTimeout(() => {
      print('line\n'.repeat(100))
    }, 440),
  'one line after 0.44 s, then silence': print =>
    void setTimeout(() => {
      print('line\n')
    }, 440),
}

/** Wait and read in a loop for a minute, as a model does that answers at once. */
async function stepsInAMinute(print: (print: Print) => void, wake: JobWakeOptions): Promise<number> {
  const { ctx } = await mountJobs()
  vi.useFakeTimers()
  const producer = new StreamProducer()
  const id = ctx.jobs.start(producer.spec())
  print(text => {
    producer.print(text)
  })
  let steps = 0
  const loop = async () => {
    for (;;) {
      const { wokenBy } = await ctx.jobs.wait(id, 600_000, undefined, undefined, { output: true, ...wake })
      expect(wokenBy).toBe('output')
      expect(ctx.jobs.read(id).text).not.toBe('')
      steps += 1
    }
  }
  void loop()
  await vi.advanceTimersByTimeAsync(60_000)
  return steps
}

beforeEach(() => void vi.useRealTimers())
afterEach(() => void vi.useRealTimers())

describe('model steps in a minute of waiting for output', () => {
  it.each([
    ['a line every 50 ms', 6],
    ['a line a second', 6],
    ['a burst of 100 lines, then silence', 1],
    ['one line after 0.44 s, then silence', 1],
  ])('%s: %i with the defaults', async (printer, steps) => {
    expect(await stepsInAMinute(printers[printer] ?? expect.unreachable(), {})).toBe(steps)
  })

  // The documented defaults of the community plugin, for comparison.
  const unpaced: JobWakeOptions = { pollMs: 200, graceMs: 1000, maxHoldMs: 1000, outputIntervalMs: 0 }
  it.each([
    ['a line every 50 ms', 50],
    ['a line a second', 30],
    ['a burst of 100 lines, then silence', 1],
    ['one line after 0.44 s, then silence', 1],
  ])('%s: %i with a 200 ms poll, 1 s of grace and no pacing', async (printer, steps) => {
    expect(await stepsInAMinute(printers[printer] ?? expect.unreachable(), unpaced)).toBe(steps)
  })
})
