/**
 * The background-job service definition, `ctx.jobs`: the contract for ids, access, life cycle, output, waits and
 * completion, while the producers keep the work itself. `@deepseek-ai/dsh-jobs-local` implements it in the process.
 * @module @deepseek-ai/dsh-jobs
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { JobDoneListener, JobId, JobRead, JobSnapshot, JobStart, JobsChangedListener } from './types.ts'
import type { JobWaitResult, JobWakeOptions } from './wake-types.ts'

export { JobId } from './types.ts'
export type {
  JobDoneListener,
  JobHooks,
  JobKind,
  JobKindMap,
  JobOutcome,
  JobRead,
  JobSnapshot,
  JobStart,
  JobStatus,
  JobsChangedListener,
} from './types.ts'
export type { JobWaitResult, JobWakeOptions } from './wake-types.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    jobs: JobRegistry
  }
}

/**
 * The registry of background jobs. An implementation extends this class and is loaded as a plugin; a context has one.
 *
 * Every implementation keeps these promises:
 * - A job outlives the plugins that started it and that control it. The disposal of its owner, or of the service, ends
 *   it, marks it reported and waits for it; where the cancel itself throws, only the record is closed.
 * - An owned job is reachable by its owner's session only. Ids can be guessed, so this fence is the protection.
 * - A job settles once; the first outcome stands. Waiters are released and the change is announced before the
 *   completion listeners run, since one of them may start a model turn at once.
 * - Controllers and listeners serve the owners under the scope that registered them; a registration from an unscoped
 *   context serves everyone. A failing listener harms nobody else.
 */
export abstract class JobRegistry extends Service {
  /**
   * @param ctx - the context that provides `jobs`.
   * @throws when the definition itself is loaded in place of an implementation.
   */
  constructor(ctx: Context) {
    if (new.target === JobRegistry) {
      throw new Error(
        '@deepseek-ai/dsh-jobs is the abstract job registry seam; load an implementation such as @deepseek-ai/dsh-jobs-local instead',
      )
    }
    super(ctx, 'jobs')
  }

  /**
   * Check everything, start the work, and register it. A refusal or a throwing starter leaves no job and burns no id.
   * @param spec - what to run, and for whom.
   * @returns the new job's id, `<kind>-<n>`.
   */
  abstract start(spec: JobStart): JobId

  /**
   * The caller's own and the unowned jobs, in order of registration.
   * @param caller - the asking agent; without one, only unowned jobs are shown.
   * @returns fresh snapshots.
   */
  abstract list(caller?: Agent): JobSnapshot[]

  /**
   * Look at one job and change nothing.
   * @param id - the job.
   * @param caller - the asking agent.
   * @returns a fresh snapshot.
   * @throws for an unknown job, or one of another session.
   */
  abstract get(id: JobId, caller?: Agent): JobSnapshot

  /**
   * Take a stream job's new output, or look at another job's final output. Reading an ended job marks it reported.
   * @param id - the job.
   * @param caller - the asking agent.
   * @returns the text, and the job after the read.
   * @throws for an unknown job, or one of another session.
   */
  abstract read(id: JobId, caller?: Agent): JobRead

  /**
   * Ask a job to end, then mark it stopping and reported. If its producer throws, nothing changes.
   * @param id - the job.
   * @param caller - the asking agent.
   * @param reason - handed to the producer as it is.
   * @returns `requested` for a live job, `already-finished` otherwise.
   * @throws for an unknown job, one of another session, and whatever the producer throws.
   */
  abstract kill(id: JobId, caller?: Agent, reason?: string): 'requested' | 'already-finished'

  /**
   * Wait until a job ends or the time is over, without touching the job. With `wake`, unread output or a steer from
   * the caller's user ends the wait too: nothing is marked reported, and the output is still there for the next read.
   * Of what is due together the end of the job comes first, then the abort, the timeout, the steer, the output.
   * An abort rejects only while the job lives; afterwards the terminal snapshot is returned all the same, since the
   * completion notice was left out on this waiter's account.
   * @param id - the job.
   * @param timeoutMs - longest wait, positive and finite, in milliseconds.
   * @param caller - the waiting agent.
   * @param signal - cancels the wait, not the job.
   * @param wake - what else ends the wait; nothing does if it is left out.
   * @returns the job at the end of the wait. Bad input rejects, naming the option; the call itself never throws.
   */
  abstract wait(
    id: JobId,
    timeoutMs: number,
    caller?: Agent,
    signal?: AbortSignal,
    wake?: JobWakeOptions,
  ): Promise<JobWaitResult>

  /**
   * Hear of completions, as an effect of the calling context and for the owners under its scope.
   * @param listener - called last in each settlement, and never after the disposal of the service.
   * @returns the disposer.
   */
  abstract onJobDone(listener: JobDoneListener): () => void

  /**
   * Hear of changes to what {@link list} returns, as an effect of the calling context and for the owners under its
   * scope: a registration, a change to `stopping`, a settlement, and the removals of a disposal. It says nothing about
   * who was told of a completion, and marks nothing reported.
   * @param listener - called after the change.
   * @returns the disposer.
   */
  abstract onJobsChanged(listener: JobsChangedListener): () => void

  /**
   * Say that the owners under the calling context's scope can read and stop jobs. {@link start} refuses anyone else.
   * @param name - for diagnostics; equal names stay separate controllers.
   * @returns the disposer.
   */
  abstract attachController(name: string): () => void
}

export default JobRegistry
