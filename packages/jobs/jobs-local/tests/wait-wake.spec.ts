/** The wakes of a wait: the decisions by tables, then every state and closing site in the real registry, on a fake clock. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Context, type Fiber } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import type { JobHooks, JobId, JobOutcome, JobSnapshot, JobWakeOptions } from '@deepseek-ai/dsh-jobs'
import { createUserMessage, LlmAdapter, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import { LocalJobRegistry } from '../src/index.ts'
import { steerWindow } from '../src/steer-watch.ts'
import { decide, outputDue } from '../src/wait-wake.ts'
import { wakeSettings } from '../src/wake-settings.ts'

const NEVER = Infinity

describe('decide', () => {
  it.each([
    ['nothing in sight: asks never again', { timeout: 100, steer: NEVER, output: NEVER }, NEVER],
    ['only the timeout in sight: leaves it to the timeout', { timeout: 11, steer: NEVER, output: NEVER }, NEVER],
    ['a steer not yet due: asks again then', { timeout: 100, steer: 11, output: 12 }, 11],
    ['output not yet due: asks again then', { timeout: 100, steer: 12, output: 11 }, 11],
    ['a steer due now', { timeout: 100, steer: 10, output: NEVER }, 'steer'],
    ['output due now', { timeout: 100, steer: NEVER, output: 10 }, 'output'],
    ['output overdue, a steer to come', { timeout: 100, steer: 11, output: 9 }, 'output'],
    ['both due: the steer', { timeout: 100, steer: 10, output: 9 }, 'steer'],
    ['all due: the timeout, which is not ended here', { timeout: 10, steer: 10, output: 10 }, NEVER],
    ['all overdue', { timeout: 9, steer: 8, output: 7 }, NEVER],
  ] as const)('%s', (_name, due, verdict) => {
    expect(decide(10, due)).toBe(verdict)
  })
})

describe('outputDue', () => {
  const wake = wakeSettings({ graceMs: 3, maxHoldMs: 10, outputIntervalMs: 100 })

  it.each([
    ['the first output: quiet for the grace', { first: 50, last: 50 }, -Infinity, 53],
    ['more output: quiet from then on', { first: 50, last: 55 }, -Infinity, 58],
    ['output that never rests: held no longer than may be', { first: 50, last: 59 }, -Infinity, 60],
    ['soon after a wake: paced', { first: 50, last: 50 }, 20, 120],
    ['long after a wake: not paced', { first: 130, last: 130 }, 20, 133],
  ])('%s', (_name, unread, lastWake, due) => {
    expect(outputDue(unread, lastWake, wake)).toBe(due)
  })
})

describe('steerWindow', () => {
  it.each([
    ['the first wait: the grace', 250, 0, 250],
    ['the second: twice that', 250, 1, 500],
    ['the third: twice that again', 250, 2, 1000],
    ['never above ten seconds', 250, 6, 10_000],
    ['also after a thousand waits', 250, 1000, 10_000],
    ['no grace at first', 0, 0, 0],
    ['no grace, again: grows all the same', 0, 3, 8],
    ['a longer grace than that is kept', 20_000, 3, 20_000],
  ])('%s', (_name, graceMs, wakes, window) => {
    expect(steerWindow(graceMs, wakes)).toBe(window)
  })
})

describe('wakeSettings', () => {
  it('has the documented defaults', () => {
    expect(wakeSettings({})).toEqual({
      output: false,
      steer: false,
      graceMs: 250,
      maxHoldMs: 1000,
      outputIntervalMs: 10_000,
      pollMs: 200,
    })
  })

  it('keeps what is given, from the least to the longest time', () => {
    const least = { output: true, steer: true, graceMs: 0, maxHoldMs: 0, outputIntervalMs: 0, pollMs: 1 }
    const most = 2 ** 31 - 1
    const longest = { ...least, graceMs: most, maxHoldMs: most, outputIntervalMs: most, pollMs: most }
    expect(wakeSettings(least)).toEqual(least)
    expect(wakeSettings(longest)).toEqual(longest)
  })

  const times = ['graceMs', 'maxHoldMs', 'outputIntervalMs', 'pollMs'] as const
  const bad = [-1, NaN, Infinity, 2 ** 31, '5' as unknown as number]
  it.each(times.flatMap(name => bad.map(value => [name, value] as const)))('names %s if it is %s', (name, value) => {
    expect(() => wakeSettings({ [name]: value })).toThrow(`invalid ${name}: expected milliseconds from`)
  })

  it('wants a poll interval above zero', () => {
    expect(() => wakeSettings({ pollMs: 0 })).toThrow(
      'invalid pollMs: expected milliseconds from 1 to 2147483647, got 0',
    )
  })
})

/** A model that never answers: the agent stays in its step, as it does while a tool of it waits. */
class SilentModel extends LlmAdapter {
  async *stream(): AsyncIterable<StreamChunk> {
    await new Promise(() => {})
    yield { type: 'finish', reason: { kind: 'stop' } }
  }
}

