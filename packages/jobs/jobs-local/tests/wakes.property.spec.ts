/**
 * Random lives of a job: a producer, readers, waiters and a user act in an interleaving that fast-check's scheduler
 * picks, on a fake clock. Whatever they do, nothing is drawn but by a read, which returns it as it is; no wait outlives
 * its timeout; and nothing of a wait is left behind.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import fc from 'fast-check'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { JobId, JobWaitResult, JobWakeOptions } from '@deepseek-ai/dsh-jobs'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { createAgent, mountJobs, settleMicrotasks, StreamProducer } from './harness.ts'

const INBOX_CHANGES = ['agent/inbox/inserted', 'agent/inbox/discarded', 'agent/inbox/claimed']

const countListeners = (ctx: Context) => INBOX_CHANGES.map(event => ctx.events._hooks[event]?.length ?? 0).join()

/** Notes all that it ever gave away, and may break for a while, or be of the kind that does not tell of output. */
class NotingProducer extends StreamProducer {
  readonly returned: string[] = []
  broken = false

  constructor(tells: boolean) {
    super()
    this.onCancel = () => {
      this.settle({ status: 'killed' })
    }
    if (!tells) Object.defineProperty(this, 'onOutput', { value: undefined })
  }

  override readOutput(): string {
    if (this.broken) throw new Error('broken')
    const text = super.readOutput()
    this.returned.push(text)
    return text
  }

  override onOutput(listener: () => void): () => void {
    if (this.broken) throw new Error('broken')
    const own = () => {
      listener()
    }
    return super.onOutput(own)
  }
}

type Act =
  | { act: 'print'; size: number }
  | { act: 'break' | 'mend' | 'settle' | 'kill' }
  | { act: 'read' }
  | { act: 'wait'; timeoutMs: number; output: boolean; steer: boolean; abortable: boolean }
  | { act: 'abort'; wait: number }
  | { act: 'steer' | 'replace' | 'withdraw' | 'claim' | 'notice' }
  | { act: 'pass'; ms: number }

const pass = fc.record({
  act: fc.constant('pass' as const),
  ms: fc.constantFrom(1, 49, 50, 100, 199, 200, 250, 700, 2000),
})

/** What one actor does, with pauses in between. */
function actor(...acts: fc.Arbitrary<Act>[]): fc.Arbitrary<Act[]> {
  return fc.array(fc.oneof<fc.Arbitrary<Act>[]>(...acts, pass), { maxLength: 12 })
}

const print = fc.record({ act: fc.constant('print' as const), size: fc.constantFrom(0, 1, 3, 40_000) })
const wait = fc.record({
  act: fc.constant('wait' as const),
  timeoutMs: fc.constantFrom(1, 200, 250, 1000, 5000),
  output: fc.boolean(),
  steer: fc.boolean(),
  abortable: fc.boolean(),
})

const life = fc.record({
  tells: fc.boolean(),
  wake: fc.record({
    graceMs: fc.constantFrom(0, 1, 250),
    maxHoldMs: fc.constantFrom(0, 100, 1000),
    outputIntervalMs: fc.constantFrom(0, 500, 3000),
    maxOutputIntervalMs: fc.constantFrom(3000, 10_000),
  }),
  producer: actor(print, print, print, fc.record({ act: fc.constantFrom('break', 'mend') })),
  waiter: actor(wait, fc.record({ act: fc.constant('abort'), wait: fc.nat({ max: 5 }) })),
  secondWaiter: actor(wait),
  reader: actor(fc.record({ act: fc.constant('read') })),
  user: actor(fc.record({ act: fc.constantFrom('steer', 'replace', 'withdraw', 'claim', 'notice') })),
  end: fc.constantFrom('settle' as const, 'kill' as const, 'mend' as const),
})

interface Waiting {
  readonly startedAt: number
  readonly timeoutMs: number
  readonly wake: JobWakeOptions
  readonly controller: AbortController
  /** Whether output may end it. */
  readonly isListening: boolean
  endedAt?: number
  result?: JobWaitResult
  /** Whether the user had a steer pending when the wait ended. */
  steered?: boolean
}

class Scene {
  readonly waits: Waiting[] = []
  readonly read: string[] = []
  readonly producer: NotingProducer
  readonly id: JobId
  readonly printed: string[] = []
  private readonly ctx: Context
  private readonly agent: Agent
  private readonly tells: boolean
  private readonly wake: JobWakeOptions

  constructor(ctx: Context, agent: Agent, tells: boolean, wake: JobWakeOptions) {
    this.ctx = ctx
    this.agent = agent
    this.tells = tells
    this.wake = wake
    this.producer = new NotingProducer(tells)
    this.id = ctx.jobs.start(this.producer.spec({ owner: agent }))
  }

  async play(each: Act): Promise<void> {
    if (each.act === 'pass') await vi.advanceTimersByTimeAsync(each.ms)
    else this.perform(each)
    await settleMicrotasks()
    const waiting = this.waits.filter(({ endedAt }) => endedAt === undefined)
    const listening = waiting.filter(({ isListening }) => isListening)
    // A timeout each, and one timer for all of them.
    expect(vi.getTimerCount()).toBeLessThanOrEqual(waiting.length === 0 ? 0 : waiting.length + 1)
    expect(this.producer.listeners.size).toBe(listening.length > 0 ? 1 : 0)
  }

