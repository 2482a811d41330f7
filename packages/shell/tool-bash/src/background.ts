/**
 * A background process as a job of `ctx.jobs`.
 * @module @deepseek-ai/dsh-tool-bash/background
 */
import type { JobHooks } from '@deepseek-ai/dsh-jobs'
import type { SandboxMode } from '@deepseek-ai/dsh-sandbox'
import type { ShellProcess } from '@deepseek-ai/dsh-shell'
import { outputHook } from './output-hook.ts'
import { renderProcessRead } from './render.ts'

/**
 * Tell how a process ended. A nonzero exit is no failure of the job, as it is none of a command in the foreground.
 * @param proc - the process, once it is done.
 * @returns the outcome of its job.
 */
export function processOutcome(proc: ShellProcess): { status: 'completed' | 'killed'; detail: string } {
  const { status, signal, exitCode } = proc
  return status === 'killed'
    ? { status, detail: signal === null ? 'killed before exit' : `signal: ${signal}` }
    : { status: 'completed', detail: `exit code: ${exitCode ?? 0}` }
}

/**
 * Give the registry its hold on a process.
 * @param proc - the process.
 * @param escalationModes - the modes that the tool offers for a retry after a denial.
 * @returns the hooks of its job.
 */
export function processHooks(proc: ShellProcess, escalationModes: readonly SandboxMode[]): JobHooks {
  return {
    cancel: () => void proc.kill(),
    done: proc.done.then(() => processOutcome(proc)),
    readOutput: () => renderProcessRead(proc.readOutput(), proc.sandbox, escalationModes),
    ...outputHook(proc),
  }
}
