/** Real background commands for a measurement: what they need, and how one is started without a model. */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { LocalBashExecutor } from '@deepseek-ai/dsh-bash-local'
import type { JobId } from '@deepseek-ai/dsh-jobs'
import { CallId } from '@deepseek-ai/dsh-llm'
import * as shellEnv from '@deepseek-ai/dsh-shell-env'
import { LocalSubprocessRuntime } from '@deepseek-ai/dsh-subprocess-local'
import * as toolBash from '@deepseek-ai/dsh-tool-bash'
import { mountJobTools, type Plane } from './planes.ts'

/**
 * Mount bash, the registry and the job tools of a plane.
 * @param ctx - the runtime's context.
 * @param plane - the plane of this process.
 */
export async function mountBashJobs(ctx: Context, plane: Plane): Promise<void> {
  await ctx.plugin(LocalSubprocessRuntime)
  await ctx.plugin(LocalBashExecutor, { graceMs: 200 })
  await ctx.plugin(shellEnv)
  await mountJobTools(ctx, plane)
  await ctx.plugin(toolBash, {})
}

/**
 * Start a command in the background, through the bash tool.
 * @param ctx - the runtime's context.
 * @param agent - who owns the job.
 * @param command - what bash runs.
 * @returns the job.
 */
export async function startBashJob(ctx: Context, agent: Agent, command: string): Promise<JobId> {
  const result = await ctx.tools.execute({
    callId: CallId('start'),
    name: 'bash',
    arguments: { command, description: 'run the job', run_in_background: true },
    agent,
    signal: new AbortController().signal,
  })
  if (result.isError) throw new Error(`bash did not start: ${JSON.stringify(result.content)}`)
  return (result.value as { jobId: JobId }).jobId
}
