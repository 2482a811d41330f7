import { describe, expect, it } from 'vitest'
import { wakeSettings } from '../src/wake-settings.ts'

const LONGEST = 2 ** 31 - 1

describe('the wake options of a wait', () => {
  it('have the documented defaults', () => {
    expect(wakeSettings({})).toEqual({
      output: false,
      steer: false,
      graceMs: 250,
      maxHoldMs: 1_000,
      outputIntervalMs: 10_000,
      maxOutputIntervalMs: 120_000,
    })
  })

  it('are kept as given, from the least to the longest time', () => {
    const least = { output: true, steer: true, graceMs: 0, maxHoldMs: 0, outputIntervalMs: 0, maxOutputIntervalMs: 0 }
    const longest = {
      ...least,
      graceMs: LONGEST,
      maxHoldMs: LONGEST,
      outputIntervalMs: LONGEST,
      maxOutputIntervalMs: LONGEST,
    }
    expect(wakeSettings(least)).toEqual(least)
    expect(wakeSettings(longest)).toEqual(longest)
  })

  it('let the interval grow to two minutes, or not at all if it is longer from the start', () => {
    expect(wakeSettings({ outputIntervalMs: 5 }).maxOutputIntervalMs).toBe(120_000)
    expect(wakeSettings({ outputIntervalMs: 300_000 }).maxOutputIntervalMs).toBe(300_000)
  })

  const times = ['graceMs', 'maxHoldMs', 'outputIntervalMs', 'maxOutputIntervalMs'] as const
  const bad = [-1, NaN, Infinity, LONGEST + 1, '5' as unknown as number]
  it.each(times.flatMap(name => bad.map(value => [name, value] as const)))(
    'are refused by name if %s is %s',
    (name, value) => {
      expect(() => wakeSettings({ [name]: value })).toThrow(`invalid ${name}: expected milliseconds from`)
    },
  )

  it('are refused if the interval would have to shrink', () => {
    expect(() => wakeSettings({ outputIntervalMs: 500, maxOutputIntervalMs: 499 })).toThrow(
      'invalid maxOutputIntervalMs: expected milliseconds from 500 to 2147483647, got 499',
    )
    expect(() => wakeSettings({ maxOutputIntervalMs: 9_999 })).toThrow('invalid maxOutputIntervalMs')
  })
})
