/** The registry as the published one behaves; `differential.spec.ts` compares the two. */
import { getEventListeners } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { JobId, type JobSnapshot } from '@deepseek-ai/dsh-jobs'
import { LocalJobRegistry as StockJobRegistry } from 'stock-jobs-local'
import LocalJobRegistry, { LocalJobRegistry as Named, TASK_WAIT_TIMEOUT } from '../src/index.ts'
import { collectWarnings, createAgent, mountJobs, Producer, settleMicrotasks, StreamProducer } from './harness.ts'

interface Layout {
  store: Map<JobId, { waitResolvers: Set<() => void> }>
}

const layoutOf = (ctx: Context) => ctx.jobs as unknown as Layout

describe('loading', () => {
  it('exports the registry under both names, and the timeout code', () => {
    expect(Named).toBe(LocalJobRegistry)
    expect(TASK_WAIT_TIMEOUT).toBe('TASK_WAIT_TIMEOUT')
  })

  it.each([0, -1, 1.5, NaN, 2 ** 53])('refuses a limit of %s, by its name', async maxConcurrentJobsPerOwner => {
    const ctx = new Context()
    await expect(ctx.plugin(LocalJobRegistry, { maxConcurrentJobsPerOwner })).rejects.toThrow(
      'maxConcurrentJobsPerOwner',
    )
    await ctx.fiber.dispose()
  })

  it('limits each owner to ten jobs by default, also when constructed without the schema', () => {
    const ctx = new Context()
    const jobs = new LocalJobRegistry(ctx, {})
    jobs.attachController('test')
    for (let started = 0; started < 10; started += 1) jobs.start(new Producer().spec())
    expect(() => jobs.start(new Producer().spec())).toThrow('(limit: 10)')
  })

  it('labels its effects', async () => {
    const { ctx, registryFiber } = await mountJobs()
    const { agent } = await createAgent(ctx, 'A')
    ctx.jobs.start(new Producer().spec({ owner: agent }))

    expect(registryFiber.getEffects().map(({ label }) => label)).toContain('jobs teardown')
    const labels = agent.ctx.fiber.getEffects().map(({ label }) => label)
    expect(labels.filter(label => label === 'jobs.ownerCleanup()')).toHaveLength(1)
  })
})

