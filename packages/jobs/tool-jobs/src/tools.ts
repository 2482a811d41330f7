/**
 * The three tools. What a job does is the registry's; here are their parameters, values and texts.
 * @module @deepseek-ai/dsh-tool-jobs/tools
 */
import type { Context } from '@deepseek-ai/cordis'
import { JobId } from '@deepseek-ai/dsh-jobs'
import { defineTool, type ToolCallView, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { renderOutput, type OutputValue } from './output-text.ts'
import type { FitOwnText, watchResultLimits } from './result-limit.ts'
import { publicSnapshot, SNAPSHOT_SCHEMA, statusLine } from './snapshot.ts'
import { earlyEndNote, WAKE_SCHEMA, waitForJob, wakeOf, wakeParameters, type WakeSettings } from './wake-result.ts'

/** How long a wait of `job_output` lasts, in milliseconds. */
export interface WaitTimes {
  /** For a call that names no time. */
  readonly waitTimeoutMs: number
  /** For any call. */
  readonly maxWaitTimeoutMs: number
}

type LimitFor = ReturnType<typeof watchResultLimits>

function jobIdOf(jobId: string): JobId {
  if (jobId === '') throw new Error('invalid job_id: expected a non-empty string, got ""')
  return JobId(jobId)
}

const card = (title: string, kind: 'read' | 'execute', rawInput?: string): ToolCallView => ({
  card: 'generic',
  title,
  kind,
  ...(rawInput !== undefined && { rawInput }),
})

/** Only the rendering of the result's own value is cut in the tool's way; a policy's text is not. */
const fitRenderedOutput: FitOwnText = (text, value, limit) =>
  text === renderOutput(value as OutputValue) ? renderOutput(value as OutputValue, limit) : undefined

/**
 * `job_output`: read a job, perhaps after a wait.
 * @param ctx - context of the plugin.
 * @param times - how long waits last.
 * @param wakes - what ends them early.
 * @param limitFor - builds `finalizeContent`.
 * @returns the tool.
 */
export function jobOutputTool(ctx: Context, times: WaitTimes, wakes: WakeSettings, limitFor: LimitFor): ToolDefinition {
  return defineTool({
    name: 'job_output',
    description:
      'Read a background job: the output that no read has returned yet (or, of a job that only has a final result, that'
      + ' result once it has ended), and how the job stands. Returns at once unless you set wait, which waits until the'
      + ` job ends, up to timeout_ms; the job goes on after a timeout.${earlyEndNote(wakes)}`,
    parameters: {
      job_id: {
        type: 'string',
        required: true,
        description: 'Id of the job, as the tool that started it returned it.',
      },
      wait: {
        type: 'boolean',
        description: 'Wait for the job before reading. Set it only when you cannot go on without.',
      },
      timeout_ms: {
        type: 'number',
        description: `Longest wait in milliseconds (default ${times.waitTimeoutMs}, at most ${times.maxWaitTimeoutMs}).`,
      },
      ...wakeParameters(wakes),
    },
    output: {
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          text: { type: 'string', required: true },
          job: { ...SNAPSHOT_SCHEMA, required: true },
          wake: WAKE_SCHEMA,
        },
      },
      render: (_args, value) => [{ type: 'text', text: renderOutput(value) }],
    },
    finalizeContent: limitFor(fitRenderedOutput),
    presentCall: ({ job_id: id }) => card(`Read output from background job ${id}`, 'read', id),
    async execute(args, { agent: caller, signal }) {
      const id = jobIdOf(args.job_id)
      const timeoutMs = Math.min(args.timeout_ms ?? times.waitTimeoutMs, times.maxWaitTimeoutMs)
      const wakeOnOutput = args.wake_on_output
      const call = { id, timeoutMs, maxTimeoutMs: times.maxWaitTimeoutMs, caller, signal, wakeOnOutput }
      const ended = args.wait === true ? await waitForJob(ctx.jobs, wakes, call) : undefined
      const read = ctx.jobs.read(id, caller)
      const wake = ended && wakeOf(ended, read, wakes)
      return { text: read.text, job: publicSnapshot(read.snapshot), ...(wake && { wake }) }
    },
  })
}

/**
 * `job_list`: every job that the caller may see.
 * @param ctx - context of the plugin.
 * @returns the tool.
 */
export function jobListTool(ctx: Context): ToolDefinition {
  return defineTool({
    name: 'job_list',
    description: 'List your background jobs with their ids and states. It reads no output.',
    parameters: {},
    output: {
      schema: { type: 'array', items: SNAPSHOT_SCHEMA },
      render: (_args, jobs) => {
        const lines = jobs.map(({ id, kind, status, label }) => `${id} [${kind}] ${status} — ${label}`)
        return [{ type: 'text', text: lines.join('\n') || '(no background jobs)' }]
      },
    },
    presentCall: () => card('List background jobs', 'read'),
    execute: (_args, { agent }) => Promise.resolve(ctx.jobs.list(agent).map(publicSnapshot)),
  })
}

/**
 * `job_kill`: ask a job to end. Its output stays to be read.
 * @param ctx - context of the plugin.
 * @param limitFor - builds `finalizeContent`.
 * @returns the tool.
 */
export function jobKillTool(ctx: Context, limitFor: LimitFor): ToolDefinition {
  return defineTool({
    name: 'job_kill',
    description:
      'Ask a background job to end. Returns at once; the job may take a moment to stop, and its output can still be read.',
    parameters: {
      job_id: { type: 'string', required: true, description: 'Id of the job.' },
      reason: { type: 'string', description: 'Why, in a few words, for the log.' },
    },
    output: {
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          outcome: { type: 'string', required: true, enum: ['cancellation-requested', 'already-finished'] },
          job: { ...SNAPSHOT_SCHEMA, required: true },
        },
      },
      render: (_args, { outcome, job }) => [
        {
          type: 'text',
          text:
            outcome === 'already-finished'
              ? `job ${job.id} had already finished ${statusLine(job)}`
              : `requested cancellation of job ${job.id}`,
        },
      ],
    },
    finalizeContent: limitFor(),
    presentCall: ({ job_id: id }) => card(`Kill background job ${id}`, 'execute', id),
    execute(args, { agent }) {
      const id = jobIdOf(args.job_id)
      const requested = ctx.jobs.kill(id, agent, args.reason) === 'requested'
      const job = publicSnapshot(ctx.jobs.get(id, agent))
      return Promise.resolve({ outcome: requested ? 'cancellation-requested' : 'already-finished', job })
    },
  })
}
