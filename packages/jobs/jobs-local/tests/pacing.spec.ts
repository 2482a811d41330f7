/** What waiting for output costs in model steps: an hour of progress lines must not become an hour of model calls. */
import { describe, expect, it } from 'vitest'
import { every, live } from './virtual-model.ts'

const TEN_MINUTES = 600_000
const HOUR = 3_600_000
const PAUSES = [0, 3_000, 12_000, 30_000]
const TIMEOUTS = [30_000, 600_000]

/** Each pause of the model with each timeout of its waits. */
const MODELS = PAUSES.flatMap(pauseMs => TIMEOUTS.map(timeoutMs => ({ pauseMs, timeoutMs })))
const PATIENT = { pauseMs: 0, timeoutMs: 600_000 }

const seconds = (times: readonly number[]) => times.map(time => time / 1_000)

describe('a model that waits for a job again and again is called', () => {
  it('eight times in ten minutes of a dot every 100 ms', async () => {
    const { ends, steps } = await live({ ...PATIENT, prints: every(100), untilMs: TEN_MINUTES })
    expect(seconds(ends)).toEqual([1.1, 11.1, 31.1, 71.1, 151.1, 271.1, 391.1, 511.1])
    expect(steps).toBe(8)
  })

  it.each(MODELS)('at most eight times by ten minutes of dots, with %j', async model => {
    const { ends, steps } = await live({ ...model, prints: every(100), untilMs: TEN_MINUTES })
    expect(ends.length).toBeLessThanOrEqual(8)
    // The rest are timeouts.
    expect(steps).toBeLessThanOrEqual(25)
  })

  it.each(MODELS)('at most 36 times by an hour of a line a second, with %j', async model => {
    const { ends, steps } = await live({ ...model, prints: every(1_000), untilMs: HOUR })
    expect(ends.length).toBeLessThanOrEqual(36)
    expect(steps).toBeLessThanOrEqual(175)
    if (model.pauseMs === 0) expect(ends).toHaveLength(36)
  })

  it('three times in a minute of a line every 50 ms', async () => {
    const { ends } = await live({ ...PATIENT, prints: every(50), untilMs: 60_000 })
    expect(seconds(ends)).toEqual([1.05, 11.05, 31.05])
  })

  it('once by a burst of 100 lines, and once by one line', async () => {
    const burst = Array.from({ length: 100 }, (_, line) => 440 + line)
    expect((await live({ ...PATIENT, prints: burst, untilMs: 60_000 })).ends).toEqual([539 + 250])
    expect((await live({ ...PATIENT, prints: [440], untilMs: 60_000 })).ends).toEqual([440 + 250])
  })

  // Factors of about 1.5 over the whole range, and times next to the windows and intervals.
  const PERIODS = [50, 75, 110, 170, 249, 250, 251, 380, 570, 850, 1_000, 1_250, 1_900, 2_900, 4_300, 6_500]
  const LONG_PERIODS = [10_000, 10_250, 12_000, 15_000, 20_250, 30_000, 40_250, 59_999, 60_250, 60_251, 75_000, 130_000]

  it.each([...PERIODS, ...LONG_PERIODS])('at most 12 times in ten minutes by a line every %i ms', async periodMs => {
    for (const model of MODELS) {
      const { ends, steps } = await live({ ...model, prints: every(periodMs), untilMs: TEN_MINUTES })
      expect(ends.length).toBeLessThanOrEqual(12)
      if (model.timeoutMs === 30_000) expect(steps).toBeLessThanOrEqual(28)
    }
  })

  it.each([1_000, 2_900, ...LONG_PERIODS])('at most 60 times in an hour by a line every %i ms', async periodMs => {
    for (const model of MODELS) {
      const { ends, steps } = await live({ ...model, prints: every(periodMs), untilMs: HOUR })
      expect(ends.length).toBeLessThanOrEqual(60)
      if (model.timeoutMs === 30_000) expect(steps).toBeLessThanOrEqual(178)
    }
  })
})

describe('what a model waits for is read', () => {
  it('at once where it is a header, and then the line that says that the server is ready', async () => {
    const { ends } = await live({ ...PATIENT, prints: [200, 1_600], untilMs: 60_000 })
    expect(seconds(ends)).toEqual([0.45, 1.85])
  })

  it('ten seconds after it was printed, where it is a question after five minutes of dots', async () => {
    const prints = [...every(100, 300_000), 303_000]
    const { ends } = await live({ ...PATIENT, prints, untilMs: TEN_MINUTES })
    expect(seconds(ends).at(-1)).toBe(313)
  })

  it.each(MODELS)('at most ten seconds, or the pause, after it was printed, with %j', async model => {
    const prints = [...every(100, 300_000), 303_000]
    const { readAt } = await live({ ...model, prints, untilMs: TEN_MINUTES })
    expect(readAt.get(303_000)).toBeLessThanOrEqual(313_000 + Math.max(0, model.pauseMs - 3_000))
  })

  it('twice more at ten seconds, and then at the interval, where questions follow each other', async () => {
    const questions = [303_000, 323_000, 343_000, 363_000]
    const { readAt } = await live({ ...PATIENT, prints: [...every(100, 300_000), ...questions], untilMs: TEN_MINUTES })
    expect(questions.map(question => readAt.get(question))).toEqual([313_000, 323_250, 343_250, 363_250])
  })
})