/** A producer driven by hand, which counts how often it is drawn from. */
class Producer implements JobHooks {
  draws = 0
  broken = false
  readonly done: Promise<JobOutcome>
  readonly settle: (outcome: JobOutcome) => void
  private pending = ''

  constructor() {
    const { promise, resolve } = Promise.withResolvers<JobOutcome>()
    this.done = promise
    this.settle = resolve
  }

  print(text: string): void {
    this.pending += text
  }

  cancel(): void {
    this.settle({ status: 'killed' })
  }

  readOutput(): string {
    this.draws += 1
    if (this.broken) throw new Error('pipe closed')
    const text = this.pending
    this.pending = ''
    return text
  }
}

/** A producer that says when it prints. */
class PushProducer extends Producer {
  readonly listeners = new Set<() => void>()

  override print(text: string): void {
    super.print(text)
    for (const listener of this.listeners) listener()
  }

  onOutput(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}

const userMessage = (text: string) => createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })

let ctx: Context
let registryFiber: Fiber
let agent: Agent
let warnings: unknown[][]
let idleListeners: string

const countListeners = () =>
  ['agent/inbox/inserted', 'agent/inbox/discarded', 'agent/inbox/claimed']
    .map(event => ctx.events._hooks[event]?.length ?? 0)
    .join()