  private perform(each: Exclude<Act, { act: 'pass' }>): void {
    const { producer, agent } = this
    const source = { kind: 'plugin', plugin: 'p', form: 'notice', summary: 's' } as const
    switch (each.act) {
      case 'print':
        this.print(each.size)
        break
      case 'break':
      case 'mend':
        producer.broken = each.act === 'break'
        break
      case 'settle':
        producer.settle({ status: 'completed' })
        break
      case 'kill':
        this.ctx.jobs.kill(this.id, agent)
        break
      case 'read':
        this.readOnce()
        break
      case 'wait':
        this.startWait(each)
        break
      case 'abort':
        this.waits[each.wait]?.controller.abort()
        break
      case 'steer':
        agent.steer(createUserMessage({ content: [], source: { kind: 'user' } }))
        break
      case 'replace': {
        const [first] = agent.inbox.nextStep
        if (first) agent.inbox.replace(first.id, createUserMessage({ content: [], source: first.source }))
        break
      }
      case 'withdraw':
        agent.inbox.clear()
        break
      case 'claim':
        agent.inbox.claim('next-step', 1)
        break
      case 'notice':
        agent.inject(createUserMessage({ content: [], source }))
    }
  }

  private print(size: number): void {
    const text = size === 0 ? '' : `<${this.printed.length}>`.padEnd(size, '.')
    this.printed.push(text)
    this.producer.print(text)
  }

  readOnce(): void {
    try {
      this.read.push(this.ctx.jobs.read(this.id, this.agent).text)
    } catch (error) {
      expect(error).toEqual(new Error('broken'))
    }
  }

  private startWait({ timeoutMs, output, steer, abortable }: Extract<Act, { act: 'wait' }>): void {
    const controller = new AbortController()
    const wake = { ...this.wake, output, steer }
    const { producer } = this
    const isListening = output && this.tells && (producer.listeners.size > 0 || !producer.broken)
    const waiting: Waiting = { startedAt: performance.now(), timeoutMs, wake, controller, isListening }
    this.waits.push(waiting)
    const ended = () => {
      waiting.endedAt = performance.now()
      waiting.steered = this.agent.inbox.nextStep.some(({ source }) => source.kind === 'user')
    }
    this.ctx.jobs.wait(this.id, timeoutMs, this.agent, abortable ? controller.signal : undefined, wake).then(result => {
      waiting.result = result
      ended()
    }, ended)
  }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('draws nothing but for a read, overstays no timeout and leaves nothing behind, whoever acts when', async () => {
  const { ctx } = await mountJobs()
  let run = 0
  const idleListeners = countListeners(ctx)

  await fc.assert(
    fc.asyncProperty(life, fc.scheduler(), async ({ tells, wake, end, ...actors }, scheduler) => {
      run += 1
      const handle = await createAgent(ctx, `agent-${run}`)
      handle.agent.followup(createUserMessage({ content: [], source: { kind: 'user' } }))
      await vi.waitFor(() => {
        expect(handle.agent.inbox.hasPending).toBe(false)
      })
      const scene = new Scene(ctx, handle.agent, tells, wake)
      for (const acts of Object.values(actors)) {
        scheduler.scheduleSequence(acts.map(act => ({ label: act.act, builder: () => scene.play(act) })))
      }
      await scheduler.waitIdle()
      await scene.play({ act: 'mend' })
      await scene.play({ act: end })
      await vi.advanceTimersByTimeAsync(5000)
      scene.readOnce()

      expect(scene.read).toEqual(scene.producer.returned)
      expect(scene.read.join('')).toBe(scene.printed.join(''))
      checkWaits(scene.waits, wake)
      expect(vi.getTimerCount()).toBe(0)
      expect(countListeners(ctx)).toBe(idleListeners)
      await scene.play({ act: 'settle' })
      expect(scene.producer.listeners.size).toBe(0)
      await handle.dispose()
    }),
    { numRuns: Number(process.env.HUNT_RUNS ?? 200) },
  )
}, 60_000)

function checkWaits(
  waits: readonly Waiting[],
  { outputIntervalMs, maxOutputIntervalMs }: { outputIntervalMs: number; maxOutputIntervalMs: number },
): void {
  const outputEnds = new Set<number>()
  for (const { startedAt, endedAt = Infinity, timeoutMs, result, steered, isListening, wake } of waits) {
    expect(endedAt).toBeLessThanOrEqual(startedAt + timeoutMs)
    expect(result?.nextOutputWakeMs === undefined).toBe(result?.wokenBy !== 'output')
    if (result?.wokenBy === undefined) continue
    expect(result.status).toMatch(/running|stopping/)
    if (result.wokenBy === 'steer') expect([wake.steer, steered]).toEqual([true, true])
    if (result.wokenBy !== 'output') continue
    expect(isListening).toBe(true)
    expect(result.nextOutputWakeMs).toBeLessThanOrEqual(outputIntervalMs && maxOutputIntervalMs)
    outputEnds.add(endedAt)
  }
  // Three quick ends, three more if the pace begins anew in between, and two others.
  for (const end of outputIntervalMs === 0 ? [] : outputEnds) {
    const near = [...outputEnds].filter(other => other >= end && other < end + outputIntervalMs)
    expect(near.length).toBeLessThanOrEqual(8)
  }
}
