/** However regularly a job prints, and however its model works, the model is called seldom. */
import { expect, it } from 'vitest'
import fc from 'fast-check'
import { every, live } from './virtual-model.ts'

const course = fc.record({
  // As many short periods as long ones.
  periodMs: fc.double({ min: Math.log(50), max: Math.log(130_000), noNaN: true }).map(log => Math.round(Math.exp(log))),
  pauseMs: fc.constantFrom(0, 3_000, 12_000, 30_000),
  timeoutMs: fc.constantFrom(30_000, 600_000),
})

it('at most 12 times in ten minutes, and 60 in an hour', async () => {
  await fc.assert(
    fc.asyncProperty(course, async ({ periodMs, ...model }) => {
      const untilMs = periodMs < 1_000 ? 600_000 : 3_600_000
      const { ends } = await live({ ...model, prints: every(periodMs), untilMs })
      expect(ends.filter(end => end <= 600_000).length).toBeLessThanOrEqual(12)
      expect(ends.length).toBeLessThanOrEqual(60)
    }),
    { numRuns: Number(process.env.HUNT_RUNS ?? 25) },
  )
}, 60_000)
