import { describe, expect, it } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { InvariantRegistry } from '@deepseek-ai/dsh-invariants'
import { SessionId } from '@deepseek-ai/dsh-session'
import { JobId, type JobSnapshot } from '../src/index.ts'
import * as companion from '../src/invariant.ts'
import { EmptyRegistry, snapshot } from './registry.ts'

const ORDINAL = 'must be "bash-" followed by a positive ordinal'
const PRESENT = 'finishedAt must be present exactly for a terminal status'
const ORDER = 'no earlier than startedAt'

/** A kind that only a faulty registry lets through. */
const NO_KIND = '' as JobSnapshot['kind']

const faulty: [string, Partial<JobSnapshot>, string][] = [
  ['an id of another kind', { id: JobId('subagent-1') }, ORDINAL],
  ['an id with more before it', { id: JobId('my-bash-1') }, ORDINAL],
  ['an id without a number', { id: JobId('bash-') }, ORDINAL],
  ['the ordinal zero', { id: JobId('bash-0') }, ORDINAL],
  ['a negative ordinal', { id: JobId('bash--1') }, ORDINAL],
  ['a fraction', { id: JobId('bash-1.5') }, ORDINAL],
  ['an empty kind', { id: JobId('-1'), kind: NO_KIND }, 'must be "-" followed by a positive ordinal'],
  ['an empty label', { label: '' }, 'label must be non-empty'],
  ['a start before the epoch', { startedAt: -1 }, 'startedAt must be a non-negative epoch integer'],
  ['a fraction of a start', { startedAt: 0.5 }, 'startedAt must be a non-negative epoch integer'],
  ['an end while running', { finishedAt: 6 }, PRESENT],
  ['an end while stopping', { status: 'stopping', finishedAt: 6 }, PRESENT],
  ['no end when completed', { status: 'completed' }, PRESENT],
  ['an end before the start', { status: 'failed', finishedAt: 4 }, ORDER],
  ['a fraction of an end', { status: 'killed', finishedAt: 6.5 }, ORDER],
  [
    'an owner that an unowned job cannot have',
    { ownerSession: SessionId('s1') },
    'does not match its completion owner',
  ],
]

const sound: [string, Partial<JobSnapshot>][] = [
  ['a running job', {}],
  ['a job that started at the epoch', { startedAt: 0 }],
  ['the tenth job of its kind', { id: JobId('bash-10') }],
  ['a stopping job', { status: 'stopping' }],
  ['a job that ended as it began', { status: 'completed', finishedAt: 5 }],
]

/** Mount the companion over a registry that holds these snapshots. */
async function mount(ctx: Context, ...snapshots: JobSnapshot[]): Promise<EmptyRegistry> {
  await ctx.plugin(InvariantRegistry)
  await ctx.plugin(EmptyRegistry, snapshots)
  await ctx.plugin(companion)
  return ctx.get('jobs') as EmptyRegistry
}

/** What the companion says when a job ends in this state. */
async function complete(changes: Partial<JobSnapshot>, owner?: Agent): Promise<() => void> {
  const ctx = new Context()
  const [listener] = (await mount(ctx)).doneListeners
  await ctx.fiber.dispose()
  return () => void listener?.(snapshot({ status: 'completed', finishedAt: 6, ...changes }), owner)
}

describe('the job invariants', () => {
  it.each(faulty)('reject %s in a current snapshot, with the id of the job', async (_name, changes, message) => {
    const ctx = new Context()
    const faultySnapshot = snapshot(changes)
    const mounted = mount(ctx, snapshot({ id: JobId('bash-2') }), faultySnapshot)

    await expect(mounted).rejects.toThrow(message)
    await expect(mounted).rejects.toThrow(`"${faultySnapshot.id}"`)
    await ctx.fiber.dispose()
  })

  it.each(sound)('accept %s', async (_name, changes) => {
    const ctx = new Context()
    await expect(mount(ctx, snapshot(changes))).resolves.toBeDefined()
    await ctx.fiber.dispose()
  })

  it('check each job as it ends', async () => {
    expect(await complete({})).not.toThrow()
    expect(await complete({ label: '' })).toThrow('job "bash-1" label must be non-empty')
  })

  it('compare the session of an ended job with its owner', async () => {
    const owner = { id: SessionId('s1') } as Agent
    const mismatch = 'job "bash-1" ownerSession does not match its completion owner'

    expect(await complete({ ownerSession: SessionId('s1') }, owner)).not.toThrow()
    expect(await complete({ ownerSession: SessionId('s2') }, owner)).toThrow(mismatch)
    expect(await complete({ ownerSession: SessionId('s1') })).toThrow(mismatch)
    expect(await complete({}, owner)).toThrow(mismatch)
  })

  it('are registered under the name of the package, and stop listening when their plugin goes', async () => {
    const ctx = new Context()
    await ctx.plugin(InvariantRegistry)
    await ctx.plugin(EmptyRegistry)
    const registry = ctx.get('jobs') as EmptyRegistry
    const fiber = await ctx.plugin(companion)
    const register = () => ctx.invariants.register('@deepseek-ai/dsh-jobs', () => undefined)

    expect(register).toThrow('@deepseek-ai/dsh-jobs')
    expect(registry.doneListeners.size).toBe(1)
    await fiber.dispose()
    expect(register).not.toThrow()
    expect(registry.doneListeners.size).toBe(0)
    await ctx.fiber.dispose()
  })
})