describe('start', () => {
  const unregistered = (agent: Agent) => Object.create(agent) as Agent

  it('needs a controller before anything else is looked at', async () => {
    const { ctx } = await mountJobs()
    const detach = ctx.jobs.attachController('second')
    ctx.jobs.attachController('second')
    detach()
    expect(() => ctx.jobs.start(new Producer().spec({ label: '' }))).toThrow('invalid job label')

    const { ctx: uncontrolled } = await mountJobs()
    const bare = await new Context().plugin(LocalJobRegistry, {})
    expect(() => bare.ctx.get('jobs')?.start(new Producer().spec({ label: '' }))).toThrow(
      'background jobs unavailable: no job controller serves this agent (load @deepseek-ai/dsh-tool-jobs in its composition)',
    )
    expect(uncontrolled.jobs.list()).toEqual([])
  })

  it('refuses bad declarations in order, runs nothing, and burns no number', async () => {
    const { ctx } = await mountJobs({ maxConcurrentJobsPerOwner: 1 })
    const { agent } = await createAgent(ctx, 'A')
    const run = vi.fn(() => new Producer())
    const refusal = (changes: object) => () => ctx.jobs.start(new Producer().spec({ run, ...changes }))

    expect(refusal({ kind: '', label: '' })).toThrow('invalid job kind')
    expect(refusal({ label: '', outputLimitBytes: 0 })).toThrow('invalid job label')
    for (const outputLimitBytes of [0, -1, 1.5, 2 ** 53]) {
      expect(refusal({ outputLimitBytes, owner: unregistered(agent) })).toThrow('outputLimitBytes')
    }
    expect(refusal({ owner: unregistered(agent) })).toThrow('agent "A" is not the registered agent instance')
    expect(run).not.toHaveBeenCalled()
    expect(() =>
      ctx.jobs.start({
        kind: 'bash',
        label: 'x',
        run: () => {
          throw new Error('no such program')
        },
      }),
    ).toThrow('no such program')

    expect(ctx.jobs.start(new Producer().spec())).toBe('bash-1')
    expect(refusal({})).toThrow('background job limit reached for this owner (limit: 1); use job_kill')
    expect(ctx.jobs.start(new Producer().spec({ owner: agent }))).toBe('bash-2')
    expect(ctx.jobs.list(agent)).toHaveLength(2)
  })

  it.each([LocalJobRegistry, StockJobRegistry])(
    'refuses what is no agent at all, in the published words',
    async Registry => {
      const { ctx } = await mountJobs({}, Registry as unknown as typeof LocalJobRegistry)
      const refusal = (changes: object) => () => ctx.jobs.start(new Producer().spec(changes))

      expect(refusal({ owner: { id: 'A' } })).toThrow(
        'agent "A" is not the registered agent instance (background job owner must be live)',
      )
      expect(refusal({ outputLimitBytes: '5' })).toThrow(
        'invalid outputLimitBytes: expected a positive safe integer, got "5"',
      )
    },
  )

  it('needs the agent registry for an owner', async () => {
    const ctx = new Context()
    await ctx.plugin(LocalJobRegistry, {})
    ctx.jobs.attachController('test')
    const { agent } = await createAgent((await mountJobs()).ctx, 'A')

    expect(() => ctx.jobs.start(new Producer().spec({ owner: agent }))).toThrow(
      'background job ownership requires the agent registry',
    )
  })

  it('numbers each kind by itself and frees the place of a job that has ended', async () => {
    const { ctx } = await mountJobs({ maxConcurrentJobsPerOwner: 2 })
    const producer = new Producer()
    expect(ctx.jobs.start(producer.spec())).toBe('bash-1')
    expect(ctx.jobs.start(new Producer().spec({ kind: 'subagent' }))).toBe('subagent-1')
    ctx.jobs.kill(JobId('bash-1'))
    expect(() => ctx.jobs.start(new Producer().spec())).toThrow('limit reached')

    producer.settle({ status: 'killed' })
    await settleMicrotasks()
    expect(ctx.jobs.start(new Producer().spec())).toBe('bash-2')
  })

  it('can be tried again after an owner whose context took no cleanup', async () => {
    const { ctx } = await mountJobs()
    const { agent } = await createAgent(ctx, 'A')
    const attach = vi.spyOn(agent.ctx.fiber, 'effect').mockImplementationOnce(() => {
      throw new Error('cannot attach')
    })
    expect(() => ctx.jobs.start(new Producer().spec({ owner: agent }))).toThrow('cannot attach')
    expect(ctx.jobs.start(new Producer().spec({ owner: agent }))).toBe('bash-1')
    ctx.jobs.start(new Producer().spec({ owner: agent }))
    expect(attach).toHaveBeenCalledTimes(2)
  })
})

