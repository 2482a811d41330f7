/** What ends a wait early: the decision by a table, then every state and closing site in the real registry, on a fake clock. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Context, type Fiber } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import type { JobHooks, JobId, JobOutcome, JobSnapshot, JobWaitResult, JobWakeOptions } from '@deepseek-ai/dsh-jobs'
import { createUserMessage, LlmAdapter, type ImageBlock, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import { LocalJobRegistry } from '../src/index.ts'
import type { OutputDue } from '../src/output-pace.ts'
import { SteerWatch, type SteerDue } from '../src/steer-watch.ts'
import { decide, JobWakes } from '../src/wait-wake.ts'
import { wakeSettings } from '../src/wake-settings.ts'

describe('decide', () => {
  const steer = (at: number): SteerDue => ({
    at,
    by: 'steer',
    steers: { ids: ['m'], openedAt: 0, firstEnd: Infinity, laterEnds: 0 },
  })
  const output = (at: number): OutputDue => ({ at, by: 'paced' })
  const due = steer(10)

  it.each([
    ['nothing in sight: asks never again', 100, undefined, undefined, Infinity],
    ['a steer not yet due: asks again then', 100, steer(12), undefined, 12],
    ['output not yet due: asks again then', 100, undefined, output(11), 11],
    ['a steer due now', 100, due, undefined, due],
    ['a steer overdue', 100, steer(3), undefined, steer(3)],
    ['output due now', 100, undefined, output(10), output(10)],
    ['output overdue', 100, undefined, output(9), output(9)],
    ['both due: the steer', 100, due, output(9), due],
    ['output due, a steer to come: waits for the steer', 100, steer(12), output(9), 12],
    ['due only at the timeout: leaves it to the timeout', 11, undefined, output(11), Infinity],
    ['due, but the timeout is too', 10, due, output(10), Infinity],
    ['overdue, but the timeout is too', 9, steer(8), output(7), Infinity],
  ])('%s', (_name, timeoutAt, pending, unread, verdict) => {
    expect(decide(10, timeoutAt, pending, unread)).toEqual(verdict)
  })
})

/** A model that never answers: the agent stays in its step, as it does while a tool of it waits. */
class SilentModel extends LlmAdapter {
  async *stream(): AsyncIterable<StreamChunk> {
    await new Promise(() => {})
    yield { type: 'finish', reason: { kind: 'stop' } }
  }
}

/** A producer driven by hand, which tells of its output as the contract says. */
class Producer implements JobHooks {
  reads = 0
  broken = false
  readonly listeners = new Set<() => void>()
  readonly done: Promise<JobOutcome>
  readonly settle: (outcome: JobOutcome) => void
  private unread = ''

  constructor() {
    const { promise, resolve } = Promise.withResolvers<JobOutcome>()
    this.done = promise
    this.settle = resolve
  }

  print(text = '.'): void {
    this.unread += text
    for (const listener of [...this.listeners]) listener()
  }

  cancel(): void {
    this.settle({ status: 'killed' })
  }

  readOutput(): string {
    this.reads += 1
    if (this.broken) throw new Error('pipe closed')
    const text = this.unread
    this.unread = ''
    return text
  }