beforeEach(async () => {
  ctx = new Context()
  await mountAgentLoopTestDependencies(ctx)
  ctx.llm.registerAdapter(['silent'], new SilentModel())
  await ctx.plugin(AgentLoop, { agents: [] })
  registryFiber = await ctx.plugin(LocalJobRegistry, {})
  ctx.jobs.attachController('test')
  agent = await busyAgent('A')
  warnings = []
  ctx.logger.exporter({
    levels: { default: 3 },
    export: ({ type, args }) => {
      if (type === 'warn') warnings.push(args)
    },
  })
  idleListeners = countListeners()
  vi.useFakeTimers()
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** A real agent in the middle of a step, so that what its user says now is a steer. */
async function busyAgent(id: string): Promise<Agent> {
  const { agent: created } = await ctx.agents.create({
    sessionId: SessionId(id),
    agentOptions: { provider: 'silent', model: 'm' },
  })
  created.followup(userMessage('begin'))
  await vi.waitFor(() => {
    expect(created.inbox.hasPending).toBe(false)
  })
  return created
}

function startJob(producer: JobHooks, owner?: Agent): JobId {
  return ctx.jobs.start({ kind: 'bash', label: 'pnpm test', run: () => producer, ...(owner ? { owner } : {}) })
}

/** Wait for a job and note how that ended: by what, or in which status, or with which error. */
function startWait(
  id: JobId,
  wake: JobWakeOptions,
  more: { timeoutMs?: number; caller?: Agent; signal?: AbortSignal } = {},
) {
  const { timeoutMs = 60_000, caller = agent, signal } = more
  const wait = { end: 'waiting', result: undefined as JobSnapshot | undefined }
  ctx.jobs.wait(id, timeoutMs, caller, signal, wake).then(
    result => {
      wait.end = result.wokenBy ?? result.status
      wait.result = result
    },
    (error: unknown) => {
      wait.end = String(error)
    },
  )
  return wait
}

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms)

function waitersOf(id: JobId): number | undefined {
  const { store } = ctx.jobs as unknown as { store: Map<JobId, { waitResolvers: Set<unknown> }> }
  return store.get(id)?.waitResolvers.size
}

/** Nothing of any wait is left: no timer, no listener, no waiter. */
function expectNothingLeft(id: JobId): void {
  expect(vi.getTimerCount()).toBe(0)
  expect(countListeners()).toBe(idleListeners)
  expect(waitersOf(id)).toBe(0)
}

const OUTPUT: JobWakeOptions = { output: true }
const STEER: JobWakeOptions = { steer: true }

describe('a steer', () => {
  it('that comes in ends the wait after the window, is not consumed, and leaves nothing behind', async () => {
    const id = startJob(new Producer())
    const wait = startWait(id, STEER)
    await advance(300)
    agent.steer(userMessage('stop'))
    await advance(249)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('steer')
    expect(wait.result).toMatchObject({ status: 'running', reported: false })
    expect(agent.inbox.nextStep).toHaveLength(1)
    expectNothingLeft(id)
  })

  it('that is pending already opens its window at the start', async () => {
    agent.steer(userMessage('stop'))
    const wait = startWait(startJob(new Producer()), STEER)
    await advance(249)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('steer')
  })

  it('ends the wait at once if there is no window', async () => {
    agent.steer(userMessage('stop'))
    const id = startJob(new Producer())
    const wait = startWait(id, { steer: true, graceMs: 0 })
    expect(waitersOf(id)).toBe(0)
    await advance(0)
    expect(wait.end).toBe('steer')
    expectNothingLeft(id)
  })

  it('that is withdrawn in its window does not end the wait, and a later one does', async () => {
    const id = startJob(new Producer())
    const wait = startWait(id, STEER)
    const first = userMessage('stop')
    agent.steer(first)
    await advance(100)
    agent.inbox.remove(first.id)
    await advance(1000)
    expect(wait.end).toBe('waiting')
    expect(vi.getTimerCount()).toBe(1)

    agent.steer(first)
    await advance(249)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('steer')
  })

  it('that is withdrawn and comes again has its window anew', async () => {
    const wait = startWait(startJob(new Producer()), STEER)
    const message = userMessage('stop')
    agent.steer(message)
    await advance(200)
    agent.inbox.remove(message.id)
    agent.steer(message)
    await advance(249)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('steer')
  })

  it('that is replaced in its window ends the wait at the end of it, however often it is', async () => {
    const id = startJob(new Producer())
    const wait = startWait(id, STEER)
    let message = userMessage('stop')
    agent.steer(message)
    for (const text of ['stop now', 'stop at once']) {
      await advance(100)
      const next = userMessage(text)
      agent.inbox.replace(message.id, next)
      message = next
    }
    await advance(49)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('steer')
    expectNothingLeft(id)
  })

  it.each([
    [
      'withdrawn',
      () => {
        agent.inbox.clear()
      },
    ],
    ['claimed', () => agent.inbox.claim('next-step', 1)],
  ])('that follows one that was %s has a window of its own', async (_name, take) => {
    const wait = startWait(startJob(new Producer()), STEER)
    agent.steer(userMessage('stop'))
    await advance(100)
    take()
    await advance(100)
    agent.steer(userMessage('now'))
    await advance(249)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('steer')
  })

  it('is not seen in an inbox that throws: logged once, and neither a waiter nor output is lost', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const inbox = vi.spyOn(agent, 'inbox', 'get').mockImplementation(() => {
      throw new Error('closed')
    })
    const wait = startWait(id, { output: true, steer: true }, { timeoutMs: 1000 })
    await advance(100)
    producer.print('a')
    expect(ctx.jobs.read(id, agent).text).toBe('a')
    await advance(900)
    expect(wait.end).toBe('running')
    expect(warnings).toEqual([
      [expect.stringMatching(/^jobs: job bash-1 is waited for .* inbox throws.*Error: closed$/)],
    ])
    expectNothingLeft(id)
    inbox.mockRestore()
  })

  it('that was claimed in its window does not end the wait', async () => {
    const wait = startWait(startJob(new Producer()), STEER)
    agent.steer(userMessage('stop'))
    await advance(100)
    agent.inbox.claim('next-step', 1)
    await advance(1000)
    expect(wait.end).toBe('waiting')
  })

  it('does not open the window again when a second one follows', async () => {
    const wait = startWait(startJob(new Producer()), STEER)
    agent.steer(userMessage('stop'))
    await advance(200)
    agent.steer(userMessage('now'))
    await advance(50)
    expect(wait.end).toBe('steer')
  })

  it('is not a notice of a plugin, a prompt for the next turn, or what another agent is told', async () => {
    const other = await busyAgent('B')
    const wait = startWait(startJob(new Producer()), { output: true, steer: true })
    const source = { kind: 'plugin', plugin: 'tool-jobs', form: 'notice', summary: 'done' } as const
    agent.inject(createUserMessage({ content: [{ type: 'text', text: 'a job is done' }], source }))
    agent.followup(userMessage('and then'))
    const armed = vi.spyOn(globalThis, 'setTimeout')
    other.steer(userMessage('stop'))
    expect(armed).not.toHaveBeenCalled()
    await advance(1000)
    expect(wait.end).toBe('waiting')
    expect(agent.inbox.nextStep).toHaveLength(1)
    await advance(59_000)
    expect(wait.end).toBe('running')
  })

  it('wakes nobody who did not ask, or has no inbox', async () => {
    const id = startJob(new Producer())
    const stranger = { id: agent.id } as Agent
    agent.steer(userMessage('stop'))
    const waits = [startWait(id, {}), startWait(id, OUTPUT), startWait(id, STEER, { caller: stranger })]
    const anonymous = ctx.jobs.wait(id, 1000, undefined, undefined, STEER)
    await advance(1000)
    expect(waits.map(({ end }) => end)).toEqual(['waiting', 'waiting', 'waiting'])
    expect((await anonymous).wokenBy).toBeUndefined()
  })

  it('is heard though the plugin that waits is unloaded', async () => {
    const id = startJob(new Producer())
    let wait = { end: 'not started' }
    const plugin = await ctx.plugin({
      inject: ['jobs'],
      apply: (scoped: Context) => {
        const waiting = { end: 'waiting' }
        wait = waiting
        void scoped.jobs.wait(id, 60_000, agent, undefined, STEER).then(({ wokenBy }) => {
          waiting.end = String(wokenBy)
        })
      },
    })
    await plugin.dispose()
    agent.steer(userMessage('stop'))
    await advance(250)
    expect(wait.end).toBe('steer')
  })

  it('lets a wait be started while the registry is being disposed', async () => {
    const producer = new Producer()
    producer.cancel = () => {}
    const id = startJob(producer)
    const { jobs } = ctx
    const disposal = registryFiber.dispose()
    await advance(0)
    const waiting = jobs.wait(id, 60_000, agent, undefined, STEER)
    producer.settle({ status: 'killed' })
    await expect(waiting).resolves.toMatchObject({ status: 'killed' })
    await disposal
  })

  it('that is pending still doubles the window of each further wait, on whatever job, until it is claimed', async () => {
    const ids = [startJob(new Producer()), startJob(new Producer())]
    agent.steer(userMessage('stop'))
    const windows: number[] = []
    const waitOnce = async (round: number) => {
      const start = performance.now()
      const wait = startWait(ids[round % 2] ?? startJob(new Producer()), STEER)
      while (wait.end === 'waiting') await vi.advanceTimersToNextTimerAsync()
      expect(wait.end).toBe('steer')
      windows.push(performance.now() - start)
    }
    for (let round = 0; round < 8; round += 1) await waitOnce(round)
    expect(windows).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000])

    windows.length = 0
    agent.steer(userMessage('and now'))
    await waitOnce(0)
    agent.inbox.claim('next-step', 1)
    agent.steer(userMessage('another thing'))
    await waitOnce(0)
    expect(windows).toEqual([250, 250])
  })
})

