/**
 * The early end of a `job_output` wait: what ends it, what the model is told, and the settings of both.
 *
 * | the wait ended by | `deliver` | the value's `wake`   |
 * | ----------------- | --------- | -------------------- |
 * | a steer           | any       | `STEER_PREEMPTED`    |
 * | output            | `wrap`    | `JOB_OUTPUT_RESUMED` |
 * | output            | `cut`     | none                 |
 * | output            | `off`     | it does not end so   |
 * | anything else     | any       | none                 |
 *
 * A job that has ended by the time of the read gives no `wake`: its result is the news.
 * @module @deepseek-ai/dsh-tool-jobs/wake-result
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { JobId, JobRegistry, JobSnapshot, JobWaitResult, JobWakeOptions } from '@deepseek-ai/dsh-jobs'
import type { ParameterSchemaSpec, ValueSchemaSpec } from '@deepseek-ai/dsh-tools'
import z from '@deepseek-ai/schemastery'

/** Configures which events end a wait early, and how patiently. */
export interface WakeConfig {
  /** Whether a message of the agent's user ends its waits (default true). */
  wakeOnSteer?: boolean
  /** What new output does: end the wait and say so, end it as an ordinary read, or nothing (default `wrap`). */
  deliver?: 'wrap' | 'cut' | 'off'
  /** Settle window after a trigger, in milliseconds (default 250). */
  graceMs?: number
  /** Longest time output is held back while the job keeps printing, in milliseconds (default 1,000). */
  maxHoldMs?: number
  /** At most one wake by output per job in this time, in milliseconds (default 10,000; 0 = no pacing). */
  outputIntervalMs?: number
  /** Poll interval for a producer that gives no signal, in milliseconds (default 200). */
  pollMs?: number
  /** The next `timeout_ms` to suggest after a wake by output, in milliseconds (default: none is suggested). */
  resumeTimeoutMs?: number
}

/** Node's timers turn a longer delay into one millisecond. */
const MAX_DELAY_MS = 2_147_483_647

const delay = (minMs: number) => z.number().min(minMs).max(MAX_DELAY_MS)

/** The settings' part of the plugin's schema. */
export const WAKE_FIELDS = {
  wakeOnSteer: z.boolean().default(true),
  deliver: z.union(['wrap', 'cut', 'off'] as const).default('wrap'),
  graceMs: delay(0).default(250),
  maxHoldMs: delay(0).default(1_000),
  outputIntervalMs: delay(0).default(10_000),
  pollMs: delay(1).default(200),
  resumeTimeoutMs: delay(0),
}

/** The settings with every default in place. */
export type WakeSettings = Required<Omit<WakeConfig, 'resumeTimeoutMs'>> & Pick<WakeConfig, 'resumeTimeoutMs'>

const DELAYS = ['graceMs', 'maxHoldMs', 'outputIntervalMs', 'pollMs', 'resumeTimeoutMs'] as const

/**
 * Put the defaults in place.
 * @param config - the plugin's configuration.
 * @returns the settings.
 * @throws an error that names the field, if a value is out of range.
 */
export function wakeSettings(config: WakeConfig): WakeSettings {
  const settings = z.object(WAKE_FIELDS)(config)
  // No range of a schema keeps NaN out.
  const field = DELAYS.find(delayField => Number.isNaN(settings[delayField]))
  if (field !== undefined) throw new Error(`tool-jobs: ${field} (NaN) must be a number of milliseconds`)
  return settings
}

/** What a wait that was woken early tells the model and its programs. Times are whole milliseconds. */
export interface JobWake {
  /** What woke it: a message of the user, or output of the job. */
  code: 'STEER_PREEMPTED' | 'JOB_OUTPUT_RESUMED'
  /** How long the wait took. */
  waitedMs: number
  /** What was left of the time it was given. */
  remainingMs: number
  /** The suggested `timeout_ms` of the next wait. */
  resumeTimeoutMs?: number
}

/** The `wake` of the output schema. */
export const WAKE_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  description: 'Present when the wait ended early, with the job still alive.',
  properties: {
    code: {
      type: 'string',
      required: true,
      enum: ['STEER_PREEMPTED', 'JOB_OUTPUT_RESUMED'],
      description: 'The user has sent a message, or the job printed output.',
    },
    waitedMs: { type: 'integer', required: true, description: 'How long the wait took.' },
    remainingMs: { type: 'integer', required: true, description: 'What was left of the time the wait was given.' },
    resumeTimeoutMs: { type: 'integer', description: 'Suggested timeout_ms of the next wait.' },
  },
} as const satisfies ValueSchemaSpec

/**
 * Say in one sentence what ends a wait early and what to do then.
 * @param settings - the settings.
 * @returns the sentence, after a blank; nothing if no wait ends early.
 */