  onOutput(listener: () => void): () => void {
    this.listeners.add(listener)
    if (this.unread !== '') listener()
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

function startJob(producer: JobHooks = new Producer(), owner?: Agent): JobId {
  return ctx.jobs.start({ kind: 'bash', label: 'pnpm test', run: () => producer, ...(owner ? { owner } : {}) })
}

interface Waiting {
  /** By what the wait ended, or in which status of the job, or with which error. */
  end: string
  result?: JobWaitResult
}

function startWait(
  id: JobId,
  wake: JobWakeOptions,
  { timeoutMs = 60_000, caller = agent, signal }: { timeoutMs?: number; caller?: Agent; signal?: AbortSignal } = {},
): Waiting {
  const wait: Waiting = { end: 'waiting' }
  ctx.jobs.wait(id, timeoutMs, caller, signal, wake).then(
    (result: JobWaitResult) => {
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

/** Nothing of any wait is left: no timer, no listener, no subscription, no waiter. */
function expectNothingLeft(id: JobId, producer = new Producer()): void {
  expect(vi.getTimerCount()).toBe(0)
  expectReleased(id, producer)
}

/** In the tick that ends a wait already; only the timer of its deadline may last until the wait returns. */
function expectReleased(id: JobId, producer: Producer): void {
  expect(countListeners()).toBe(idleListeners)
  expect(producer.listeners.size).toBe(0)
  expect(waitersOf(id)).toBe(0)
}

/** Wait once, to the end, and say how long it took and what ended it. */
async function waitOut(id: JobId, wake: JobWakeOptions, timeoutMs = 600_000): Promise<[number, string]> {
  const start = performance.now()
  const wait = startWait(id, wake, { timeoutMs })
  await advance(0)
  while (wait.end === 'waiting') await vi.advanceTimersToNextTimerAsync()
  return [performance.now() - start, wait.end]
}

const OUTPUT: JobWakeOptions = { output: true }
const STEER: JobWakeOptions = { steer: true }
const BOTH: JobWakeOptions = { output: true, steer: true }

describe('a steer', () => {
  it('that comes in ends the wait after the grace, is not consumed, and leaves nothing behind', async () => {
    const id = startJob()
    const wait = startWait(id, STEER)
    await advance(300)
    agent.steer(userMessage('stop'))
    await advance(249)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('steer')
    expect(wait.result).toMatchObject({ status: 'running', reported: false })
    expect(wait.result).not.toHaveProperty('nextOutputWakeMs')
    expect(agent.inbox.nextStep).toHaveLength(1)
    expectNothingLeft(id)
  })

  it('is nothing to a job that nobody waits for', () => {
    const steers = new SteerWatch(ctx, () => {})
    const wakes = new JobWakes(new Producer(), steers, () => {})
    const wake = wakeSettings({ ...BOTH, graceMs: 0 })
    const request = { wake, caller: agent, timeoutMs: 1000, signal: new AbortController().signal }
    const leave = wakes.watch({ ...request, end: () => expect.unreachable() })
    expect(steers.listeners.size).toBe(1)
    leave()
    expect(steers.listeners.size).toBe(0)

    const ended = vi.fn()
    wakes.watch({ ...request, end: ended })
    agent.steer(userMessage('stop'))
    expect(ended).toHaveBeenCalledExactlyOnceWith({ wokenBy: 'steer' })
    expect(steers.listeners.size).toBe(0)
  })

  it('ends a wait for good: whoever leaves it after that starts no look for the others', () => {
    const steers = new SteerWatch(ctx, () => {})
    const producer = new Producer()
    const wakes = new JobWakes(producer, steers, () => {})
    const request = { caller: agent, timeoutMs: 1000, signal: new AbortController().signal }
    agent.steer(userMessage('stop'))
    const ended = vi.fn()
    const leave = wakes.watch({ ...request, wake: wakeSettings({ ...STEER, graceMs: 0 }), end: ended })
    expect(ended).toHaveBeenCalledOnce()

    producer.print()
    wakes.watch({ ...request, wake: wakeSettings(BOTH), caller: {} as Agent, end: () => expect.unreachable() })
    expect(vi.getTimerCount()).toBe(1)
    const pending = vi.spyOn(steers, 'pending')
    leave()
    expect(pending).not.toHaveBeenCalled()
  })

  it('may be an image', async () => {
    const image = { type: 'image', attachment: {} } as ImageBlock
    const wait = startWait(startJob(), STEER)
    agent.steer(createUserMessage({ content: [image], source: { kind: 'user' } }))
    await advance(250)
    expect(wait.end).toBe('steer')
  })

  it('that is pending already has its grace from the start', async () => {
    agent.steer(userMessage('stop'))
    const wait = startWait(startJob(), STEER)
    await advance(249)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('steer')
  })

  it('ends the wait at once if there is no grace', async () => {
    agent.steer(userMessage('stop'))
    const id = startJob()
    const wait = startWait(id, { steer: true, graceMs: 0 })
    expect(waitersOf(id)).toBe(0)
    await advance(0)
    expect(wait.end).toBe('steer')
    expectNothingLeft(id)
  })

  it('that is withdrawn in the grace does not end the wait, and a later one does, after a grace of its own', async () => {
    const wait = startWait(startJob(), STEER)
    const first = userMessage('stop')
    agent.steer(first)
    await advance(200)
    agent.inbox.remove(first.id)
    expect(vi.getTimerCount()).toBe(1)
    await advance(1000)
    expect(wait.end).toBe('waiting')

    agent.steer(first)
    await advance(249)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('steer')
  })

  it('that was claimed in the grace does not end the wait', async () => {
    const wait = startWait(startJob(), STEER)
    agent.steer(userMessage('stop'))
    await advance(100)
    agent.inbox.claim('next-step', 1)
    await advance(1000)
    expect(wait.end).toBe('waiting')
  })

  it('that is replaced in the grace ends the wait at the end of it, however often it is', async () => {
    const id = startJob()
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

  it('does not begin the grace again when it joins another one', async () => {
    const wait = startWait(startJob(), STEER)
    agent.steer(userMessage('stop'))
    await advance(200)
    agent.steer(userMessage('now'))
    await advance(50)
    expect(wait.end).toBe('steer')
  })

  it('is not a notice of a plugin, a prompt for the next turn, or what another agent is told', async () => {
    const other = await busyAgent('B')
    const wait = startWait(startJob(), BOTH)
    const source = { kind: 'plugin', plugin: 'tool-jobs', form: 'notice', summary: 'done' } as const
    agent.inject(createUserMessage({ content: [{ type: 'text', text: 'a job is done' }], source }))
    agent.followup(userMessage('and then'))
    const armed = vi.spyOn(globalThis, 'setTimeout')
    other.steer(userMessage('stop'))
    expect(armed).not.toHaveBeenCalled()
    await advance(59_999)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('running')
  })

  it('ends no wait that did not ask for it, or has no caller, or a caller without an inbox', async () => {
    const id = startJob()
    const stranger = { id: agent.id } as Agent
    agent.steer(userMessage('stop'))
    const waits = [startWait(id, {}), startWait(id, OUTPUT), startWait(id, STEER, { caller: stranger })]
    const anonymous = ctx.jobs.wait(id, 1000, undefined, undefined, STEER)
    await advance(1000)
    expect(waits.map(({ end }) => end)).toEqual(['waiting', 'waiting', 'waiting'])
    expect((await anonymous).wokenBy).toBeUndefined()
    expect(warnings).toEqual([])
  })

  it('ends no wait while the inbox throws, which is logged once; output still ends it', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const inbox = vi.spyOn(agent, 'inbox', 'get').mockImplementation(() => {
      throw new Error('closed')
    })
    const waits = [startWait(id, BOTH), startWait(id, STEER, { timeoutMs: 1000 })]
    producer.print()
    await advance(1000)
    expect(waits.map(({ end }) => end)).toEqual(['output', 'running'])
    expect(warnings).toEqual([[expect.stringMatching(/^jobs: the inbox of A threw, .*: Error: closed$/)]])
    expectNothingLeft(id, producer)
    inbox.mockRestore()
  })

  it('ends the wait though the plugin that waits is unloaded', async () => {
    const id = startJob()
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

  it('does not keep a wait from being started while the registry is being disposed, and is not looked for after it', async () => {
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
    expect(countListeners()).not.toBe(idleListeners)
    expect(ctx.events._hooks['agent/inbox/discarded'] ?? []).toEqual([])
  })

  it.each([1, 3, 5, 10])('is handed over once by %i waits in a row, on different jobs', async (count: number) => {
    const ids = Array.from({ length: count }, () => startJob(new Producer(), agent))
    setTimeout(() => {
      agent.steer(userMessage('stop'))
    }, 1000)
    const ends: unknown[] = []
    for (const id of ids) ends.push(await waitOut(id, STEER, 30_000))
    expect(ends).toEqual([[1250, 'steer'], ...Array.from({ length: count - 1 }, () => [0, 'steer'])])
  })

  it.each([1, 3, 5, 10])('is handed over once by %i waits at the same time', async (count: number) => {
    const waits = Array.from({ length: count }, () => startWait(startJob(new Producer(), agent), STEER))
    await advance(1000)
    agent.steer(userMessage('stop'))
    expect(vi.getTimerCount()).toBe(2 * count)
    await advance(249)
    expect(waits.map(({ end }) => end)).toEqual(waits.map(() => 'waiting'))
    await advance(1)
    expect(waits.map(({ end }) => end)).toEqual(waits.map(() => 'steer'))
    expect(vi.getTimerCount()).toBe(0)
  })

  it('leaves a wait that goes on its own, longer grace, and ends one that begins then at once', async () => {
    const patient = startWait(startJob(), { steer: true, graceMs: 2000 })
    const quick = startWait(startJob(), STEER)
    agent.steer(userMessage('stop'))
    await advance(250)
    expect([quick.end, patient.end]).toEqual(['steer', 'waiting'])
    expect(await waitOut(startJob(), { steer: true, graceMs: 2000 })).toEqual([0, 'steer'])
    await advance(1749)
    expect(patient.end).toBe('waiting')
    await advance(1)
    expect(patient.end).toBe('steer')
  })

  it('slows a program down that ignores it and waits again, from the 17th time on, until it is claimed', async () => {
    const id = startJob()
    const waitOften = async (count: number) => {
      const times: number[] = []
      for (let round = 0; round < count; round += 1) {
        const [ms, end] = await waitOut(id, STEER)
        expect(end).toBe('steer')
        times.push(ms)
      }
      return times
    }
    agent.steer(userMessage('stop'))
    const once = Array.from({ length: 16 }, () => 0)
    expect(await waitOften(25)).toEqual([250, ...once, 250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000])

    agent.steer(userMessage('and now'))
    expect(await waitOften(1)).toEqual([10_000])
    agent.inbox.claim('next-step', 1)
    agent.steer(userMessage('another thing'))
    expect(await waitOften(2)).toEqual([250, 0])
  })

  it('of one agent leaves the waits of another alone', async () => {
    const other = await busyAgent('B')
    const id = startJob()
    const waits = [startWait(id, STEER), startWait(id, STEER, { caller: other })]
    agent.steer(userMessage('stop'))
    await advance(1000)
    expect(waits.map(({ end }) => end)).toEqual(['steer', 'waiting'])
    other.steer(userMessage('stop'))
    await advance(250)
    expect(waits.map(({ end }) => end)).toEqual(['steer', 'steer'])
  })
})

describe('output', () => {
  it('ends the wait when the job is quiet, without a read, and leaves nothing behind', async () => {
    const producer = new Producer()
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
    expect([wait.end, producer.reads]).toEqual(['output', 0])
    expect(wait.result).toMatchObject({ status: 'running', reported: false, nextOutputWakeMs: 0 })
    expectNothingLeft(id, producer)
    expect(ctx.jobs.read(id, agent).text).toBe('ab')
    expect(producer.reads).toBe(1)
  })

  it('is held no longer than may be while the job goes on printing, with one timer', async () => {
    const producer = new Producer()
    const wait = startWait(startJob(producer), OUTPUT)
    const printing = setInterval(() => {
      producer.print()
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

  it('that is unread when the wait begins counts from there', async () => {
    const producer = new Producer()
    producer.print()
    const id = startJob(producer)
    await advance(5000)
    expect(await waitOut(id, OUTPUT)).toEqual([250, 'output'])
  })

  it('that is unread when the wait begins ends it in the tick of the call if there is no grace, with the subscription gone', async () => {
    const producer = new Producer()
    producer.print()
    const id = startJob(producer)
    const wait = startWait(id, { output: true, graceMs: 0 })
    expectReleased(id, producer)
    await advance(0)
    expect([wait.end, producer.reads]).toEqual(['output', 0])
    expectNothingLeft(id, producer)
  })

  it('that ended a wait and was not read ends the next one too', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    producer.print()
    expect(await waitOut(id, OUTPUT)).toEqual([250, 'output'])
    expect(await waitOut(id, OUTPUT)).toEqual([250, 'output'])
    ctx.jobs.read(id, agent)
    expect(await waitOut(id, OUTPUT, 1000)).toEqual([1000, 'running'])
  })

  it('that was read between two waits does not end the second', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const first = startWait(id, OUTPUT, { timeoutMs: 100 })
    producer.print()
    await advance(100)
    expect(first.end).toBe('running')
    ctx.jobs.read(id, agent)
    expect(await waitOut(id, OUTPUT, 1000)).toEqual([1000, 'running'])
  })

  it('of a job that cannot tell of it, or has only a final one, ends no wait and is not looked for', async () => {
    const { done } = new Producer()
    const readOutput = vi.fn(() => 'text')
    const onOutput = vi.fn(() => () => {})
    const silent = startJob({ done, cancel: () => {}, readOutput })
    const final = startJob({ done, cancel: () => {}, onOutput })
    expect(await waitOut(silent, OUTPUT, 5000)).toEqual([5000, 'running'])
    expect(await waitOut(final, OUTPUT, 5000)).toEqual([5000, 'running'])
    expect([readOutput.mock.calls, onOutput.mock.calls]).toEqual([[], []])
    expect([ctx.jobs.read(silent, agent).text, ctx.jobs.read(final, agent).text]).toEqual(['text', ''])
  })

  it('is listened to once, from the first wait that asks for it to the end of the last', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const steered = startWait(id, STEER)
    expect(producer.listeners.size).toBe(0)
    startWait(id, OUTPUT, { timeoutMs: 100 })
    startWait(id, BOTH, { timeoutMs: 200 })
    expect(producer.listeners.size).toBe(1)
    await advance(199)
    expect(producer.listeners.size).toBe(1)
    await advance(1)
    expect([producer.listeners.size, steered.end]).toEqual([0, 'waiting'])
    startWait(id, OUTPUT)
    expect(producer.listeners.size).toBe(1)
  })

  it('that comes with the end of the wait, or after it, ends nothing', async () => {
    const producer = new Producer()
    let call = () => {}
    producer.onOutput = (listener: () => void) => {
      call = listener
      return listener
    }
    const id = startJob(producer)
    startWait(id, OUTPUT, { timeoutMs: 100 })
    const steered = startWait(id, STEER)
    await advance(100)
    call()
    await advance(1000)
    expect([steered.end, vi.getTimerCount()]).toEqual(['waiting', 1])
  })

  it('that a reader took in the meantime does not end the wait: it starts over', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const wait = startWait(id, OUTPUT)
    producer.print('a')
    await advance(200)
    expect(vi.getTimerCount()).toBe(2)
    expect(ctx.jobs.read(id, agent).text).toBe('a')
    expect(vi.getTimerCount()).toBe(1)
    await advance(1000)
    expect(wait.end).toBe('waiting')
    producer.print('b')
    await advance(249)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('output')
    expect(ctx.jobs.read(id, agent).text).toBe('b')
  })

  it('that a reader could not take is still unread', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const wait = startWait(id, OUTPUT)
    producer.print('a')
    producer.broken = true
    expect(() => ctx.jobs.read(id, agent)).toThrow('pipe closed')
    producer.broken = false
    await advance(250)
    expect(wait.end).toBe('output')
    expect(ctx.jobs.read(id, agent).text).toBe('a')
  })

  it('that the producer has lost is not unread when the next wait begins', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    producer.print()
    await waitOut(id, OUTPUT)
    producer.readOutput()
    expect(await waitOut(id, OUTPUT, 1000)).toEqual([1000, 'running'])
  })

  it('ends every wait that is due, which counts once; the first read takes the text', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const waits = [startWait(id, OUTPUT), startWait(id, BOTH), startWait(id, STEER)]
    producer.print('a')
    await advance(250)
    expect(waits.map(({ end }) => end)).toEqual(['output', 'output', 'waiting'])
    expect(ctx.jobs.read(id, agent).text).toBe('a')
    expect(ctx.jobs.read(id, agent).text).toBe('')

    for (const pace of [0, 10_000]) {
      const wait = startWait(id, OUTPUT)
      producer.print()
      await advance(250)
      expect(wait.result).toMatchObject({ wokenBy: 'output', nextOutputWakeMs: pace })
      ctx.jobs.read(id, agent)
    }
  })

  it('of a producer that throws when it is listened to ends this wait no longer, which is logged; a steer does', async () => {
    const producer = new Producer()
    const onOutput = vi.spyOn(producer, 'onOutput').mockImplementationOnce((listener: () => void) => {
      listener()
      throw new Error('no events')
    })
    const id = startJob(producer)
    producer.print('kept')
    const wait = startWait(id, BOTH)
    await advance(1000)
    expect(wait.end).toBe('waiting')
    expect(warnings).toEqual([[expect.stringMatching(/^jobs: job bash-1 onOutput threw .*Error: no events$/)]])

    const next = startWait(id, OUTPUT)
    await advance(250)
    expect([next.end, wait.end, onOutput.mock.calls.length]).toEqual(['output', 'waiting', 2])
    agent.steer(userMessage('stop'))
    await advance(250)
    expect(wait.end).toBe('steer')
    expect(ctx.jobs.read(id, agent).text).toBe('kept')
    expectNothingLeft(id, producer)
  })

  it.each<[string, (producer: Producer) => void]>([
    [
      'the end of the job',
      (producer: Producer) => {
        producer.settle({ status: 'completed' })
      },
    ],
    [
      'output',
      (producer: Producer) => {
        producer.print()
      },
    ],
  ])(
    'of a producer whose disposer throws: %s ends the wait all the same, and it is logged once',
    async (_name, act) => {
      const producer = new Producer()
      let call = () => {}
      producer.onOutput = (listener: () => void) => {
        call = listener
        return () => {
          throw new Error('no such listener')
        }
      }
      producer.print = () => {
        call()
      }
      const id = startJob(producer)
      const wait = startWait(id, { output: true, graceMs: 0 })
      act(producer)
      await advance(0)
      expect(wait.end).toMatch(/completed|output/)
      expect(warnings).toEqual([[expect.stringMatching(/the disposer of onOutput threw .*Error: no such listener$/)]])
      expectNothingLeft(id)
    },
  )

  it('may make its producer read, kill and wait inside its call', async () => {
    const producer = new Producer()
    const id = startJob(producer, agent)
    let inner: Waiting | undefined
    producer.onOutput = (listener: () => void) => {
      listener()
      return () => {
        ctx.jobs.read(id, agent)
        ctx.jobs.kill(id, agent)
        inner ??= startWait(id, STEER)
      }
    }
    producer.print('a')
    const wait = startWait(id, { output: true, graceMs: 0 })
    await advance(0)
    expect([wait.end, inner?.end]).toEqual(['output', 'killed'])
    expectNothingLeft(id)
  })
})

describe('the pace of a job', () => {
  /** Output, then a wait to its end: how long it took, and what the caller is told. */
  async function printAndWait(producer: Producer, id: JobId, wake = OUTPUT) {
    const start = performance.now()
    producer.print()
    const wait = startWait(id, wake, { timeoutMs: 600_000 })
    while (wait.end === 'waiting') await vi.advanceTimersToNextTimerAsync()
    ctx.jobs.read(id, agent)
    return [performance.now() - start, wait.result?.nextOutputWakeMs]
  }

  async function paceOf(producer: Producer, id: JobId, count: number, wake = OUTPUT) {
    const ends: unknown[] = []
    for (let round = 0; round < count; round += 1) ends.push(await printAndWait(producer, id, wake))
    return ends
  }

  const GROWING = [
    [250, 0],
    [250, 0],
    [250, 10_000],
    [10_000, 10_000],
    [10_000, 20_000],
  ]

  it('is three quick ends, then an interval that doubles, up to two minutes; a late end comes before that', async () => {
    const producer = new Producer()
    expect(await paceOf(producer, startJob(producer), 10)).toEqual([
      ...GROWING,
      [10_000, 40_000],
      [10_000, 80_000],
      [80_000, 120_000],
      [120_000, 120_000],
      [120_000, 120_000],
    ])
  })

  it('is its own, whatever other jobs print', async () => {
    for (const producer of [new Producer(), new Producer()]) {
      expect(await paceOf(producer, startJob(producer), 5)).toEqual(GROWING)
    }
  })

  it('follows the options of each wait', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const wake = { output: true, graceMs: 10, outputIntervalMs: 100, maxOutputIntervalMs: 300 }
    const ends = await paceOf(producer, id, 8, wake)
    expect(ends).toEqual([
      [10, 0],
      [10, 0],
      [10, 100],
      [100, 100],
      [100, 200],
      [100, 300],
      [100, 300],
      [300, 300],
    ])
    expect(await printAndWait(producer, id, { ...wake, maxOutputIntervalMs: 100 })).toEqual([100, 100])
  })

  it('is none without an interval, and nothing is used up', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const wake = { output: true, outputIntervalMs: 0 }
    expect(await paceOf(producer, id, 20, wake)).toEqual(Array.from({ length: 20 }, () => [250, 0]))
    expect(await paceOf(producer, id, 5)).toEqual(GROWING)
  })

  it('belongs to a wait with an interval, where one without ends at the same time', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    for (const pace of [0, 0, 10_000]) {
      const unpaced = startWait(id, { output: true, outputIntervalMs: 0 })
      const paced = startWait(id, OUTPUT)
      producer.print()
      await advance(250)
      expect([unpaced.result?.nextOutputWakeMs, paced.result?.nextOutputWakeMs]).toEqual([0, pace])
      ctx.jobs.read(id, agent)
    }
  })

  it('is not changed by steers that end waits', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    for (const text of ['stop', 'stop now', 'stop at once']) {
      const message = userMessage(text)
      agent.steer(message)
      const wait = startWait(id, BOTH)
      await advance(250)
      expect(wait.end).toBe('steer')
      agent.inbox.remove(message.id)
    }
    expect(await paceOf(producer, id, 5)).toEqual(GROWING)
  })

  it('is as at first when the job prints after a silence of six intervals', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    await paceOf(producer, id, 5)
    const wait = startWait(id, OUTPUT, { timeoutMs: 600_000 })
    await advance(60_000)
    producer.print()
    await advance(250)
    expect(wait.result).toMatchObject({ wokenBy: 'output', nextOutputWakeMs: 0 })
    ctx.jobs.read(id, agent)
    expect(await paceOf(producer, id, 4)).toEqual(GROWING.slice(1))
  })

  it('knows the silence before a wait that begins with nothing unread', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    await paceOf(producer, id, 5)
    await advance(59_900)
    const wait = startWait(id, OUTPUT)
    await advance(100)
    producer.print()
    await advance(250)
    expect(wait.result).toMatchObject({ wokenBy: 'output', nextOutputWakeMs: 0 })
  })

