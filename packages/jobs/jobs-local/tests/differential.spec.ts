/**
 * The published registry and ours live through the same random scripts, each in a Cordis context of its own, and must
 * leave the same trace: every result, error, warning, completion notice and announcement, in the same order.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import fc from 'fast-check'
import type { Context, Fiber } from '@deepseek-ai/cordis'
import type { Agent, AgentHandle } from '@deepseek-ai/dsh-agent'
import { JobId, type JobRegistry, type JobHooks, type JobOutcome } from '@deepseek-ai/dsh-jobs'
import { LocalJobRegistry as StockJobRegistry } from 'stock-jobs-local'
import { LocalJobRegistry } from '../src/index.ts'
import { createAgent, mountJobs, settleMicrotasks } from './harness.ts'

const OWNERS = ['A', 'B', 'nobody'] as const
type Who = (typeof OWNERS)[number]
type Caller = Who | 'the owner'

/** What a producer does when it is cancelled. */
type OnCancel = 'settles' | 'settles later' | 'throws'

type Op =
  | { op: 'start'; owner: Who; kind: string; label: string; limit?: number; stream: boolean; onCancel: OnCancel }
  | { op: 'start badly' }
  | { op: 'start for an unregistered agent' }
  | { op: 'print'; job: number; text: string }
  | { op: 'break output'; job: number }
  | { op: 'settle'; job: number; outcome: JobOutcome }
  | { op: 'reject'; job: number }
  | { op: 'read' | 'get' | 'list'; job: number; caller: Caller }
  | { op: 'kill'; job: number; caller: Caller; reason?: string }
  | { op: 'wait'; job: number; caller: Caller; timeoutMs: number; signal: 'none' | 'aborted' | 'live'; wake: boolean }
  | { op: 'abort'; wait: number }
  | { op: 'abort and settle'; wait: number; job: number }
  | { op: 'advance'; ms: number }
  | { op: 'add listeners in the scope of'; owner: 'A' | 'B' }
  | { op: 'drop the controller' | 'attach a controller' }
  | { op: 'dispose'; owner: 'A' | 'B' }
  | { op: 'dispose the service' }

/** One value as a rule, one of the others now and then. */
function mostly<T>(usual: T, ...others: T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) })
}

const job = fc.nat({ max: 5 })
const owner = fc.constantFrom(...OWNERS)
const caller = fc.constantFrom<Caller>('the owner', 'the owner', 'the owner', ...OWNERS)
const agentOnly = fc.constantFrom('A' as const, 'B' as const)
const text = fc.string({ maxLength: 3 })

const outcome: fc.Arbitrary<JobOutcome> = fc.record(
  { status: fc.constantFrom('completed', 'killed', 'failed'), detail: text, output: text },
  { requiredKeys: ['status'] },
)

const start = fc.record(
  {
    op: fc.constant('start' as const),
    owner,
    kind: mostly('bash', 'subagent', ''),
    label: mostly('a', ''),
    limit: mostly(100, 0, 1.5),
    stream: fc.boolean(),
    onCancel: fc.constantFrom<OnCancel>('settles', 'settles', 'settles later', 'throws'),
  },
  { requiredKeys: ['op', 'owner', 'kind', 'label', 'stream', 'onCancel'] },
)

const op = fc.oneof<fc.WeightedArbitrary<Op>[]>(
  { weight: 8, arbitrary: start },
  { weight: 1, arbitrary: fc.constantFrom({ op: 'start badly' }, { op: 'start for an unregistered agent' }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('print'), job, text }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constantFrom('break output', 'reject'), job }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('settle'), job, outcome }) },
  { weight: 5, arbitrary: fc.record({ op: fc.constantFrom('read', 'get', 'list'), job, caller }) },
  {
    weight: 3,
    arbitrary: fc.record(
      { op: fc.constant('kill'), job, caller, reason: text },
      { requiredKeys: ['op', 'job', 'caller'] },
    ),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('wait'),
      job,
      caller,
      timeoutMs: fc.oneof({ weight: 6, arbitrary: fc.constantFrom(1, 20, 50, 1000) }, fc.constantFrom(0, NaN, 2 ** 31)),
      signal: fc.constantFrom('none', 'aborted', 'live', 'live'),
      wake: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('abort'), wait: job }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('abort and settle'), wait: job, job }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('advance'), ms: fc.constantFrom(1, 10, 20, 50) }) },
  {
    weight: 1,
    arbitrary: fc.oneof<fc.MaybeWeightedArbitrary<Op>[]>(
      fc.record({ op: fc.constant('add listeners in the scope of'), owner: agentOnly }),
      fc.record({ op: fc.constantFrom('drop the controller', 'attach a controller', 'dispose the service') }),
      fc.record({ op: fc.constant('dispose'), owner: agentOnly }),
    ),
  },
)