describe('output without a signal', () => {
  it('is looked for at once and then at each interval, and comes back after the window', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const wait = startWait(id, OUTPUT)
    expect(producer.draws).toBe(1)
    await advance(399)
    expect(producer.draws).toBe(2)
    producer.print('10%')
    await advance(1)
    expect(producer.draws).toBe(3)
    await advance(249)
    expect([wait.end, producer.draws]).toEqual(['waiting', 3])
    await advance(1)
    expect([wait.end, producer.draws]).toEqual(['output', 4])
    expect(wait.result).toMatchObject({ status: 'running', reported: false })
    expectNothingLeft(id)

    producer.print(' 20%')
    expect(ctx.jobs.read(id, agent).text).toBe('10% 20%')
    expect(ctx.jobs.read(id, agent).text).toBe('')
  })

  it('that was unread at the start counts at once', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    ctx.jobs.read(id, agent)
    producer.print('10%')
    const wait = startWait(id, OUTPUT)
    await advance(249)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('output')
  })

  it('ends the wait in the tick of its first draw if there is no window', async () => {
    const producer = new Producer()
    producer.print('10%')
    const id = startJob(producer)
    const wait = startWait(id, { output: true, graceMs: 0 })
    expect(waitersOf(id)).toBe(0)
    await advance(0)
    expect([wait.end, producer.draws]).toEqual(['output', 1])
  })

  it('is never looked for while nobody waits for it', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const wait = startWait(id, STEER, { timeoutMs: 1000 })
    await advance(1000)
    expect([wait.end, producer.draws]).toEqual(['running', 0])
    const second = startWait(id, OUTPUT, { timeoutMs: 1000 })
    await advance(1000)
    expect(second.end).toBe('running')
    const { draws } = producer
    await advance(60_000)
    expect(producer.draws).toBe(draws)
    expectNothingLeft(id)
  })

  it('is held back while it grows, but no longer than may be, with few draws', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const wait = startWait(id, OUTPUT)
    const printing = setInterval(() => {
      producer.print('.')
    }, 50)
    await advance(1199)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('output')
    expect(producer.draws).toBeLessThan(8)
    clearInterval(printing)
    expect(ctx.jobs.read(id, agent).text).toBe('.'.repeat(24))
  })

  it('that was quiet for the window comes back after more of it', async () => {
    const producer = new Producer()
    const wait = startWait(startJob(producer), OUTPUT)
    producer.print('a')
    await advance(200)
    producer.print('b')
    await advance(250)
    expect(wait.end).toBe('waiting')
    await advance(249)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('output')
  })

  it('comes back at most once in the interval, and is drawn for that only at the end of it', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    producer.print('a')
    startWait(id, OUTPUT)
    await advance(250)
    ctx.jobs.read(id, agent)

    producer.print('b')
    const wait = startWait(id, OUTPUT)
    const { draws } = producer
    await advance(9999)
    expect([wait.end, producer.draws]).toEqual(['waiting', draws])
    await advance(1)
    expect([wait.end, producer.draws]).toEqual(['output', draws + 1])
  })

  it('paces each job by itself', async () => {
    for (const producer of [new Producer(), new Producer()]) {
      producer.print('a')
      const wait = startWait(startJob(producer), OUTPUT)
      await advance(250)
      expect(wait.end).toBe('output')
    }
  })

  it('that a reader took in the window does not end the wait: it starts over', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const wait = startWait(id, OUTPUT)
    producer.print('a')
    await advance(300)
    const { draws } = producer
    expect(ctx.jobs.read(id, agent).text).toBe('a')
    await advance(199)
    expect(producer.draws).toBe(draws + 1)
    await advance(801)
    expect(wait.end).toBe('waiting')
    producer.print('b')
    await advance(450)
    expect(wait.end).toBe('output')
    expect(ctx.jobs.read(id, agent).text).toBe('b')
  })

  it('that a reader took while it was held back is looked for again at once, and comes back in time', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    producer.print('a')
    startWait(id, OUTPUT)
    await advance(250)
    const wait = startWait(id, OUTPUT)
    producer.print('b')
    await advance(1000)
    expect(ctx.jobs.read(id, agent).text).toBe('ab')
    producer.print('c')
    await advance(8999)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('output')
  })

  it('is not looked for on account of a wait for steers', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    startWait(id, OUTPUT)
    await advance(100)
    startWait(id, STEER)
    expect(producer.draws).toBe(1)
  })

  it('that is held and was not read wakes the next wait too, without a poll', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    producer.print('a')
    const wake = { output: true, outputIntervalMs: 1000 }
    startWait(id, wake)
    await advance(250)
    const wait = startWait(id, wake)
    await advance(999)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('output')
  })

  it('wakes every wait on the job, and the first read takes it', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const waits = [startWait(id, OUTPUT), startWait(id, OUTPUT), startWait(id, STEER)]
    producer.print('a')
    await advance(450)
    expect(waits.map(({ end }) => end)).toEqual(['output', 'output', 'waiting'])
    expect(ctx.jobs.read(id, agent).text).toBe('a')
    expect(ctx.jobs.read(id, agent).text).toBe('')
  })

  it('is polled for once per interval, however many wait', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    startWait(id, OUTPUT)
    startWait(id, { output: true, pollMs: 100 })
    await advance(50)
    const { draws } = producer
    await advance(1000)
    expect(producer.draws - draws).toBe(10)
  })

  it('is not drawn any more once 64 KiB are held, and comes back whole', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    producer.print('é'.repeat(16 * 1024))
    const wait = startWait(id, OUTPUT)
    await advance(100)
    producer.print('é'.repeat(16 * 1024))
    await advance(150)
    expect([wait.end, producer.draws]).toEqual(['waiting', 2])
    producer.print('more')
    await advance(250)
    expect([wait.end, producer.draws]).toEqual(['output', 2])
    expect(ctx.jobs.read(id, agent).text).toBe(`${'é'.repeat(32 * 1024)}more`)
  })

  it('of a job that has only a final one wakes nobody', async () => {
    const { done } = new Producer()
    const listeners = new Set<() => void>()
    const onOutput = (listener: () => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    }
    const polled = startWait(startJob({ done, cancel: () => {} }), OUTPUT, { timeoutMs: 5000 })
    expect(vi.getTimerCount()).toBe(1)
    const wait = startWait(startJob({ done, cancel: () => {}, onOutput }), OUTPUT, { timeoutMs: 5000 })
    for (const listener of listeners) listener()
    await advance(5000)
    expect([polled.end, wait.end]).toEqual(['running', 'running'])
  })

  it('of a producer that throws is contained: logged once, nothing lost, no output wake, the steer still heard', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    producer.print('kept')
    const wait = startWait(id, { output: true, steer: true })
    producer.broken = true
    await advance(20_000)
    expect(wait.end).toBe('waiting')
    expect(warnings).toEqual([
      [expect.stringMatching(/^jobs: job bash-1 readOutput threw while nobody read.*Error: pipe closed$/)],
    ])
    expect(() => ctx.jobs.read(id, agent)).toThrow('pipe closed')
    producer.broken = false
    producer.print(' and more')
    agent.steer(userMessage('stop'))
    await advance(250)
    expect(wait.end).toBe('steer')
    expect(ctx.jobs.read(id, agent).text).toBe('kept and more')
    expectNothingLeft(id)
  })

  it('of a producer that throws is looked for again by the next wait', async () => {
    const producer = new Producer()
    producer.broken = true
    const id = startJob(producer)
    startWait(id, OUTPUT, { timeoutMs: 1000 })
    await advance(1000)
    producer.broken = false
    producer.print('a')
    const wait = startWait(id, OUTPUT)
    await advance(250)
    expect(wait.end).toBe('output')
  })
})

