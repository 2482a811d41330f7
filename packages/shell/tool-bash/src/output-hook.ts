/**
 * Hands a process's own signal of new output on to the registry of its job, so that output can end a wait for the job
 * (#6285). Which executor is mounted does not matter: a process either has the member or it has not, and then the job
 * is as it always was, one whose output ends no wait.
 * @module @deepseek-ai/dsh-tool-bash/output-hook
 */
import type { JobHooks } from '@deepseek-ai/dsh-jobs'
import type { ShellProcess } from '@deepseek-ai/dsh-shell'

/** A process that may be able to tell of its output. */
export type SignallingProcess = ShellProcess & {
  /** Calls the listener whenever there is output that no read has returned; returns the disposer. */
  onOutput?: (listener: () => void) => () => void
}

/**
 * Make the hook of one job.
 * @param proc - the process of the job.
 * @returns the hook; no key at all for a process without the signal, since a registry looks for the key.
 */
export function outputHook(proc: SignallingProcess): Pick<JobHooks, 'onOutput'> {
  const { onOutput } = proc
  return onOutput === undefined ? {} : { onOutput: listener => onOutput.call(proc, listener) }
}