class ScriptedProducer implements JobHooks {
  readonly done: Promise<JobOutcome>
  readonly settle: (outcome: JobOutcome) => void
  readonly fail: (error: unknown) => void
  broken = false
  pending = ''
  readonly readOutput?: () => string
  private readonly name: string
  private readonly onCancel: OnCancel
  private readonly trace: unknown[]

  constructor(name: string, stream: boolean, onCancel: OnCancel, trace: unknown[]) {
    this.name = name
    this.onCancel = onCancel
    this.trace = trace
    const { promise, resolve, reject } = Promise.withResolvers<JobOutcome>()
    this.done = promise
    this.settle = resolve
    this.fail = reject
    if (stream) this.readOutput = () => this.drain()
  }

  cancel(reason?: string): void {
    this.trace.push(['cancel', this.name, reason])
    if (this.onCancel === 'throws') throw new Error(`${this.name} cannot be cancelled`)
    if (this.onCancel === 'settles') this.settle({ status: 'killed' })
    else
      setTimeout(() => {
        this.settle({ status: 'killed', detail: 'slowly' })
      }, 15)
  }

  private drain(): string {
    if (this.broken) throw new Error(`${this.name} has no output`)
    const drained = this.pending
    this.pending = ''
    return drained
  }
}

/** One registry's life: it runs the script and writes down what anyone could see. */
class Life {
  readonly trace: unknown[] = []
  private readonly producers: ScriptedProducer[] = []
  private readonly ids: JobId[] = []
  private readonly owners: Who[] = []
  private readonly waits: AbortController[] = []
  private readonly disposals: Promise<unknown>[] = []
  private readonly ctx: Context
  private readonly registryFiber: Fiber
  private readonly registry: JobRegistry
  private readonly handles: Record<'A' | 'B', AgentHandle>
  private readonly agents: Record<Who, Agent | undefined>
  private drop: (() => void) | undefined

  private constructor(ctx: Context, registryFiber: Fiber, handles: Record<'A' | 'B', AgentHandle>) {
    this.ctx = ctx
    this.registryFiber = registryFiber
    this.registry = ctx.jobs
    this.handles = handles
    this.agents = { A: handles.A.agent, B: handles.B.agent, nobody: undefined }
    ctx.logger.exporter({
      levels: { default: 3 },
      export: ({ type, args }) => {
        if (type === 'warn') this.trace.push(['warning', args])
      },
    })
    this.listen(ctx.jobs, 'all')
  }

  static async begin(Registry: typeof LocalJobRegistry): Promise<Life> {
    const { ctx, registryFiber } = await mountJobs({ maxConcurrentJobsPerOwner: 3 }, Registry)
    return new Life(ctx, registryFiber, { A: await createAgent(ctx, 'A'), B: await createAgent(ctx, 'B') })
  }

  async run(script: readonly Op[]): Promise<unknown[]> {
    for (const each of script) {
      this.trace.push(each.op)
      // As on a real clock, what a timer releases runs before the next timer does.
      if (each.op === 'advance') await vi.advanceTimersByTimeAsync(each.ms)
      else this.attempt(() => this.step(each))
      await settleMicrotasks()
      this.trace.push(['waits', this.waiting()])
    }
    this.disposals.push(this.ctx.fiber.dispose())
    for (const producer of this.producers) producer.settle({ status: 'completed', detail: 'in the end' })
    await vi.advanceTimersByTimeAsync(2000)
    await Promise.all(this.disposals)
    return this.trace
  }

  private listen(jobs: JobRegistry, name: string): void {
    jobs.onJobDone((snapshot, owner) => void this.trace.push(['done', name, snapshot, owner?.id]))
    jobs.onJobDone(() => {
      throw new Error('a listener that throws')
    })
    jobs.onJobDone(() => Promise.reject(new Error('a listener that rejects')))
    jobs.onJobsChanged(owner => void this.trace.push(['changed', name, owner?.id, this.registry.list(owner)]))
    jobs.onJobsChanged(() => {
      throw new Error('an observer that throws')
    })
  }

  private attempt(call: () => unknown): void {
    try {
      this.trace.push(['returned', call()])
    } catch (error) {
      this.trace.push(['threw', String(error)])
    }
  }

  private id(index: number): JobId {
    return this.ids[index % this.ids.length] ?? JobId('bash-99')
  }

  private producer(index: number): ScriptedProducer | undefined {
    return this.producers[index % this.producers.length]
  }

  private caller(index: number, caller: Caller): Agent | undefined {
    return this.agents[caller === 'the owner' ? (this.owners[index % this.owners.length] ?? 'nobody') : caller]
  }