describe('reading', () => {
  it('takes the new output of a stream job, and shows the final output of another again and again', async () => {
    const { ctx } = await mountJobs()
    const stream = new StreamProducer()
    const final = new Producer()
    const streamId = ctx.jobs.start(stream.spec())
    const finalId = ctx.jobs.start(final.spec({ outputLimitBytes: 7 }))

    stream.print('one')
    expect(ctx.jobs.read(streamId).text).toBe('one')
    expect(ctx.jobs.read(streamId)).toMatchObject({ text: '', snapshot: { status: 'running', reported: false } })
    expect(ctx.jobs.read(finalId)).toMatchObject({ text: '', snapshot: { outputLimitBytes: 7 } })

    final.settle({ status: 'completed', output: 'result' })
    await settleMicrotasks()
    expect(ctx.jobs.get(finalId).reported).toBe(false)
    for (let reads = 0; reads < 2; reads += 1) {
      expect(ctx.jobs.read(finalId)).toMatchObject({ text: 'result', snapshot: { reported: true } })
    }
  })

  it('fences an owned job and shows an unowned one to everyone', async () => {
    const { ctx } = await mountJobs()
    const { agent: owner } = await createAgent(ctx, 'A')
    const { agent: other } = await createAgent(ctx, 'B')
    const id = ctx.jobs.start(new Producer().spec({ owner }))
    ctx.jobs.start(new Producer().spec())

    expect(() => ctx.jobs.get(JobId('bash-9'))).toThrow('unknown job bash-9')
    expect(() => ctx.jobs.read(id)).toThrow('job bash-1 belongs to another session')
    expect(() => ctx.jobs.kill(id, other)).toThrow('job bash-1 belongs to another session')
    await expect(ctx.jobs.wait(id, 1, other)).rejects.toThrow('job bash-1 belongs to another session')
    expect(ctx.jobs.get(id, owner)).toMatchObject({ ownerSession: 'A' })
    expect(ctx.jobs.get(id, owner)).not.toBe(ctx.jobs.get(id, owner))
    expect(ctx.jobs.list(owner).map(each => each.id)).toEqual(['bash-1', 'bash-2'])
    expect(ctx.jobs.list().map(each => each.id)).toEqual(['bash-2'])
  })
})

describe('kill', () => {
  it('cancels first, and changes nothing if that throws', async () => {
    const { ctx } = await mountJobs()
    const changed = vi.fn()
    const producer = new Producer()
    const id = ctx.jobs.start(producer.spec())
    ctx.jobs.onJobsChanged(changed)
    producer.onCancel = () => {
      throw new Error('not now')
    }
    expect(() => ctx.jobs.kill(id)).toThrow('not now')
    expect(ctx.jobs.get(id)).toMatchObject({ status: 'running', reported: false })
    expect(changed).not.toHaveBeenCalled()

    producer.onCancel = () => {}
    expect(ctx.jobs.kill(id, undefined, 'enough')).toBe('requested')
    expect(producer.cancels).toEqual([undefined, 'enough'])
    expect(ctx.jobs.get(id)).toMatchObject({ status: 'stopping', reported: true })
    expect(changed.mock.calls).toEqual([[undefined]])

    producer.settle({ status: 'killed' })
    await settleMicrotasks()
    expect(ctx.jobs.kill(id)).toBe('already-finished')
  })

  it('of an ended job marks it reported', async () => {
    const { ctx } = await mountJobs()
    const producer = new Producer()
    const id = ctx.jobs.start(producer.spec())
    producer.settle({ status: 'completed' })
    await settleMicrotasks()
    expect(ctx.jobs.kill(id)).toBe('already-finished')
    expect(ctx.jobs.get(id).reported).toBe(true)
    expect(producer.cancels).toEqual([])
  })
})