  it.each<[string, (producer: Producer, id: JobId) => Promise<void>]>([
    [
      'a shorter silence',
      async () => {
        await advance(59_999)
      },
    ],
    [
      'a silence in which a text was read',
      async (producer, id) => {
        await advance(1)
        producer.print()
        await advance(1)
        ctx.jobs.read(id, agent)
        await advance(59_999)
      },
    ],
  ])('is not as at first after %s', async (_name, pass) => {
    const producer = new Producer()
    const id = startJob(producer)
    await paceOf(producer, id, 7)
    await pass(producer, id)
    const wait = startWait(id, OUTPUT, { timeoutMs: 600_000 })
    producer.print()
    await advance(250)
    expect(wait.end).toBe('waiting')
  })

  it('is not as at first while the job prints now and then, though nobody reads', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    await paceOf(producer, id, 7)
    const wait = startWait(id, OUTPUT, { timeoutMs: 600_000 })
    for (const ms of [30_000, 35_000]) {
      await advance(ms)
      producer.print()
    }
    await advance(80_000 - 65_000 - 1)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('output')
  })

  it('is not as at first for what nobody listened to, which is unread when the wait begins', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    await paceOf(producer, id, 7)
    await advance(65_000)
    producer.print()
    const wait = startWait(id, OUTPUT)
    await advance(100)
    producer.print()
    await advance(80_000 - 65_000 - 101)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('output')
  })

  it('is as at first after a silence in which nothing came but timeouts, steers and empty reads', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    await paceOf(producer, id, 5)
    await waitOut(id, OUTPUT, 20_000)
    expect(ctx.jobs.read(id, agent).text).toBe('')
    agent.steer(userMessage('stop'))
    expect(await waitOut(id, BOTH)).toEqual([250, 'steer'])
    agent.inbox.claim('next-step', 1)
    await advance(39_750)
    const wait = startWait(id, OUTPUT)
    producer.print()
    await advance(250)
    expect(wait.result).toMatchObject({ wokenBy: 'output', nextOutputWakeMs: 0 })
  })

  it('is begun by a first end however late, and its interval by the end, not by its timer', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    await paceOf(producer, id, 2)
    const wait = startWait(id, OUTPUT)
    producer.print()
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 5000)
    await advance(250)
    expect(wait.result).toMatchObject({ wokenBy: 'output', nextOutputWakeMs: 10_000 })
    expect(await waitOut(id, OUTPUT)).toEqual([10_000, 'output'])
  })
})

