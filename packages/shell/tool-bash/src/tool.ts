/**
 * The tool `bash`: runs a command and waits for it, or starts it as a background job.
 * @module @deepseek-ai/dsh-tool-bash/tool
 */
import type { Context } from '@deepseek-ai/cordis'
import type { JobId } from '@deepseek-ai/dsh-jobs'
import { HarnessError } from '@deepseek-ai/dsh-llm'
import { ESCALATION_TARGETS, type SandboxMode } from '@deepseek-ai/dsh-sandbox'
import type { SandboxPolicyService } from '@deepseek-ai/dsh-sandbox-policy'
import type { ShellExecRequest, ShellRunResult } from '@deepseek-ai/dsh-shell'
import { defineTool, TOOL_ABORTED, type ToolDefinition, type ToolExecution } from '@deepseek-ai/dsh-tools'
import { processHooks } from './background.ts'
import { callCard, resultCard } from './cards.ts'
import { renderResult } from './render.ts'
import { requestFor } from './request.ts'
import { bashDescription, bashParameters } from './schema.ts'
import { foregroundValue, VALUE_SCHEMA, type BashValue } from './value.ts'

/** What the tool is made for. */
export interface BashToolOptions {
  /** Whether a command may become a background job. */
  readonly background: boolean
  /** The policy service; without one, the executor does not confine. */
  readonly policies: SandboxPolicyService | undefined
}

function abortError(): HarnessError {
  return Object.assign(new HarnessError('tool call aborted', TOOL_ABORTED), { name: 'AbortError' })
}

async function runCommand(ctx: Context, request: ShellExecRequest, signal: AbortSignal): Promise<ShellRunResult> {
  const result = await ctx.shell.run(ctx.shell.resolve({ ...request, signal }))
  if (result.aborted) throw abortError()
  return result
}

/**
 * Start a job. The process begins within the registry's own start, so that a refused job spawns nothing; from then on
 * the job can be cancelled, and the call's signal no longer matters.
 */
function startJob(
  ctx: Context,
  request: ShellExecRequest,
  { agent: owner, signal }: ToolExecution,
  escalationModes: readonly SandboxMode[],
): JobId {
  const jobs = ctx.get('jobs')
  if (jobs === undefined) {
    throw new Error('background jobs unavailable: load @deepseek-ai/dsh-jobs and @deepseek-ai/dsh-tool-jobs')
  }
  if (signal.aborted) throw abortError()
  return jobs.start({
    kind: 'bash',
    label: request.command,
    ...(owner && { owner }),
    run: () => processHooks(ctx.shell.start(ctx.shell.resolve(request)), escalationModes),
  })
}

/**
 * Define the tool.
 * @param ctx - context of the plugin.
 * @param options - what the composition offers.
 * @returns the tool.
 */
export function bashTool(ctx: Context, { background, policies }: BashToolOptions): ToolDefinition {
  const offer = { background, escalation: policies !== undefined }
  const escalationModes = offer.escalation ? ESCALATION_TARGETS : []
  return defineTool({
    name: 'bash',
    description: bashDescription(offer),
    parameters: bashParameters(offer),
    output: {
      schema: VALUE_SCHEMA,
      render: (_args, value) => [
        {
          type: 'text',
          text:
            value.kind === 'background'
              ? `started background job ${value.jobId}`
              : renderResult(value as ShellRunResult, escalationModes),
        },
      ],
    },
    presentCall: callCard,
    presentResult: resultCard,
    async execute(args, exec): Promise<BashValue> {
      const request = await requestFor(ctx, policies, args, exec)
      if (args.run_in_background !== true) return foregroundValue(await runCommand(ctx, request, exec.signal))
      // A schema is open: the argument can be there although it was not advertised.
      if (!background) {
        throw new Error('run_in_background is disabled for this deployment (enableRunInBackground: false)')
      }
      return { kind: 'background', jobId: startJob(ctx, request, exec, escalationModes) }
    },
  })
}
