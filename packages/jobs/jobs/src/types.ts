/**
 * The vocabulary that job producers, the registry and the job tools share. The service itself is in `./index.ts`.
 * @module @deepseek-ai/dsh-jobs/types
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { SessionId } from '@deepseek-ai/dsh-session'
import type { JobId } from './brand.ts'

export { JobId } from './brand.ts'

/** A job is `running`, perhaps `stopping` for a while, and then has one terminal status for good. */
export type JobStatus = 'running' | 'stopping' | 'completed' | 'killed' | 'failed'

/** The kinds of jobs. A producer's plugin adds its own by declaration merging; a kind is only a prefix of ids. */
export interface JobKindMap {
  bash: 'bash'
  subagent: 'subagent'
}

/** Every kind that some loaded declaration knows. */
export type JobKind = JobKindMap[keyof JobKindMap]

/** How a job ended, in its producer's words. */
export interface JobOutcome {
  /** Finished by itself, ended on request, or broke. */
  status: 'completed' | 'killed' | 'failed'
  /** A fact of the kind, shown in status lines, such as `exit code: 3`. */
  detail?: string
  /** The whole result of a job without `readOutput`; a stream job leaves it out. */
  output?: string
}

/** What a producer declares when it starts a job. The producer owns the work, the registry its identity and state. */
export interface JobStart {
  /** Kind of the job, and the prefix of its id. */
  kind: JobKind
  /** One line for the model: the command, or what was delegated. */
  label: string
  /** Most UTF-8 bytes of each whole text that the model sees of this job, its status line included. */
  outputLimitBytes?: number
  /**
   * The live agent that owns the job: only its session may reach the job, and its disposal ends it. It must be the
   * instance registered under its id. A job without an owner is open to everyone and lasts as long as the service.
   */
  owner?: Agent
  /**
   * Start the work. It is called once, after every check has passed; if it throws, no job exists, and the producer
   * releases what it had begun.
   * @returns the hooks through which the registry controls and observes the work.
   */
  run(): JobHooks
}

/** The registry's hold on a producer's work. */
export interface JobHooks {
  /**
   * Ask the work to end. Synchronous and idempotent; {@link done} must settle in the end. A throw reaches the caller.
   * @param reason - handed on as it was given.
   */
  cancel(reason?: string): void
  /** Resolves once the work is over and its resources are released. A rejection counts as a failed job. */
  done: Promise<JobOutcome>
  /**
   * Take the output since the last call. A job has one such cursor. A job without this hook has only a final output.
   * @returns the new text, which may be empty, with whatever the producer says about truncation.
   */
  readOutput?(): string
  /**
   * Tell of new output, if the producer can. A registry subscribes while a wait for output lasts, any number of times in
   * the job's life; output of a job without this hook never ends a wait.
   * @param listener - called soon after {@link readOutput} would return something that it would not have returned at the
   *   last call; and once, synchronously, before `onOutput` returns, if output is unread at that moment. A call says
   *   nothing about how much there is. Inside its call the listener may read, kill, subscribe and dispose.
   * @returns the disposer of this subscription; it may be called twice, also from within the listener.
   */
  onOutput?(listener: () => void): () => void
}

/** A copy of a job's state at one moment. */
export interface JobSnapshot {
  /** The id that the registry gave, `<kind>-<n>`. */
  id: JobId
  /** The kind that the producer declared. */
  kind: JobKind
  /** The producer's one line about the job. */
  label: string
  /** The producer's limit for the texts that the model sees of this job. */
  outputLimitBytes?: number
  /** Session of the owner; absent for a job that nobody owns. */
  ownerSession?: SessionId
  /** Where the job is in its life. */
  status: JobStatus
  /** The producer's fact about the status, usually once the job has ended. */
  detail?: string
  /** When the job was registered, in epoch milliseconds. */
  startedAt: number
  /** When the job ended, in epoch milliseconds; absent while it lives. */
  finishedAt?: number
  /**
   * Whether somebody was told, or is about to be told, how the job ended: by a read, a wait, a kill or a teardown.
   * A completion notice is needless then.
   */
  reported: boolean
}

/** What a read returns. */
export interface JobRead {
  /** The new output of a stream job; of any other, nothing while it lives and its final output ever after. */
  text: string
  /** The job after the read. */
  snapshot: JobSnapshot
}

/**
 * Hears how a job ended. A returned promise is observed, not awaited.
 * @param snapshot - the job's final state.
 * @param owner - the very agent that owned it, or `undefined` for an unowned job.
 */
export type JobDoneListener = (snapshot: JobSnapshot, owner: Agent | undefined) => void | PromiseLike<void>

/**
 * Hears that a set of visible jobs changed; it reads the new set itself, since a removal has no job to show.
 * @param owner - whose set changed, or `undefined` when an unowned job changed and with it everybody's set.
 */
export type JobsChangedListener = (owner: Agent | undefined) => void