describe('output with a signal', () => {
  it('ends the wait after the window, without a draw or a poll', async () => {
    const producer = new PushProducer()
    const id = startJob(producer)
    const wait = startWait(id, OUTPUT)
    expect(vi.getTimerCount()).toBe(1)
    await advance(1000)
    producer.print('a')
    await advance(200)
    producer.print('b')
    await advance(249)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect([wait.end, producer.draws]).toEqual(['output', 0])
    expectNothingLeft(id)
    expect(ctx.jobs.read(id, agent).text).toBe('ab')
  })

  it('that came before the wait and is unread ends it without a draw, and what was read does not', async () => {
    const producer = new PushProducer()
    const id = startJob(producer)
    producer.print('a')
    await advance(5000)
    const wake = { output: true, outputIntervalMs: 0 }
    const wait = startWait(id, wake)
    await advance(0)
    expect([wait.end, producer.draws]).toEqual(['output', 0])
    ctx.jobs.read(id, agent)
    const second = startWait(id, wake, { timeoutMs: 1000 })
    await advance(1000)
    expect(second.end).toBe('running')
  })

  it('is held no longer than may be while it goes on', async () => {
    const producer = new PushProducer()
    const wait = startWait(startJob(producer), OUTPUT)
    const printing = setInterval(() => {
      producer.print('.')
    }, 100)
    await advance(500)
    // The timeout, the printing, and one timer for all the output.
    expect(vi.getTimerCount()).toBe(3)
    await advance(599)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('output')
    clearInterval(printing)
  })

  it('is listened to until the job has ended', async () => {
    const producer = new PushProducer()
    const id = startJob(producer)
    expect(producer.listeners.size).toBe(1)
    const wait = startWait(id, OUTPUT)
    producer.settle({ status: 'completed' })
    await advance(0)
    expect(wait.end).toBe('completed')
    expect(producer.listeners.size).toBe(0)
    expectNothingLeft(id)
  })

  it('is listened to no longer when the job has ended, though nobody waited', () => {
    const producer = new PushProducer()
    startJob(producer)
    expect(producer.listeners.size).toBe(1)
    producer.settle({ status: 'completed' })
    return vi.waitFor(() => {
      expect(producer.listeners.size).toBe(0)
    })
  })

  it('is listened to no longer when the last wait has ended, whatever ended it', async () => {
    const producer = new PushProducer()
    const id = startJob(producer)
    const wait = startWait(id, OUTPUT)
    const other = startWait(id, { steer: true }, { timeoutMs: 1000 })
    producer.print('a')
    await advance(250)
    expect([wait.end, producer.listeners.size]).toEqual(['output', 1])
    await advance(750)
    expect([other.end, producer.listeners.size, producer.draws]).toEqual(['running', 0, 0])
  })

  it('is looked for once by a later wait, which listens again', async () => {
    const producer = new PushProducer()
    const id = startJob(producer)
    const wake = { output: true, outputIntervalMs: 0 }
    startWait(id, wake, { timeoutMs: 100 })
    await advance(100)
    producer.print('in between')
    const second = startWait(id, wake)
    await advance(250)
    expect([second.end, producer.draws, ctx.jobs.read(id, agent).text]).toEqual(['output', 1, 'in between'])
    producer.draws = 0
    const third = startWait(id, wake)
    await advance(1000)
    producer.print('later')
    await advance(250)
    expect([third.end, producer.draws, producer.listeners.size]).toEqual(['output', 1, 0])
  })

  it('is not looked for by a later wait that knows of it', async () => {
    const producer = new PushProducer()
    const id = startJob(producer)
    const wake = { output: true, outputIntervalMs: 0 }
    startWait(id, wake)
    producer.print('a')
    await advance(250)
    const second = startWait(id, wake)
    await advance(0)
    expect([second.end, producer.draws]).toEqual(['output', 0])
  })

  it('may be signalled during the subscription, for what was printed before it', async () => {
    const producer = new PushProducer()
    producer.print('early')
    const onOutput = producer.onOutput.bind(producer)
    producer.onOutput = listener => {
      listener()
      return onOutput(listener)
    }
    const wait = startWait(startJob(producer), { output: true, graceMs: 0 })
    await advance(0)
    expect([wait.end, producer.draws, warnings]).toEqual(['output', 0, []])
  })

  it('is polled for if the subscription fails, which is logged', async () => {
    const producer = new PushProducer()
    producer.onOutput = () => {
      throw new Error('no events')
    }
    const wait = startWait(startJob(producer), OUTPUT)
    expect(warnings).toEqual([[expect.stringMatching(/job bash-1 onOutput threw while nobody read.*Error: no events/)]])
    producer.print('a')
    await advance(450)
    expect(wait.end).toBe('output')
  })

  it('may end with a disposer that throws: the settlement goes on, and it is logged', async () => {
    const producer = new PushProducer()
    producer.onOutput = () => () => {
      throw new Error('no such listener')
    }
    const wait = startWait(startJob(producer), OUTPUT)
    producer.settle({ status: 'completed' })
    await advance(0)
    expect(wait.end).toBe('completed')
    expect(warnings).toEqual([[expect.stringMatching(/the disposer of onOutput threw.*Error: no such listener/)]])
  })
})

