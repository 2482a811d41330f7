/**
 * The background-job registry of one process, `ctx.jobs`. It keeps every record in memory and hands out copies.
 *
 * A job outlives the plugins that started it and that control it: it ends by itself, by a kill, or with its owner or
 * this service, whose disposal cancels the work and waits for it.
 * @module @deepseek-ai/dsh-jobs-local
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import {
  JobId,
  JobRegistry,
  type JobDoneListener,
  type JobOutcome,
  type JobRead,
  type JobSnapshot,
  type JobStart,
  type JobWaitResult,
  type JobWakeOptions,
  type JobsChangedListener,
} from '@deepseek-ai/dsh-jobs'
import z from '@deepseek-ai/schemastery'
import { Audience } from './audience.ts'
import { createRecord, isLive, recordOutcome, snapshotOf, type JobRecord } from './job-record.ts'
import { waitOnLive } from './live-wait.ts'
import { SteerWatch } from './steer-watch.ts'
import { JobWakes } from './wait-wake.ts'
import { wakeSettings } from './wake-settings.ts'

export { TASK_WAIT_TIMEOUT } from './live-wait.ts'

const DEFAULT_LIMIT = 10

/** Configuration of the registry. */
export interface Config {
  /** Most `running` and `stopping` jobs of one owner, and of all unowned work together; 10 if left out. */
  maxConcurrentJobsPerOwner?: number
}

/** The in-memory job registry. Its promises are those of `JobRegistry`. */
export class LocalJobRegistry extends JobRegistry {
  static Config: z<Config> = z.object({
    maxConcurrentJobsPerOwner: z.number().step(1).min(1).max(Number.MAX_SAFE_INTEGER).default(DEFAULT_LIMIT),
  })

  // A plugin calls the methods on a proxy whose `ctx` is the plugin's. That rules out #private fields, and it is why the
  // service's own context is kept apart.
  private readonly store = new Map<JobId, JobRecord>()
  private readonly counters = new Map<string, number>()
  private readonly ownerCleanups = new Map<Agent, () => Promise<void>>()
  private readonly maxConcurrentJobsPerOwner: number
  private readonly selfCtx: Context
  private readonly audience: Audience
  private readonly steers: SteerWatch

  /**
   * @param ctx - the context that provides `jobs`; its disposal ends every job.
   * @param config - the checked configuration.
   */
  constructor(ctx: Context, config: Config) {
    super(ctx)
    this.maxConcurrentJobsPerOwner = config.maxConcurrentJobsPerOwner ?? DEFAULT_LIMIT
    this.selfCtx = ctx
    const warn = (message: string) => {
      this.warn(message)
    }
    this.audience = new Audience(warn)
    this.steers = new SteerWatch(ctx, warn)
    ctx.effect(() => () => this.disposeAll(), 'jobs teardown')
  }

  override start(spec: JobStart): JobId {
    this.admit(spec)
    const hooks = spec.run()
    const id = this.nextId(spec.kind)
    const wakes = new JobWakes(hooks, this.steers, fault => {
      this.warn(`job ${id} ${fault}`)
    })
    const record = createRecord(id, spec, hooks, wakes)
    hooks.done.then(
      outcome => {
        this.settle(record, outcome)
      },
      (error: unknown) => {
        this.warn(`job ${id} producer done promise rejected (producer contract violation): ${String(error)}`)
        this.settle(record, { status: 'failed', detail: String(error) })
      },
    )
    this.store.set(id, record)
    this.audience.tellChanged(record.owner)
    return id
  }

  override list(caller?: Agent): JobSnapshot[] {
    return [...this.store.values()].filter(record => isReachable(record, caller)).map(snapshotOf)
  }

  override get(id: JobId, caller?: Agent): JobSnapshot {
    return snapshotOf(this.expect(id, caller))
  }

  override read(id: JobId, caller?: Agent): JobRead {
    const record = this.expect(id, caller)
    const text = record.wakes.read() ?? record.output ?? ''
    if (!isLive(record)) record.reported = true
    return { text, snapshot: snapshotOf(record) }
  }

  override kill(id: JobId, caller?: Agent, reason?: string): 'requested' | 'already-finished' {
    const record = this.expect(id, caller)
    if (!isLive(record)) {
      record.reported = true
      return 'already-finished'
    }
    record.cancel(reason)
    this.markStopping(record)
    return 'requested'
  }

  override async wait(
    id: JobId,
    timeoutMs: number,
    caller?: Agent,
    signal?: AbortSignal,
    wake?: JobWakeOptions,
  ): Promise<JobWaitResult> {
    const record = this.expect(id, caller)
    if (!Number.isFinite(timeoutMs) || timeoutMs <= 0) {
      const given = JSON.stringify(timeoutMs)
      throw new Error(`invalid wait timeout: expected a positive number of milliseconds, got ${given}`)
    }
    const settings = wake && wakeSettings(wake)
    if (!isLive(record)) {
      record.reported = true
      return snapshotOf(record)
    }
    if (signal?.aborted) throw new Error('wait aborted')
    return waitOnLive(record, { timeoutMs, caller, signal, wake: settings })
  }

  override onJobDone(listener: JobDoneListener): () => void {
    return this.audience.onDone(this.ctx, listener)
  }

  override onJobsChanged(listener: JobsChangedListener): () => void {
    return this.audience.onChanged(this.ctx, listener)
  }