describe('precedence', () => {
  const triggers: [string, (producer: Producer) => void][] = [
    [
      'a steer',
      () => {
        agent.steer(userMessage('stop'))
      },
    ],
    [
      'output',
      (producer: Producer) => {
        producer.print()
      },
    ],
  ]

  it.each(triggers)('the end of the job wins over %s that is not due yet', async (_name, trigger) => {
    const producer = new Producer()
    const id = startJob(producer)
    const wait = startWait(id, BOTH)
    trigger(producer)
    await advance(249)
    producer.settle({ status: 'completed', detail: 'exit code: 0' })
    await advance(1)
    expect(wait.result).toEqual(ctx.jobs.get(id, agent))
    expect(wait.result).toMatchObject({ status: 'completed', reported: true })
    expectNothingLeft(id, producer)
  })

  it.each(triggers)('the end of the job ends all of its waits, though %s is due by then', async (_name, trigger) => {
    const producer = new Producer()
    const id = startJob(producer)
    const waits = Array.from({ length: 3 }, () => startWait(id, BOTH))
    trigger(producer)
    await advance(249)
    producer.settle({ status: 'completed' })
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 5000)
    await advance(0)
    expect(waits.map(({ end }) => end)).toEqual(['completed', 'completed', 'completed'])
    expectNothingLeft(id, producer)
  })

  it.each(triggers)(
    "the caller's abort wins over %s that is not due yet, and nothing is lost",
    async (_name, trigger) => {
      const producer = new Producer()
      const id = startJob(producer)
      const controller = new AbortController()
      const wait = startWait(id, BOTH, { signal: controller.signal })
      trigger(producer)
      await advance(249)
      controller.abort()
      expectReleased(id, producer)
      await advance(0)
      expectNothingLeft(id, producer)
      await advance(1000)
      expect(wait.end).toBe('Error: wait aborted')
      producer.print('b')
      expect(ctx.jobs.read(id, agent).text).toMatch(/^\.?b$/)
    },
  )

  it.each(triggers)(
    'the abort wins over %s that comes because of it, in every wait that it ends',
    async (_name, trigger) => {
      const producer = new Producer()
      const controller = new AbortController()
      controller.signal.addEventListener('abort', () => {
        trigger(producer)
      })
      const id = startJob(producer)
      const wake = { ...BOTH, graceMs: 0 }
      const waits = Array.from({ length: 3 }, () => startWait(id, wake, { signal: controller.signal }))
      controller.abort()
      await advance(0)
      expect(waits.map(({ end }) => end)).toEqual(waits.map(() => 'Error: wait aborted'))
      expect(await waitOut(id, wake)).toEqual([0, _name === 'output' ? 'output' : 'steer'])
    },
  )

  it.each(triggers)(
    'the timeout wins over %s that is due with it or later, and no other timer is set',
    async (_name, trigger) => {
      for (const timeoutMs of [250, 249]) {
        const producer = new Producer()
        const id = startJob(producer)
        const wait = startWait(id, BOTH, { timeoutMs })
        trigger(producer)
        expect(vi.getTimerCount()).toBe(1)
        await advance(timeoutMs)
        expect(wait.end).toBe('running')
        expect(wait.result).not.toHaveProperty('wokenBy')
        agent.inbox.clear()
      }
    },
  )

  it('the timeout wins over output that comes at the very time of it', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    setTimeout(() => {
      producer.print()
    }, 100)
    const wait = startWait(id, { output: true, graceMs: 0 }, { timeoutMs: 100 })
    await advance(100)
    expect(wait.end).toBe('running')
  })

  it('a steer wins over output that is unread when the wait begins, also without a grace', async () => {
    for (const graceMs of [250, 0]) {
      const producer = new Producer()
      const id = startJob(producer)
      producer.print('a')
      agent.steer(userMessage('stop'))
      expect(await waitOut(id, { ...BOTH, graceMs })).toEqual([graceMs, 'steer'])
      expect(ctx.jobs.read(id, agent).text).toBe('a')
      agent.inbox.claim('next-step', 1)
    }
  })

  it('output does not end a wait while a steer is in its grace, but does if that is withdrawn', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const both = startWait(id, BOTH)
    const other = startWait(id, OUTPUT)
    producer.print()
    await advance(100)
    agent.steer(userMessage('stop'))
    await advance(150)
    expect([both.end, other.end]).toEqual(['waiting', 'output'])
    await advance(50)
    agent.inbox.clear()
    await advance(0)
    expect(both.end).toBe('output')
    expectNothingLeft(id, producer)
  })

  it('output that came in the grace of a steer does not end the wait, and the steer does in time', async () => {
    const producer = new Producer()
    const wait = startWait(startJob(producer), BOTH)
    agent.steer(userMessage('stop'))
    for (let time = 0; time < 240; time += 40) {
      await advance(40)
      producer.print()
    }
    await advance(9)
    expect(wait.end).toBe('waiting')
    await advance(1)
    expect(wait.end).toBe('steer')
  })
})