describe('wait without wakes', () => {
  it.each([0, -1, NaN, Infinity, '5'])('rejects a timeout of %s', async timeoutMs => {
    const { ctx } = await mountJobs()
    const id = ctx.jobs.start(new Producer().spec())
    await expect(ctx.jobs.wait(id, timeoutMs as number)).rejects.toThrow('invalid wait timeout')
    await expect(ctx.jobs.wait(JobId('bash-9'), 1)).rejects.toThrow('unknown job bash-9')
    await expect(ctx.jobs.wait(id, 2 ** 31)).rejects.toThrow('2147483647')
    expect(layoutOf(ctx).store.get(id)?.waitResolvers.size).toBe(0)
  })

  it('returns the terminal snapshot, reported, and at once for a job that has ended', async () => {
    const { ctx } = await mountJobs()
    const done: JobSnapshot[] = []
    ctx.jobs.onJobDone(snapshot => void done.push(snapshot))
    const producer = new Producer()
    const id = ctx.jobs.start(producer.spec())
    const waiting = ctx.jobs.wait(id, 60_000)
    expect(layoutOf(ctx).store.get(id)?.waitResolvers.size).toBe(1)

    producer.settle({ status: 'failed', detail: 'exit code: 3' })
    await expect(waiting).resolves.toMatchObject({ status: 'failed', detail: 'exit code: 3', reported: true })
    expect(done).toMatchObject([{ id, reported: true }])
    expect(layoutOf(ctx).store.get(id)?.waitResolvers.size).toBe(0)
    const signal = AbortSignal.abort()
    await expect(ctx.jobs.wait(id, 1, undefined, signal)).resolves.toMatchObject({ status: 'failed' })
  })

  it('marks a job reported that had ended before', async () => {
    const { ctx } = await mountJobs()
    const producer = new Producer()
    const id = ctx.jobs.start(producer.spec())
    producer.settle({ status: 'completed' })
    await settleMicrotasks()
    await expect(ctx.jobs.wait(id, 1)).resolves.toMatchObject({ status: 'completed', reported: true })
  })

  it('returns the live snapshot at the timeout, unreported', async () => {
    const { ctx } = await mountJobs()
    const id = ctx.jobs.start(new Producer().spec())
    await expect(ctx.jobs.wait(id, 5)).resolves.toMatchObject({ status: 'running', reported: false })
    expect(layoutOf(ctx).store.get(id)?.waitResolvers.size).toBe(0)
  })

  it('rejects when aborted, and a settlement in the same tick is announced', async () => {
    const { ctx } = await mountJobs()
    const done: JobSnapshot[] = []
    ctx.jobs.onJobDone(snapshot => void done.push(snapshot))
    const producer = new Producer()
    const id = ctx.jobs.start(producer.spec())
    const controller = new AbortController()
    const waiting = ctx.jobs.wait(id, 60_000, undefined, controller.signal)
    controller.abort(new Error('turn cancelled'))
    producer.settle({ status: 'completed' })

    await expect(waiting).rejects.toThrow('wait aborted')
    expect(done).toMatchObject([{ id, reported: false }])
  })

  it('leaves no listener at a signal that outlives it', async () => {
    const { ctx } = await mountJobs()
    const id = ctx.jobs.start(new Producer().spec())
    const fuse = vi.spyOn(AbortSignal, 'any')
    await ctx.jobs.wait(id, 1, undefined, new AbortController().signal)
    const fused = fuse.mock.results[0]?.value as AbortSignal
    fuse.mockRestore()
    expect(getEventListeners(fused, 'abort')).toEqual([])
  })

  it('rejects at once when the signal was aborted before', async () => {
    const { ctx } = await mountJobs()
    const id = ctx.jobs.start(new Producer().spec())
    await expect(ctx.jobs.wait(id, 60_000, undefined, AbortSignal.abort())).rejects.toThrow('wait aborted')
  })
})

