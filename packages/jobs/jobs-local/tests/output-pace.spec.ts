import { describe, expect, it } from 'vitest'
import { FRESH, intervalMs, outputDue, spend, type Pace } from '../src/output-pace.ts'
import { wakeSettings } from '../src/wake-settings.ts'

const WAKE = wakeSettings({ graceMs: 3, maxHoldMs: 10, outputIntervalMs: 100, maxOutputIntervalMs: 400 })
const UNPACED = { ...WAKE, outputIntervalMs: 0 }
const LONG_AGO = -1_000_000

/** A job whose output has ended waits before, at first at 1000. */
const pace = (changes: Partial<Pace>): Pace => ({ ...FRESH, lastEnd: 1000, restMs: 600, ...changes })
const SPENT = pace({ quick: 0, late: 0, slow: 1 })

describe('when output ends a wait', () => {
  it.each([
    ['the first of a job: once it is quiet', 50, 50, LONG_AGO, FRESH, WAKE, 53, 'quick'],
    ['more of it: quiet from then on', 50, 55, LONG_AGO, FRESH, WAKE, 58, 'quick'],
    ['quiet just as it has been held for long enough', 50, 57, LONG_AGO, FRESH, WAKE, 60, 'quick'],
    ['never quiet: held no longer than may be', 50, 58, LONG_AGO, FRESH, WAKE, 60, 'paced'],
    ['unread when the wait began: counts from there', 50, 55, 70, FRESH, WAKE, 73, 'quick'],
    ['unread when the wait began, and more: held from there', 50, 79, 70, FRESH, WAKE, 80, 'paced'],
    ['quiet soon after an end: at once', 1050, 1050, LONG_AGO, pace({}), WAKE, 1053, 'quick'],
    ['quiet, with the last quick end', 1050, 1050, LONG_AGO, pace({ quick: 1 }), WAKE, 1053, 'quick'],
    ['quiet, with no quick end left: paced', 1001, 1001, LONG_AGO, pace({ quick: 0, late: 0 }), WAKE, 1100, 'paced'],
    ['never quiet, soon after a quick end: paced', 1005, 1099, LONG_AGO, pace({}), WAKE, 1100, 'paced'],
    ['long after the last end: not put off', 1150, 1150, LONG_AGO, SPENT, WAKE, 1153, 'paced'],
    [
      'the interval after the second paced end: twice as long',
      1001,
      1001,
      LONG_AGO,
      { ...SPENT, slow: 2 },
      WAKE,
      1200,
      'paced',
    ],
    ['the longest interval', 1001, 1001, LONG_AGO, { ...SPENT, slow: 99 }, WAKE, 1400, 'paced'],
    [
      'a long quiet before the interval is over: late',
      1001,
      1200,
      LONG_AGO,
      pace({ quick: 0, slow: 9 }),
      WAKE,
      1300,
      'late',
    ],
    [
      'a long quiet at the end of the interval: paced',
      1001,
      1300,
      LONG_AGO,
      pace({ quick: 0, slow: 9 }),
      WAKE,
      1400,
      'paced',
    ],
    [
      'a long quiet, with no late end left',
      1001,
      1200,
      LONG_AGO,
      pace({ quick: 0, late: 0, slow: 9 }),
      WAKE,
      1400,
      'paced',
    ],
    [
      'a long quiet that counts from the start of the wait',
      1001,
      1002,
      1150,
      pace({ quick: 0, slow: 9 }),
      WAKE,
      1250,
      'late',
    ],
    [
      'late, but not before it has settled',
      1001,
      1001,
      LONG_AGO,
      pace({ quick: 0, slow: 9 }),
      { ...WAKE, outputIntervalMs: 1 },
      1004,
      'late',
    ],
    ['without pacing: as soon as it has settled', 1001, 1001, LONG_AGO, SPENT, UNPACED, 1004, 'quick'],
    ['without pacing, never quiet', 1001, 1010, LONG_AGO, SPENT, UNPACED, 1011, 'quick'],
  ] as const)('%s', (_name, first, last, startedAt, before, wake, at, by) => {
    expect(outputDue({ first, last }, startedAt, wake, before)).toEqual({ at, by })
  })
})

describe('the interval', () => {
  it.each([
    [0, 100],
    [1, 100],
    [2, 200],
    [3, 400],
    [4, 400],
    [5000, 400],
  ])('after %i ends that were not quick is %i', (slow, interval) => {
    expect(intervalMs({ ...FRESH, slow }, WAKE)).toBe(interval)
  })

  it('is none without pacing, whatever came before', () => {
    expect(intervalMs({ ...FRESH, slow: 5000 }, UNPACED)).toBe(0)
  })
})

describe('an end', () => {
  it.each([
    ['quick', { quick: 2 }],
    ['paced', { slow: 1 }],
    ['late', { slow: 1, late: 1 }],
  ] as const)('that is %s leaves %j', (by, changes) => {
    expect(spend(FRESH, by, 1000, WAKE)).toEqual(pace(changes))
  })

  it('uses up nothing without pacing', () => {
    expect(spend(SPENT, 'quick', 2000, UNPACED)).toBe(SPENT)
  })
})
