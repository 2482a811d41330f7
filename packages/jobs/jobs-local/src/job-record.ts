/**
 * One job as the registry keeps it, and the copies of it that the registry hands out.
 * @module @deepseek-ai/dsh-jobs-local/job-record
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { JobHooks, JobId, JobKind, JobOutcome, JobSnapshot, JobStart, JobStatus } from '@deepseek-ai/dsh-jobs'
import type { JobWakes } from './wait-wake.ts'

/** The registry's own, mutable record of a job. */
export interface JobRecord {
  readonly id: JobId
  readonly kind: JobKind
  readonly label: string
  readonly outputLimitBytes: number | undefined
  readonly owner: Agent | undefined
  readonly cancel: JobHooks['cancel']
  /** The job's output, and the waits that output and steers may end. */
  readonly wakes: JobWakes
  status: JobStatus
  detail: string | undefined
  output: string | undefined
  readonly startedAt: number
  finishedAt: number | undefined
  reported: boolean
  /** Fulfilled once the job has its terminal status. */
  readonly settled: Promise<undefined>
  readonly markSettled: () => void
  /** One entry per wait in progress; calling it ends that wait with the terminal snapshot. */
  readonly waitResolvers: Set<() => void>
}

/**
 * Make the record of a job whose producer has just started.
 * @param id - the job's new id.
 * @param spec - the producer's declaration.
 * @param hooks - what the producer's starter returned.
 * @param wakes - the job's output, and what ends waits on it.
 * @returns a running record.
 */
export function createRecord(id: JobId, spec: JobStart, hooks: JobHooks, wakes: JobWakes): JobRecord {
  const { kind, label, outputLimitBytes, owner } = spec
  const { promise: settled, resolve } = Promise.withResolvers<undefined>()
  return {
    id,
    kind,
    label,
    outputLimitBytes,
    owner,
    cancel: hooks.cancel.bind(hooks),
    wakes,
    status: 'running',
    detail: undefined,
    output: undefined,
    startedAt: Date.now(),
    finishedAt: undefined,
    reported: false,
    settled,
    markSettled: () => {
      resolve(undefined)
    },
    waitResolvers: new Set(),
  }
}

/**
 * Whether a job has not ended yet.
 * @param record - the job.
 * @returns true for `running` and `stopping`.
 */
export function isLive(record: JobRecord): boolean {
  return record.status === 'running' || record.status === 'stopping'
}

/**
 * Write a job's end into its record.
 * @param record - a live job.
 * @param outcome - how it ended.
 */
export function recordOutcome(record: JobRecord, outcome: JobOutcome): void {
  record.status = outcome.status
  record.detail = outcome.detail
  record.output = outcome.output
  record.finishedAt = Date.now()
}

/**
 * Copy a job's state. What is not known is left out.
 * @param record - the job.
 * @returns a fresh snapshot.
 */
export function snapshotOf(record: JobRecord): JobSnapshot {
  const { id, kind, label, outputLimitBytes, owner, status, detail, startedAt, finishedAt, reported } = record
  return {
    id,
    kind,
    label,
    ...(outputLimitBytes === undefined ? {} : { outputLimitBytes }),
    ...(owner === undefined ? {} : { ownerSession: owner.id }),
    status,
    ...(detail === undefined ? {} : { detail }),
    startedAt,
    ...(finishedAt === undefined ? {} : { finishedAt }),
    reported,
  }
}
