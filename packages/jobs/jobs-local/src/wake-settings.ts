/**
 * The wake options of a wait, checked and complete.
 * @module @deepseek-ai/dsh-jobs-local/wake-settings
 */
import type { JobWakeOptions } from '@deepseek-ai/dsh-jobs'
import { MAX_TIMER_DELAY_MS } from '@deepseek-ai/dsh-timeout'

/** Wake options without a gap. */
export type WakeSettings = Required<JobWakeOptions>

/**
 * Check wake options and fill in the defaults.
 * @param options - as the caller gave them.
 * @returns the complete settings.
 * @throws for a time out of range, by its name.
 */
export function wakeSettings(options: JobWakeOptions): WakeSettings {
  const timeOf = (name: Exclude<keyof JobWakeOptions, 'output' | 'steer'>, fallback: number, least = 0) => {
    const value = options[name] ?? fallback
    if (Number.isFinite(value) && value >= least && value <= MAX_TIMER_DELAY_MS) return value
    throw new Error(`invalid ${name}: expected milliseconds from ${least} to ${MAX_TIMER_DELAY_MS}, got ${value}`)
  }
  const outputIntervalMs = timeOf('outputIntervalMs', 10_000)
  return {
    output: options.output ?? false,
    steer: options.steer ?? false,
    graceMs: timeOf('graceMs', 250),
    maxHoldMs: timeOf('maxHoldMs', 1_000),
    outputIntervalMs,
    maxOutputIntervalMs: timeOf('maxOutputIntervalMs', Math.max(120_000, outputIntervalMs), outputIntervalMs),
  }
}
