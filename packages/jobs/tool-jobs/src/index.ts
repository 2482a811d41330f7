/**
 * The model's hold on background jobs: the tools `job_output`, `job_list` and `job_kill`, a notice to the owner of a
 * job that ended, and the job controller without which no producer may start one.
 * @module @deepseek-ai/dsh-tool-jobs
 */
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-system-prompt'
import z from '@deepseek-ai/schemastery'
import { deliverCompletions, type CompletionDelivery } from './completion-notices.ts'
import { watchResultLimits } from './result-limit.ts'
import { jobKillTool, jobListTool, jobOutputTool } from './tools.ts'
import { earlyEndNote, WAKE_FIELDS, wakeSettings, type WakeConfig } from './wake-result.ts'

export type { CompletionDelivery } from './completion-notices.ts'
export { statusLine, type PublicJobSnapshot } from './snapshot.ts'

/** Name of the plugin. */
export const name = 'tool-jobs'

/** Services that must be there before the tools can be registered. */
export const inject = ['tools', 'jobs', 'systemPrompt']

/** Configures the waits of `job_output` and the delivery of completion notices. */
export interface Config extends WakeConfig {
  /** How long a wait lasts that names no `timeout_ms`, in milliseconds (default 30,000). */
  waitTimeoutMs?: number
  /** How long any wait may last, in milliseconds; a longer `timeout_ms` is cut to it (default 600,000). */
  maxWaitTimeoutMs?: number
  /** Whether a completion opens a turn on an idle owner (default `wakeup`). */
  completionDelivery?: CompletionDelivery
  /** Turns that completions may open for one owner until its user speaks again (default 3). */
  maxConsecutiveWakes?: number
}

const Schema = z.object({
  waitTimeoutMs: z.number().min(1).default(30_000),
  maxWaitTimeoutMs: z.number().min(1).default(600_000),
  completionDelivery: z.union(['quiet', 'wakeup'] as const).default('wakeup'),
  maxConsecutiveWakes: z.number().min(1).default(3),
  ...WAKE_FIELDS,
})

/** The schema of the configuration, with its defaults. */
export const Config: z<Config> = Schema

const GUIDANCE =
  'Keep track of the id of every background job you start. You are told when a job finishes, so neither poll it nor'
  + ' sleep until then: go on with work that does not depend on it, and do not do its work a second time. Wait for a job'
  + ' (job_output with wait: true) only when you cannot go on without it.'

const CLOSING =
  ' Before your final answer, read what you still need with job_output and stop with job_kill what no longer matters.'

/**
 * Register the tools, the guidance, the notices and the controller, all as effects of the context.
 * @param ctx - context of the plugin.
 * @param config - the configuration; what it leaves out has its default.
 * @throws an error that names the field, if a value is out of range.
 */
export function apply(ctx: Context, config: Config): void {
  const { waitTimeoutMs, maxWaitTimeoutMs, completionDelivery, maxConsecutiveWakes } = Schema(config)
  if (!(waitTimeoutMs <= maxWaitTimeoutMs)) {
    throw new Error(`tool-jobs: waitTimeoutMs (${waitTimeoutMs}) exceeds maxWaitTimeoutMs (${maxWaitTimeoutMs})`)
  }
  if (!Number.isSafeInteger(maxConsecutiveWakes)) {
    throw new Error(`tool-jobs: maxConsecutiveWakes (${maxConsecutiveWakes}) must be a whole number of turns`)
  }
  const wakes = wakeSettings(config, ctx)

  const limitFor = watchResultLimits(ctx)
  ctx.jobs.attachController('tool-jobs')
  ctx.systemPrompt.section({ name: 'tool:jobs', order: 106, text: GUIDANCE + earlyEndNote(wakes) + CLOSING })
  deliverCompletions(ctx, completionDelivery, maxConsecutiveWakes)
  ctx.tools.register(jobOutputTool(ctx, { waitTimeoutMs, maxWaitTimeoutMs }, wakes, limitFor))
  ctx.tools.register(jobListTool(ctx))
  ctx.tools.register(jobKillTool(ctx, limitFor))
}
