/**
 * The early end of a `job_output` wait: what ends it, what the model is told, and the settings of both.
 *
 * | the wait ended by | `deliver` | the value's `wake`                                  |
 * | ----------------- | --------- | --------------------------------------------------- |
 * | a steer           | any       | `STEER_PREEMPTED`                                   |
 * | output            | `wrap`    | `JOB_OUTPUT_RESUMED`, if the read returned any text |
 * | output            | `cut`     | none                                                |
 * | output            | `off`     | it does not end so                                  |
 * | anything else     | any       | none                                                |
 *
 * A job that has ended by the time of the read gives no `wake`: its result is the news. Over a registry whose waits take
 * no wake options, the settings ask for none, whatever the configuration says.
 * @module @deepseek-ai/dsh-tool-jobs/wake-result
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { JobId, JobRead, JobRegistry, JobWaitResult, JobWakeOptions } from '@deepseek-ai/dsh-jobs'
import type { InferValue, ValueSchemaSpec } from '@deepseek-ai/dsh-tools'
import z from '@deepseek-ai/schemastery'

/** Configures which events end a wait early, and how patiently. Times are milliseconds. */
export interface WakeConfig {
  /** Whether a message of the agent's user ends its waits (default true). */
  wakeOnSteer?: boolean
  /** What new output does: end the wait and say so, end it as an ordinary read, or nothing (default `wrap`). */
  deliver?: 'wrap' | 'cut' | 'off'
  /** Settle window after a trigger (default 250). */
  graceMs?: number
  /** Longest time output is held back while the job keeps printing (default 1,000). */
  maxHoldMs?: number
  /** The first interval between two ends by output on one job (default 10,000; 0 = no pacing). It doubles each time. */
  outputIntervalMs?: number
  /** The longest such interval (default 120,000, or `outputIntervalMs` if that is more). */
  maxOutputIntervalMs?: number
  /** The `timeout_ms` to suggest after an end by output (default: what is left of the wait, or until output ends the next). */
  resumeTimeoutMs?: number
  /** Taken and not used: no job is polled. */
  pollMs?: number
}

/** Node's timers turn a longer delay into one millisecond. */
const delay = () => z.number().min(0).max(2_147_483_647)

/** The settings' part of the plugin's schema. */
export const WAKE_FIELDS = {
  wakeOnSteer: z.boolean().default(true),
  deliver: z.union(['wrap', 'cut', 'off'] as const).default('wrap'),
  graceMs: delay().default(250),
  maxHoldMs: delay().default(1_000),
  outputIntervalMs: delay().default(10_000),
  maxOutputIntervalMs: delay(),
  resumeTimeoutMs: delay(),
  pollMs: delay(),
}

/** The settings with every default in place. */
export type WakeSettings = Required<Omit<WakeConfig, 'resumeTimeoutMs' | 'pollMs'>>
  & Pick<WakeConfig, 'resumeTimeoutMs'>

/**
 * Whether the waits of a registry take wake options. The number of parameters that its `wait` declares is all there is to
 * tell by: the published registry's has four and drops a fifth, this contract's has five, a wrapper's that hands all on none.
 */
function takesWakes(jobs: JobRegistry): boolean {
  return jobs.wait.length === 0 || jobs.wait.length > 4
}

/**
 * Put the defaults in place, and say in the log what cannot be had.
 * @param config - the plugin's configuration.
 * @param ctx - the plugin's context.
 * @returns the settings; over a registry whose waits take no wake options, nothing ends a wait early.
 * @throws an error that names the field, if a value is out of range.
 */
export function wakeSettings(config: WakeConfig, ctx: Context): WakeSettings {
  const fields = z.object(WAKE_FIELDS)(config)
  const { wakeOnSteer, deliver, outputIntervalMs } = fields
  const { maxOutputIntervalMs = Math.max(120_000, outputIntervalMs) } = config
  const settings = { ...fields, maxOutputIntervalMs }
  // No range of a schema keeps NaN out.
  const [field] = Object.entries(settings).find(([, value]) => Number.isNaN(value)) ?? []
  if (field !== undefined) throw new Error(`tool-jobs: ${field} (NaN) must be a number of milliseconds`)
  if (maxOutputIntervalMs < outputIntervalMs) {
    throw new Error(
      `tool-jobs: maxOutputIntervalMs (${maxOutputIntervalMs}) is less than outputIntervalMs (${outputIntervalMs})`,
    )
  }
  if (config.pollMs !== undefined) ctx.logger.warn('tool-jobs: pollMs is no longer needed: no job is polled')
  if (takesWakes(ctx.jobs) || (!wakeOnSteer && deliver === 'off')) return settings
  ctx.logger.warn(
    'tool-jobs: no wait of job_output ends at a message of the user or at output, since the waits of the loaded job registry'
      + ' take no wake options; what is missing is the @deepseek-ai/dsh-jobs-local of the same release',
  )
  return { ...settings, wakeOnSteer: false, deliver: 'off' }
}

/** The `wake` of the output schema. Times are whole milliseconds. */
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

/** What a wait that ended early tells the model and its programs. */
export type JobWake = InferValue<typeof WAKE_SCHEMA>

/**
 * Say in one sentence what ends a wait early and what to do then.
 * @param settings - the settings.
 * @returns the sentence, after a blank; nothing if no wait ends early.
 */