describe('settlement', () => {
  it('announces the change before the completion, and logs listeners that fail', async () => {
    const { ctx } = await mountJobs()
    const warnings = collectWarnings(ctx)
    const order: string[] = []
    const producer = new Producer()
    ctx.jobs.start(producer.spec())
    ctx.jobs.onJobDone(() => {
      throw new Error('first')
    })
    ctx.jobs.onJobDone(() => Promise.reject(new Error('second')))
    ctx.jobs.onJobsChanged(() => {
      throw new Error('third')
    })
    ctx.jobs.onJobDone(() => void order.push('done'))
    ctx.jobs.onJobsChanged(() => void order.push('changed'))

    producer.fail(new Error('gone'))
    await settleMicrotasks()
    expect(order).toEqual(['changed', 'done'])
    expect(ctx.jobs.get(JobId('bash-1'))).toMatchObject({ status: 'failed', detail: 'Error: gone' })
    expect(warnings).toEqual([
      [expect.stringMatching(/producer contract violation.*Error: gone/)],
      [expect.stringMatching(/onJobsChanged listener threw.*Error: third/)],
      [expect.stringMatching(/onJobDone listener threw.*Error: first/)],
      [expect.stringMatching(/onJobDone listener rejected.*Error: second/)],
    ])
  })

  it('reaches the listeners and controllers of the owner only', async () => {
    const { ctx } = await mountJobs()
    const { agent: a } = await createAgent(ctx, 'A')
    const { agent: b } = await createAgent(ctx, 'B')
    const heard: string[] = []
    await a.ctx.plugin({
      inject: ['jobs'],
      apply: (scoped: Context) => void scoped.jobs.onJobDone(({ id }) => void heard.push(id)),
    })
    for (const owner of [a, b, undefined]) {
      const producer = new Producer()
      ctx.jobs.start(producer.spec(owner === undefined ? {} : { owner }))
      producer.settle({ status: 'completed' })
    }
    await settleMicrotasks()
    expect(heard).toEqual(['bash-1'])
  })
})

describe('disposal', () => {
  it('of an owner ends its jobs, waits for them, and drops them', async () => {
    const { ctx } = await mountJobs()
    const handle = await createAgent(ctx, 'A')
    const producer = new Producer()
    const id = ctx.jobs.start(producer.spec({ owner: handle.agent }))
    ctx.jobs.start(new Producer().spec())
    const disposed = vi.fn()
    const disposal = handle.dispose().then(disposed)
    await vi.waitFor(() => {
      expect(producer.cancels).toEqual(['owner disposed'])
    })
    expect(ctx.jobs.get(id, handle.agent)).toMatchObject({ status: 'stopping', reported: true })
    expect(disposed).not.toHaveBeenCalled()

    producer.settle({ status: 'killed' })
    await disposal
    expect(ctx.jobs.list(handle.agent).map(each => each.id)).toEqual(['bash-2'])
  })

  it('of the service ends all jobs, those included that start meanwhile, and tells no completion', async () => {
    const { ctx, registryFiber } = await mountJobs()
    const { agent } = await createAgent(ctx, 'A')
    const { jobs } = ctx
    const done = vi.fn()
    const changed: (string | undefined)[] = []
    jobs.onJobDone(done)
    const first = new Producer()
    const late = new Producer()
    late.onCancel = () => {
      late.settle({ status: 'killed' })
    }
    jobs.start(first.spec({ owner: agent }))
    first.onCancel = () => {
      jobs.start(late.spec())
      first.settle({ status: 'killed' })
    }
    jobs.onJobsChanged(owner => void changed.push(owner?.id))
    await registryFiber.dispose()

    expect([first.cancels, late.cancels]).toEqual([['jobs service disposed'], ['jobs service disposed']])
    expect(jobs.list(agent)).toEqual([])
    expect(done).not.toHaveBeenCalled()
    expect(changed.slice(-2)).toEqual(['A', undefined])
    expect(agent.ctx.fiber.getEffects().map(({ label }) => label)).not.toContain('jobs.ownerCleanup()')
  })

  it('does not wait for a job whose cancel throws', async () => {
    const { ctx, registryFiber } = await mountJobs()
    const warnings = collectWarnings(ctx)
    const producer = new Producer()
    const id = ctx.jobs.start(producer.spec())
    const waiting = ctx.jobs.wait(id, 60_000)
    producer.onCancel = () => {
      throw new Error('stuck')
    }
    await registryFiber.dispose()

    await expect(waiting).resolves.toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('cancel threw during teardown') as string,
    })
    expect(warnings).toEqual([[expect.stringMatching(/work may be orphaned.*Error: stuck/)]])
    producer.settle({ status: 'completed' })
    await expect(waiting).resolves.toMatchObject({ status: 'failed' })
  })
})