describe('precedence', () => {
  const BOTH: JobWakeOptions = { output: true, steer: true }

  it.each([
    [
      'a steer',
      () => {
        agent.steer(userMessage('stop'))
      },
    ],
    [
      'output',
      (producer: Producer) => {
        producer.print('a')
      },
    ],
  ])('the end of the job wins over the window of %s', async (_name, trigger) => {
    const producer = new PushProducer()
    const id = startJob(producer)
    const wait = startWait(id, BOTH)
    trigger(producer)
    await advance(249)
    producer.settle({ status: 'completed', detail: 'exit code: 0' })
    await advance(1)
    expect(wait.result).toEqual(ctx.jobs.get(id, agent))
    expect(wait.result).toMatchObject({ status: 'completed', reported: true })
    expectNothingLeft(id)
  })

  it.each([
    [
      'a steer',
      () => {
        agent.steer(userMessage('stop'))
      },
    ],
    [
      'output',
      (producer: Producer) => {
        producer.print('a')
      },
    ],
  ])("the caller's abort wins over the window of %s, and nothing is lost", async (_name, trigger) => {
    const producer = new Producer()
    const id = startJob(producer)
    const controller = new AbortController()
    trigger(producer)
    const wait = startWait(id, BOTH, { signal: controller.signal })
    await advance(249)
    controller.abort()
    expectNothingLeft(id)
    await advance(1000)
    expect(wait.end).toBe('Error: wait aborted')
    producer.print('b')
    expect(ctx.jobs.read(id, agent).text).toMatch(/^a?b$/)
  })

  it('the abort wins over output that comes because of it', async () => {
    const producer = new PushProducer()
    const controller = new AbortController()
    controller.signal.addEventListener('abort', () => {
      producer.print('bye')
    })
    const id = startJob(producer)
    const wait = startWait(id, { output: true, graceMs: 0 }, { signal: controller.signal })
    controller.abort()
    await advance(0)
    expect(wait.end).toBe('Error: wait aborted')
    const next = startWait(id, { output: true, graceMs: 0 })
    await advance(0)
    expect(next.end).toBe('output')
  })

  it.each([
    [
      'a steer',
      () => {
        agent.steer(userMessage('stop'))
      },
    ],
    [
      'output',
      (producer: Producer) => {
        producer.print('a')
      },
    ],
  ])('the timeout wins over %s that is due at the same time or later', async (_name, trigger) => {
    for (const timeoutMs of [250, 249]) {
      const producer = new PushProducer()
      const id = startJob(producer)
      const wait = startWait(id, { ...BOTH, graceMs: 250 }, { timeoutMs, caller: await busyAgent(`T${timeoutMs}`) })
      const plain = startWait(id, BOTH, { timeoutMs })
      trigger(producer)
      await advance(timeoutMs)
      expect([wait.end, plain.end].filter(end => end !== 'waiting')).not.toContain('output')
      await advance(1)
      expect(plain.end).toBe('running')
      expect(plain.result).not.toHaveProperty('wokenBy')
      agent.inbox.clear()
    }
  })

  it('the timeout wins over output that comes at the very time of it', async () => {
    const producer = new PushProducer()
    const id = startJob(producer)
    setTimeout(() => {
      producer.print('a')
    }, 100)
    const wait = startWait(id, { output: true, graceMs: 0 }, { timeoutMs: 100 })
    await advance(100)
    expect(wait.end).toBe('running')
  })

  it('a steer wins over output that is due at the same time', async () => {
    const producer = new PushProducer()
    const id = startJob(producer)
    const wait = startWait(id, BOTH)
    producer.print('a')
    agent.steer(userMessage('stop'))
    await advance(250)
    expect(wait.end).toBe('steer')
    expect(ctx.jobs.read(id, agent).text).toBe('a')
  })

  it('output that is due first does not wait for the steer', async () => {
    const producer = new PushProducer()
    const wait = startWait(startJob(producer), BOTH)
    producer.print('a')
    await advance(100)
    agent.steer(userMessage('stop'))
    await advance(150)
    expect(wait.end).toBe('output')
  })
})

