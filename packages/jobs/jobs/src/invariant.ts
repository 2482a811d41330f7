/**
 * The checks that every job registry's snapshots must pass.
 * @module @deepseek-ai/dsh-jobs/invariant
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { InvariantFailure, InvariantInstaller } from '@deepseek-ai/dsh-invariants'
import type { JobSnapshot } from './types.ts'

const PACKAGE_NAME = '@deepseek-ai/dsh-jobs'

/** Name of the companion plugin. */
export const name = 'jobs-invariant'

/** Services that must be there before the package can be registered. */
export const inject = ['invariants']

const isEpochInteger = (value: number) => Number.isSafeInteger(value) && value >= 0

const isLive = ({ status }: JobSnapshot) => status === 'running' || status === 'stopping'

/** The ordinal must be the whole rest of the id, and not only zeros. */
function hasOrdinalId({ id, kind }: JobSnapshot): boolean {
  return kind.length > 0 && id.startsWith(`${kind}-`) && /^0*[1-9]\d*$/.test(id.slice(kind.length + 1))
}

/** What is wrong with the times of a snapshot, if anything. */
function timeFault(snapshot: JobSnapshot): string | undefined {
  const { startedAt, finishedAt } = snapshot
  if (!isEpochInteger(startedAt)) return 'startedAt must be a non-negative epoch integer'
  if ((finishedAt === undefined) !== isLive(snapshot)) return 'finishedAt must be present exactly for a terminal status'
  if (finishedAt !== undefined && !(Number.isSafeInteger(finishedAt) && finishedAt >= startedAt)) {
    return 'finishedAt must be an epoch integer no earlier than startedAt'
  }
  return undefined
}

/** The first thing that is wrong with a snapshot, named with its job. */
function faultOf(snapshot: JobSnapshot, owner: Agent | undefined): string | undefined {
  const { id, kind, label, ownerSession } = snapshot
  if (!hasOrdinalId(snapshot)) return `job snapshot id "${id}" must be "${kind}-" followed by a positive ordinal`
  const fault =
    (label === '' ? 'label must be non-empty' : timeFault(snapshot))
    ?? (ownerSession === owner?.id ? undefined : 'ownerSession does not match its completion owner')
  return fault === undefined ? undefined : `job "${id}" ${fault}`
}

function check(snapshot: JobSnapshot, owner: Agent | undefined, fail: InvariantFailure): void {
  const fault = faultOf(snapshot, owner)
  if (fault !== undefined) fail(fault)
}

/** Checks the unowned jobs there are, and from then on each job as it ends. Live owned jobs are not ours to list. */
const install: InvariantInstaller = Object.assign(
  (ctx: Context, fail: InvariantFailure) => {
    for (const snapshot of ctx.jobs.list()) check(snapshot, undefined, fail)
    ctx.jobs.onJobDone((snapshot, owner) => {
      check(snapshot, owner, fail)
    })
  },
  { inject: ['jobs'] },
)

/**
 * Register the companion.
 * @param ctx - context with the invariant registry.
 * @returns the registration's disposer, once the installation has succeeded.
 */
export const apply = (ctx: Context): Promise<() => void> =>
  Promise.resolve(ctx.invariants.register(PACKAGE_NAME, install))