  private step(each: Exclude<Op, { op: 'advance' }>): unknown {
    const { registry, agents } = this
    switch (each.op) {
      case 'start': {
        const { kind, label, owner, stream, onCancel, limit } = each
        const producer = new ScriptedProducer(`producer ${this.producers.length}`, stream, onCancel, this.trace)
        const id = registry.start({
          kind: kind as 'bash',
          label,
          ...(limit === undefined ? {} : { outputLimitBytes: limit }),
          ...(agents[owner] === undefined ? {} : { owner: agents[owner] }),
          run: () => producer,
        })
        this.producers.push(producer)
        this.ids.push(id)
        this.owners.push(owner)
        return id
      }
      case 'start badly':
        return registry.start({
          kind: 'bash',
          label: 'bad',
          run: () => {
            throw new Error('cannot start')
          },
        })
      case 'start for an unregistered agent': {
        const owner = Object.create(agents.A ?? null) as Agent
        return registry.start({ kind: 'bash', label: 'foreign', owner, run: () => expect.unreachable() })
      }
      case 'print': {
        const producer = this.producer(each.job)
        if (producer) producer.pending += each.text
        return undefined
      }
      case 'break output': {
        const producer = this.producer(each.job)
        if (producer) producer.broken = true
        return undefined
      }
      case 'settle':
        this.producer(each.job)?.settle(each.outcome)
        return undefined
      case 'reject':
        this.producer(each.job)?.fail(new Error('a producer that rejects'))
        return undefined
      case 'read':
        return registry.read(this.id(each.job), this.caller(each.job, each.caller))
      case 'get':
        return registry.get(this.id(each.job), this.caller(each.job, each.caller))
      case 'list':
        return registry.list(this.caller(each.job, each.caller))
      case 'kill':
        return registry.kill(this.id(each.job), this.caller(each.job, each.caller), each.reason)
      case 'wait':
        this.wait(each)
        return undefined
      case 'abort':
        this.waits[each.wait % this.waits.length]?.abort()
        return undefined
      case 'abort and settle':
        this.waits[each.wait % this.waits.length]?.abort()
        this.producer(each.job)?.settle({ status: 'completed' })
        return undefined
      case 'add listeners in the scope of':
        this.addScopedListeners(each.owner)
        return undefined
      case 'drop the controller':
        this.drop?.()
        return undefined
      case 'attach a controller':
        this.drop = registry.attachController('another')
        return undefined
      case 'dispose':
        this.disposals.push(this.handles[each.owner].dispose())
        return undefined
      case 'dispose the service':
        this.disposals.push(this.registryFiber.dispose())
        return undefined
    }
  }

  /** A wait's end is written where the wait began: how many turns of the microtask queue it takes is nobody's concern. */
  private wait({ job, caller, timeoutMs, signal: kind, wake }: Extract<Op, { op: 'wait' }>): void {
    const controller = new AbortController()
    this.waits.push(controller)
    if (kind === 'aborted') controller.abort()
    const entry: unknown[] = ['wait']
    this.trace.push(entry)
    const signal = kind === 'none' ? undefined : controller.signal
    // Wake options that ask for nothing are as good as none.
    this.registry.wait(this.id(job), timeoutMs, this.caller(job, caller), signal, wake ? {} : undefined).then(
      result => entry.push(result),
      (error: unknown) => entry.push(String(error)),
    )
    entry.push(this.waiting())
  }

  /** How many waits each job counts. */
  private waiting(): number[] {
    const { store } = this.registry as unknown as { store: Map<JobId, { waitResolvers: Set<unknown> }> }
    return [...store.values()].map(record => record.waitResolvers.size)
  }

  private addScopedListeners(owner: 'A' | 'B'): void {
    void this.handles[owner].agent.ctx.plugin({
      name: 'scoped',
      inject: ['jobs'],
      apply: (scoped: Context) => {
        this.listen(scoped.jobs, `under ${owner}`)
        scoped.jobs.attachController(`of ${owner}`)
      },
    })
  }
}

/** Both disposals wait for one job, and both announce that it is gone. */
const OWNER_AND_SERVICE_GO_TOGETHER: Op[] = [
  { op: 'start', owner: 'B', kind: 'bash', label: 'a', stream: false, onCancel: 'settles later' },
  { op: 'dispose', owner: 'B' },
  { op: 'dispose the service' },
  { op: 'advance', ms: 20 },
]

/**
 * No job starts once the service is being disposed. There the published registry drops the work without cancelling it;
 * this one ends it like all the others (`registry.spec.ts`).
 */
function withoutLateStarts(script: readonly Op[]): Op[] {
  const end = script.findIndex(each => each.op === 'dispose the service')
  return script.filter((each, index) => end < 0 || index < end || each.op !== 'start')
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('leaves the same trace as the published registry', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(op, { minLength: 5, maxLength: 40 }).map(withoutLateStarts), async script => {
      vi.setSystemTime(1_000_000)
      const stock = await (await Life.begin(StockJobRegistry as unknown as typeof LocalJobRegistry)).run(script)
      vi.setSystemTime(1_000_000)
      const ours = await (await Life.begin(LocalJobRegistry)).run(script)
      expect(ours).toEqual(stock)
    }),
    { numRuns: Number(process.env.HUNT_RUNS ?? 100), examples: [[OWNER_AND_SERVICE_GO_TOGETHER]] },
  )
}, 60_000)