describe('a woken wait', () => {
  it('does not keep the end of the job from being announced, not even in the same tick', async () => {
    const announced: JobSnapshot[] = []
    ctx.jobs.onJobDone(snapshot => void announced.push(snapshot))
    const producer = new PushProducer()
    const id = startJob(producer, agent)
    const wait = startWait(id, { output: true, graceMs: 0 })
    producer.print('a')
    producer.settle({ status: 'completed' })
    await advance(0)
    expect(wait.end).toBe('output')
    expect(wait.result).toMatchObject({ status: 'running', reported: false })
    expect(announced).toMatchObject([{ id, status: 'completed', reported: false }])
    expect(ctx.jobs.read(id, agent).text).toBe('a')
  })

  it('leaves the waits beside it alone, with their own time', async () => {
    const producer = new PushProducer()
    const id = startJob(producer)
    const patient = startWait(id, { output: true, graceMs: 1000, outputIntervalMs: 0 })
    const plain = ctx.jobs.wait(id, 5000, agent)
    const quick = startWait(id, { output: true, graceMs: 10 })
    producer.print('a')
    await advance(10)
    expect([quick.end, patient.end]).toEqual(['output', 'waiting'])
    await advance(990)
    expect(patient.end).toBe('output')
    await advance(4000)
    await expect(plain).resolves.toMatchObject({ status: 'running' })
    expectNothingLeft(id)
  })

  it('is not forgotten when a wait beside it ends by its timeout', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const wait = startWait(id, OUTPUT)
    startWait(id, OUTPUT, { timeoutMs: 100 })
    await advance(100)
    producer.print('a')
    await advance(350)
    expect(wait.end).toBe('output')
  })

  it('is refused with bad options, by name, before the wait begins', async () => {
    const id = startJob(new Producer())
    await expect(ctx.jobs.wait(id, 1000, agent, undefined, { pollMs: 0 })).rejects.toThrow('invalid pollMs')
    expectNothingLeft(id)
  })

  it('may have the longest times there are, at any fraction of a millisecond', async () => {
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 1.004)
    const most = 2 ** 31 - 1
    const producer = new Producer()
    const id = startJob(producer)
    const wake = { output: true, graceMs: most, maxHoldMs: most, outputIntervalMs: most, pollMs: most }
    const wait = startWait(id, wake, { timeoutMs: most })
    await advance(1000)
    expect([wait.end, producer.draws]).toEqual(['waiting', 1])
  })

  it('does not begin again when its timer comes a fraction early', async () => {
    const wait = startWait(startJob(new Producer()), STEER)
    agent.steer(userMessage('stop'))
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() - 0.5)
    await advance(250)
    expect(wait.end).toBe('steer')
  })

  it('paces the next one from when it came, though its timer was late', async () => {
    const producer = new PushProducer()
    const id = startJob(producer)
    producer.print('a')
    startWait(id, OUTPUT)
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 5000)
    await advance(250)
    const wait = startWait(id, OUTPUT)
    await advance(9999)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('output')
  })
})
