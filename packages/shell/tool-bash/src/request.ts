/**
 * From the arguments of a call to the request that the executor gets: checked, with the folder, the sandbox policy and
 * the managed environment of the calling session. It is made of named arguments only, so that nothing else that a model
 * sends (`env`, `stdin`, a larger output limit) reaches the executor.
 * @module @deepseek-ai/dsh-tool-bash/request
 */
import { isAbsolute, resolve } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import {
  approveEscalation,
  canonicalPath,
  validateEscalationArgs,
  type SandboxExecutionPolicy,
} from '@deepseek-ai/dsh-sandbox'
import type { SandboxPolicyService } from '@deepseek-ai/dsh-sandbox-policy'
import type { ShellExecRequest } from '@deepseek-ai/dsh-shell'
import type {} from '@deepseek-ai/dsh-shell-env'
import type { ToolExecution } from '@deepseek-ai/dsh-tools'
import type {} from '@deepseek-ai/dsh-user-approval'
import type { BashArgs } from './schema.ts'

/** Refuse values that the schema cannot. */
function checkArgs({ command, description, timeoutMs, sandbox_permissions, justification }: BashArgs): void {
  if (command.trim() === '') throw new Error('invalid command: expected a non-empty string')
  if (description.trim() === '') throw new Error('invalid description: expected a non-empty string')
  if (timeoutMs !== undefined && timeoutMs <= 0) {
    throw new Error(`invalid timeoutMs: expected a positive number, got ${JSON.stringify(timeoutMs)}`)
  }
  validateEscalationArgs(sandbox_permissions, justification)
}

/**
 * The policy of one call: the standing one of its session, or, once the user has agreed, the wider mode that the call
 * asks for. `undefined` where nothing confines.
 */
async function policyFor(
  ctx: Context,
  policies: SandboxPolicyService | undefined,
  { sandbox_permissions: requestedMode, justification }: BashArgs,
  { agent, callId, signal }: ToolExecution,
): Promise<SandboxExecutionPolicy | undefined> {
  const standing = policies?.resolve(agent === undefined ? {} : { session: agent.session })
  // The two come together, or the arguments were refused.
  if (requestedMode === undefined || justification === undefined) return standing
  if (standing === undefined) {
    throw new Error('sandbox_permissions is not available in this composition (no sandboxing executor to escalate)')
  }
  const mode = await approveEscalation(
    { requestedMode, justification, effectiveMode: standing.mode, subject: 'command' },
    { approver: ctx.get('approval'), agent, callId, toolName: 'bash', signal },
  )
  return { ...standing, mode }
}

/** The folder of the calling session, in the spelling that the sandbox compares. */
function sessionFolder(policy: SandboxExecutionPolicy | undefined, agent: Agent | undefined): string | undefined {
  const cwd = agent?.session.header.cwd
  return policy?.workspaceRoot ?? (cwd === undefined ? undefined : canonicalPath(cwd))
}

function workdirFor(workdir: string | undefined, folder: string | undefined): string | undefined {
  if (workdir === undefined) return folder
  return folder === undefined || isAbsolute(workdir) ? workdir : resolve(folder, workdir)
}

/**
 * Build the request of one call. This may ask the user, and it throws whatever refuses the call.
 * @param ctx - context of the plugin.
 * @param policies - the policy service, if the executor confines.
 * @param args - the arguments of the call.
 * @param exec - the call.
 * @returns the request, without a signal.
 */
export async function requestFor(
  ctx: Context,
  policies: SandboxPolicyService | undefined,
  args: BashArgs,
  exec: ToolExecution,
): Promise<ShellExecRequest> {
  checkArgs(args)
  const { command, timeoutMs } = args
  const sandboxPolicy = await policyFor(ctx, policies, args, exec)
  const workdir = workdirFor(args.workdir, sessionFolder(sandboxPolicy, exec.agent))
  return {
    command,
    ...(workdir !== undefined && { workdir }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    dshEnv: ctx.shellEnv.collect(exec),
    ...(sandboxPolicy !== undefined && { sandboxPolicy }),
  }
}
