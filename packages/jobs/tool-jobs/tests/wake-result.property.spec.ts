import { expect, it } from 'vitest'
import fc from 'fast-check'
import type { JobRead } from '@deepseek-ai/dsh-jobs'
import { wakeOf, type WakeSettings } from '../src/wake-result.ts'

const ms = fc.oneof(fc.integer({ min: 0, max: 700_000 }), fc.double({ min: 0, max: 700_000, noNaN: true }))
const settings = { deliver: 'wrap' } as WakeSettings
const read = { text: 'a line\n', snapshot: { status: 'running' } } as JobRead

it('after output, no suggestion repeats the call, is over the longest wait, or below a second', () => {
  const property = fc.property(ms, ms, ms, ms, fc.option(ms, { nil: undefined }), (...times) => {
    const [timeout, max, waitedMs, nextOutputWakeMs, resumeTimeoutMs] = times
    const timeoutMs = Math.min(timeout, max)
    const ended = { wokenBy: 'output', timeoutMs, maxTimeoutMs: max, waitedMs, nextOutputWakeMs } as const
    const configured = resumeTimeoutMs === undefined ? {} : { resumeTimeoutMs }
    const { resumeTimeoutMs: suggested } = wakeOf(ended, read, { ...settings, ...configured }) ?? {}
    if (suggested === undefined) return
    expect(suggested).not.toBe(timeoutMs)
    expect(suggested).toBeLessThanOrEqual(max)
    expect(suggested).toBeGreaterThanOrEqual(1_000)
    expect(suggested).toSatisfy(Number.isInteger)
  })
  fc.assert(property, { numRuns: Number(process.env.HUNT_RUNS ?? 200) })
})