  override attachController(name: string): () => void {
    return this.audience.attach(this.ctx, name)
  }

  /** Everything that may refuse a job, in the order in which a producer hears of it. */
  private admit({ kind, label, outputLimitBytes, owner }: JobStart): void {
    if (!this.audience.serves(owner)) {
      throw new Error(
        'background jobs unavailable: no job controller serves this agent (load @deepseek-ai/dsh-tool-jobs in its composition)',
      )
    }
    if (kind.length === 0) throw new Error('invalid job kind: expected a non-empty string')
    if (label.length === 0) throw new Error('invalid job label: expected a non-empty string')
    if (outputLimitBytes !== undefined && !(Number.isSafeInteger(outputLimitBytes) && outputLimitBytes > 0)) {
      const given = JSON.stringify(outputLimitBytes)
      throw new Error(`invalid outputLimitBytes: expected a positive safe integer, got ${given}`)
    }
    if (owner !== undefined) this.ensureOwnerCleanup(owner)
    const limit = this.maxConcurrentJobsPerOwner
    if (this.recordsOf(owner).filter(isLive).length >= limit) {
      throw new Error(
        `background job limit reached for this owner (limit: ${limit}); use job_kill to stop an unneeded job,`
          + ' wait for it to finish, then retry',
      )
    }
  }

  /** Tie the jobs of an owner to its life, once. The disposal of the owner waits for them. */
  private ensureOwnerCleanup(owner: Agent): void {
    const agents = this.selfCtx.get('agents')
    if (agents === undefined) {
      throw new Error('background job ownership requires the agent registry (load @deepseek-ai/dsh-agent)')
    }
    if (agents.get(owner.id) !== owner) {
      throw new Error(`agent "${owner.id}" is not the registered agent instance (background job owner must be live)`)
    }
    if (this.ownerCleanups.has(owner)) return
    const detach = owner.ctx.effect(() => () => this.disposeOwned(owner), 'jobs.ownerCleanup()')
    this.ownerCleanups.set(owner, detach)
  }

  private nextId(kind: string): JobId {
    const ordinal = (this.counters.get(kind) ?? 0) + 1
    this.counters.set(kind, ordinal)
    return JobId(`${kind}-${ordinal}`)
  }

  private expect(id: JobId, caller: Agent | undefined): JobRecord {
    const record = this.store.get(id)
    if (record === undefined) throw new Error(`unknown job ${id}`)
    if (!isReachable(record, caller)) throw new Error(`job ${id} belongs to another session`)
    return record
  }

  /** The jobs of this very owner object, or the unowned ones. */
  private recordsOf(owner: Agent | undefined): JobRecord[] {
    return [...this.store.values()].filter(record => record.owner === owner)
  }

  /** Commit a job's end. The first one stands, so a late producer cannot undo what a teardown forced. */
  private settle(record: JobRecord, outcome: JobOutcome): void {
    if (!isLive(record)) return
    recordOutcome(record, outcome)
    if (record.waitResolvers.size > 0) record.reported = true
    record.wakes.close()
    for (const release of record.waitResolvers) release()
    record.markSettled()
    this.audience.tellChanged(record.owner)
    // Last, since a listener may start a model turn at once, and everyone else must have seen the end by then.
    this.audience.tellDone(record.owner, () => snapshotOf(record))
  }

  private markStopping(record: JobRecord): void {
    record.status = 'stopping'
    record.reported = true
    this.audience.tellChanged(record.owner)
  }

  private async disposeOwned(owner: Agent): Promise<void> {
    this.ownerCleanups.delete(owner)
    const owned = this.recordsOf(owner)
    await this.teardown(owned, 'owner disposed')
    for (const { id } of owned) this.store.delete(id)
    if (owned.length > 0) this.audience.tellChanged(owner)
  }

  private async disposeAll(): Promise<void> {
    this.audience.silenceDone()
    const owners = new Set<Agent | undefined>()
    do {
      const records = [...this.store.values()]
      for (const { owner } of records) owners.add(owner)
      await this.teardown(records, 'jobs service disposed')
    } while ([...this.store.values()].some(isLive))
    this.store.clear()
    for (const owner of owners) this.audience.tellChanged(owner)
    await Promise.all([...this.ownerCleanups.values()].map(detach => detach()))
  }

  /** Cancel jobs whose owner or service goes, and wait for them. Nobody is left to read a notice about them. */
  private async teardown(records: JobRecord[], reason: string): Promise<void> {
    for (const record of records.filter(isLive)) {
      record.reported = true
      try {
        record.cancel(reason)
      } catch (error) {
        // The work may go on, but waiting for it could last for ever.
        this.warn(
          `cancel of ${record.id} threw during teardown; job record forced failed and work may be orphaned: ${String(error)}`,
        )
        const detail = `cancel threw during teardown; work may be orphaned: ${String(error)}`
        this.settle(record, { status: 'failed', detail })
        continue
      }
      this.markStopping(record)
    }
    await Promise.all(records.map(({ settled }) => settled))
  }

  private warn(message: string): void {
    this.selfCtx.logger.warn(`jobs: ${message}`)
  }
}

/** An unowned job is open to everyone, an owned one to its owner's session. */
function isReachable({ owner }: JobRecord, caller: Agent | undefined): boolean {
  return owner === undefined || owner.id === caller?.id
}

export default LocalJobRegistry