describe('a wait that output or a steer has ended', () => {
  it('does not keep the end of the job from being announced, not even in the same tick', async () => {
    const announced: JobSnapshot[] = []
    ctx.jobs.onJobDone(snapshot => void announced.push(snapshot))
    const producer = new Producer()
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
    const producer = new Producer()
    const id = startJob(producer)
    const patient = startWait(id, { output: true, graceMs: 1000 })
    const plain = ctx.jobs.wait(id, 5000, agent)
    const quick = startWait(id, { output: true, graceMs: 10 })
    producer.print()
    await advance(10)
    expect([quick.end, patient.end]).toEqual(['output', 'waiting'])
    await advance(990)
    expect(patient.end).toBe('output')
    await advance(4000)
    await expect(plain).resolves.toMatchObject({ status: 'running' })
    expectNothingLeft(id, producer)
  })

  it('is not forgotten when a wait beside it ends by its timeout', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const wait = startWait(id, OUTPUT)
    startWait(id, OUTPUT, { timeoutMs: 100 })
    producer.print()
    await advance(100)
    expect(vi.getTimerCount()).toBe(2)
    await advance(150)
    expect(wait.end).toBe('output')
  })

  it('leaves no timer behind for what only it waited for', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const controller = new AbortController()
    startWait(id, STEER)
    const wait = startWait(id, OUTPUT, { signal: controller.signal })
    producer.print()
    expect(vi.getTimerCount()).toBe(3)
    controller.abort()
    await advance(0)
    expect(vi.getTimerCount()).toBe(1)
    expect(wait.end).toBe('Error: wait aborted')
  })

  it('is refused with bad options, by name, before it begins', async () => {
    const producer = new Producer()
    const id = startJob(producer)
    const refused = ctx.jobs.wait(id, 1000, agent, undefined, { output: true, graceMs: -1 })
    await expect(refused).rejects.toThrow('invalid graceMs')
    expectNothingLeft(id, producer)
  })

  it('may have the longest times there are, at any fraction of a millisecond', async () => {
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 1.004)
    const most = 2 ** 31 - 1
    const producer = new Producer()
    const id = startJob(producer)
    const wake = { output: true, graceMs: most, maxHoldMs: most, outputIntervalMs: most }
    const wait = startWait(id, wake, { timeoutMs: most })
    producer.print()
    await advance(1000)
    expect([wait.end, vi.getTimerCount()]).toEqual(['waiting', 1])
  })

  it('does not begin again when its timer comes a fraction early', async () => {
    const wait = startWait(startJob(), STEER)
    agent.steer(userMessage('stop'))
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() - 0.5)
    await advance(250)
    expect(wait.end).toBe('steer')
  })
})
