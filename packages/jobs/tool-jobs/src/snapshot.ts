/**
 * What the model and its programs see of a job: no owner, no bookkeeping.
 * @module @deepseek-ai/dsh-tool-jobs/snapshot
 */
import type { JobSnapshot } from '@deepseek-ai/dsh-jobs'
import type { ValueSchemaSpec } from '@deepseek-ai/dsh-tools'

/** A job as a program of the model gets it. */
export interface PublicJobSnapshot {
  /** The job's id, `<kind>-<n>`. */
  id: string
  /** The kind that the producer declared. */
  kind: string
  /** The producer's one line about the job. */
  label: string
  /** Where the job is in its life. */
  status: JobSnapshot['status']
  /** The producer's fact about the status. */
  detail?: string
  /** When the job was registered, in epoch milliseconds. */
  startedAt: number
  /** When the job ended, in epoch milliseconds; absent while it lives. */
  finishedAt?: number
}

/** The output schema of one {@link PublicJobSnapshot}. */
export const SNAPSHOT_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    id: { type: 'string', required: true },
    kind: { type: 'string', required: true },
    label: { type: 'string', required: true },
    status: { type: 'string', required: true, enum: ['running', 'stopping', 'completed', 'killed', 'failed'] },
    detail: { type: 'string' },
    startedAt: { type: 'integer', required: true },
    finishedAt: { type: 'integer' },
  },
} as const satisfies ValueSchemaSpec

/**
 * Leave out of a snapshot what only the registry and the tools need.
 * @param snapshot - the registry's snapshot.
 * @returns a fresh object.
 */
export function publicSnapshot(snapshot: JobSnapshot): PublicJobSnapshot {
  const { id, kind, label, status, detail, startedAt, finishedAt } = snapshot
  return {
    id,
    kind,
    label,
    status,
    ...(detail !== undefined && { detail }),
    startedAt,
    ...(finishedAt !== undefined && { finishedAt }),
  }
}

/**
 * The line that tells the model how a job stands.
 * @param snapshot - the job.
 * @returns `[status: <status>]`, with the detail after a comma where there is one.
 */
export function statusLine({ status, detail }: Pick<JobSnapshot, 'status' | 'detail'>): string {
  return detail === undefined ? `[status: ${status}]` : `[status: ${status}, ${detail}]`
}