export function earlyEndNote(settings: WakeSettings): string {
  const { wakeOnSteer, deliver } = settings
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

/** The parameters of `job_output` for early ends. */
export interface WakeParameters {
  readonly wake_on_output?: { readonly type: 'boolean'; readonly description: string }
}

/**
 * The parameter with which a model asks for the end only.
 * @param settings - the settings.
 * @returns `wake_on_output`; no parameter where output never ends a wait.
 */
export function wakeParameters(settings: WakeSettings): WakeParameters {
  const { wakeOnSteer, deliver } = settings
  if (deliver === 'off') return {}
  const others = wakeOnSteer ? 'completion, timeout or a message of the user' : 'completion or timeout'
  return {
    wake_on_output: {
      type: 'boolean',
      description:
        'With wait: whether new output ends the wait (default true). Leave it on to follow progress or to notice trouble'
        + ` early; set false when you need only the end, of a build or a test run say: then only ${others} ends it.`,
    },
  }
}

/** One wait of `job_output`. */
export interface WaitCall {
  readonly id: JobId
  /** The time it is given, in milliseconds. */
  readonly timeoutMs: number
  /** The time that any wait may be given, in milliseconds. */
  readonly maxTimeoutMs: number
  readonly caller: Agent | undefined
  readonly signal: AbortSignal
  /** The call's `wake_on_output`. */
  readonly wakeOnOutput: boolean | undefined
}

/** How a wait ended. */
export interface EndedWait
  extends Pick<WaitCall, 'timeoutMs' | 'maxTimeoutMs'>, Pick<JobWaitResult, 'wokenBy' | 'nextOutputWakeMs'> {
  readonly waitedMs: number
}

/** Which events end a wait, in the registry's terms; none at all if the settings and the call ask for none. */
function wakeOptions(settings: WakeSettings, wakeOnOutput = true): JobWakeOptions | undefined {
  const { wakeOnSteer: steer, deliver, graceMs, maxHoldMs, outputIntervalMs, maxOutputIntervalMs } = settings
  const output = deliver !== 'off' && wakeOnOutput
  return output || steer ? { output, steer, graceMs, maxHoldMs, outputIntervalMs, maxOutputIntervalMs } : undefined
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
  const job = await jobs.wait(id, timeoutMs, caller, signal, wakeOptions(settings, wakeOnOutput))
  return { ...call, ...job, waitedMs: performance.now() - startedAt }
}

/**
 * The time to suggest for the next wait: never this call's own, since the harness tells a model that repeats a call with
 * the same arguments that it makes no progress.
 */
function nextTimeoutMs({ timeoutMs, maxTimeoutMs, waitedMs, nextOutputWakeMs = 0 }: EndedWait, configuredMs?: number) {
  // Some seconds beyond the time at which output may end the wait, so that its timeout does not end it before.
  const best = Math.max(timeoutMs - waitedMs, nextOutputWakeMs + 5_000)
  const choices = [configuredMs ?? best, best, best + 1_000].map(ms => Math.floor(Math.min(ms, maxTimeoutMs)))
  return choices.find(ms => ms !== timeoutMs) ?? maxTimeoutMs - 1_000
}

/**
 * What the result says about an early end.
 * @param ended - how the wait ended.
 * @param read - the read that followed.
 * @param settings - the settings.
 * @returns the value's `wake`, if it has one.
 */
export function wakeOf(ended: EndedWait, read: JobRead, settings: WakeSettings): JobWake | undefined {
  const { wokenBy, waitedMs, timeoutMs } = ended
  if (wokenBy === undefined || read.snapshot.finishedAt !== undefined) return undefined
  const times = { waitedMs: Math.floor(waitedMs), remainingMs: Math.max(0, Math.floor(timeoutMs - waitedMs)) }
  if (wokenBy === 'steer') return { code: 'STEER_PREEMPTED', ...times }
  // Of several agents that wait for one job, only the first to read gets the text.
  if (settings.deliver === 'cut' || read.text === '') return undefined
  const next = nextTimeoutMs(ended, settings.resumeTimeoutMs)
  // A wait of less than a second is not worth a model step.
  return { code: 'JOB_OUTPUT_RESUMED', ...times, ...(next >= 1_000 && { resumeTimeoutMs: next }) }
}

/** The line that tells the model what happened and what to do. */
function wakeLine({ code, resumeTimeoutMs }: JobWake): string {
  switch (code) {
    case 'STEER_PREEMPTED':
      return `[wake: ${code}; the user has sent a message; finish this step so that it can be read; the job goes on]`
    case 'JOB_OUTPUT_RESUMED': {
      const time = resumeTimeoutMs === undefined ? '' : `, timeout_ms: ${resumeTimeoutMs}`
      return (
        `[wake: ${code}; the job printed output and is still running; for more, call job_output again with`
        + ` wait: true${time}; for the end only, add wake_on_output: false]`
      )
    }
  }
}

/**
 * The lines below the text of a read: the wake line, whole or not at all, and the status line.
 * @param wake - the value's `wake`, if it has one.
 * @param statusLine - the status line.
 * @param limit - most UTF-8 bytes for both; the status line is left whole even above it.
 * @returns the lines.
 */
export function resultEnding(wake: JobWake | undefined, statusLine: string, limit = Infinity): string {
  const both = wake === undefined ? statusLine : `${wakeLine(wake)}\n${statusLine}`
  return Buffer.byteLength(both) <= limit ? both : statusLine
}