export function earlyEndNote({ wakeOnSteer, deliver }: WakeSettings): string {
  const events = [
    ...(deliver === 'off' ? [] : ['the job prints output']),
    ...(wakeOnSteer ? ['the user sends a message'] : []),
  ]
  if (events.length === 0) return ''
  return (
    ` A wait may come back early, when ${events.join(' or ')}, with the job still running:`
    + ' use what it returned, do what its [wake: ...] line says if it has one, and wait again only if you still need to.'
  )
}

/**
 * The parameter with which a model asks for the end only.
 * @param settings - the settings.
 * @returns `wake_on_output`; no parameter where output never ends a wait.
 */
export function wakeParameters({ wakeOnSteer, deliver }: WakeSettings) {
  const others = wakeOnSteer ? 'completion, timeout or a message of the user' : 'completion or timeout'
  return {
    ...(deliver !== 'off' && {
      wake_on_output: {
        type: 'boolean',
        description:
          'With wait: whether new output ends the wait (default true). Leave it on to follow progress or to notice trouble'
          + ` early; set false when you need only the end, of a build or a test run say: then only ${others} ends it.`,
      },
    }),
  } as const satisfies ParameterSchemaSpec
}

/** One wait of `job_output`. */
export interface WaitCall {
  readonly id: JobId
  /** The time it is given, in milliseconds. */
  readonly timeoutMs: number
  readonly caller: Agent | undefined
  readonly signal: AbortSignal
  /** The call's `wake_on_output`. */
  readonly wakeOnOutput: boolean | undefined
}

/** How a wait ended. */
export interface EndedWait {
  readonly wokenBy: JobWaitResult['wokenBy']
  readonly waitedMs: number
  readonly timeoutMs: number
}

/** Which events end a wait, in the registry's terms; none at all if the settings and the call ask for none. */
function wakeOptions(settings: WakeSettings, wakeOnOutput = true): JobWakeOptions | undefined {
  const { wakeOnSteer: steer, graceMs, maxHoldMs, outputIntervalMs } = settings
  const output = settings.deliver !== 'off' && wakeOnOutput
  return output || steer ? { output, steer, graceMs, maxHoldMs, outputIntervalMs } : undefined
}

/**
 * Wait for a job as the settings and the call say.
 * @param jobs - the registry.
 * @param settings - the settings.
 * @param call - the wait.
 * @returns how it ended. Whatever the registry rejects with is passed on.
 */
export async function waitForJob(jobs: JobRegistry, settings: WakeSettings, call: WaitCall): Promise<EndedWait> {
  const { id, timeoutMs, caller, signal, wakeOnOutput } = call
  const startedAt = performance.now()
  const { wokenBy } = await jobs.wait(id, timeoutMs, caller, signal, wakeOptions(settings, wakeOnOutput))
  return { wokenBy, waitedMs: performance.now() - startedAt, timeoutMs }
}

/**
 * What the result says about an early end.
 * @param ended - how the wait ended.
 * @param status - the job's status at the read that followed.
 * @param settings - the settings.
 * @returns the value's `wake`, if it has one.
 */
export function wakeOf(
  { wokenBy, waitedMs, timeoutMs }: EndedWait,
  status: JobSnapshot['status'],
  { deliver, resumeTimeoutMs = 0 }: WakeSettings,
): JobWake | undefined {
  if (wokenBy === undefined || (status !== 'running' && status !== 'stopping')) return undefined
  const times = { waitedMs: Math.floor(waitedMs), remainingMs: Math.max(0, Math.floor(timeoutMs - waitedMs)) }
  if (wokenBy === 'steer') return { code: 'STEER_PREEMPTED', ...times }
  if (deliver === 'cut') return undefined
  const resume = Math.min(Math.floor(resumeTimeoutMs), times.remainingMs)
  return { code: 'JOB_OUTPUT_RESUMED', ...times, ...(resume > 0 && { resumeTimeoutMs: resume }) }
}

/** The line that tells the model what happened and what to do. */
function wakeLine({ code, remainingMs, resumeTimeoutMs }: JobWake): string {
  switch (code) {
    case 'STEER_PREEMPTED':
      return `[wake: ${code}; the user has sent a message; finish this step so that it can be read; the job goes on]`
    case 'JOB_OUTPUT_RESUMED': {
      const next = resumeTimeoutMs === undefined ? 'wait again' : `wait again with timeout_ms ${resumeTimeoutMs}`
      return (
        `[wake: ${code}; the job printed output and is still running; ${remainingMs} ms of the wait were left;`
        + ` ${next} for more, or with wake_on_output: false for the end only]`
      )
    }
  }
}

/**
 * What follows the text of a read: the wake line, whole or not at all, and the status line.
 * @param wake - the value's `wake`, if it has one.
 * @param statusLine - the status line.
 * @param limit - most UTF-8 bytes for both; the status line is left whole even above it.
 * @returns the lines, each with its newline before it.
 */
export function resultEnding(wake: JobWake | undefined, statusLine: string, limit: number): string {
  const status = `\n${statusLine}`
  const both = wake === undefined ? status : `\n${wakeLine(wake)}${status}`
  return Buffer.byteLength(both) <= limit ? both : status
}
