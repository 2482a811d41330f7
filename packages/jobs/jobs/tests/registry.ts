import type { Context } from '@deepseek-ai/cordis'
import { JobId, JobRegistry, type JobDoneListener, type JobSnapshot } from '../src/index.ts'

const unsupported = (): never => {
  throw new Error('not part of this test')
}

/** A registry that holds the snapshots it was given, however wrong, and starts nothing. */
export class EmptyRegistry extends JobRegistry {
  readonly doneListeners = new Set<JobDoneListener>()
  private readonly snapshots: JobSnapshot[]

  constructor(ctx: Context, snapshots: JobSnapshot[] = []) {
    super(ctx)
    this.snapshots = snapshots
  }

  override list = () => this.snapshots

  override onJobDone(listener: JobDoneListener) {
    return this.ctx.effect(() => {
      this.doneListeners.add(listener)
      return () => this.doneListeners.delete(listener)
    })
  }

  override start = unsupported
  override get = unsupported
  override read = unsupported
  override kill = unsupported
  override wait = unsupported
  override onJobsChanged = unsupported
  override attachController = unsupported
}

/** A sound snapshot of a running job, with some fields replaced. */
export function snapshot(changes: Partial<JobSnapshot> = {}): JobSnapshot {
  return {
    id: JobId('bash-1'),
    kind: 'bash',
    label: 'pnpm test',
    status: 'running',
    startedAt: 5,
    reported: false,
    ...changes,
  }
}
