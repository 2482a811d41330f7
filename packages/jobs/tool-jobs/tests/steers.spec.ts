/** A message of the user during waits of `job_output`, in the real loop: when it is in a model request, and which one. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { newsOf, ScriptedModel, userMessage, type Call, type Reply } from './world.ts'
import { newWorld } from './worlds.ts'

const STOP = 'stop, switch tasks'
const LONGEST_MS = 600_000

const wait: Call = { tool: 'job_output', args: { job_id: 'bash-1', wait: true, timeout_ms: LONGEST_MS } }

/** A silent job, and a model that has been told to go. */
async function begin(model: ScriptedModel, mode: 'native' | 'code' = 'native') {
  const world = await newWorld({ model, toolRuntime: { mode } })
  if (mode === 'code') await world.ctx.plugin(WorkerThreadCodeRuntime, {})
  const agent = await world.agent()
  const job = world.job({ owner: agent })
  agent.followup(userMessage('go'))
  return { world, agent, job }
}

describe('natively, in virtual time', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** How long after now the model is asked again. */
  async function nextRequest({ requests }: ScriptedModel): Promise<number> {
    const [asked, since] = [requests.length, performance.now()]
    while (requests.length === asked) await vi.advanceTimersToNextTimerAsync()
    return performance.now() - since
  }

  it.each([1, 3, 5, 10])('%i waits in one step: it is in the very next request, within 300 ms', async count => {
    const model = new ScriptedModel(Array.from({ length: count }, () => wait))
    const { agent, job } = await begin(model)
    await vi.advanceTimersByTimeAsync(2_000)

    agent.steer(userMessage(STOP))

    expect(await nextRequest(model)).toBeLessThanOrEqual(300)
    const { results, messages } = newsOf(model, 1)
    expect(messages).toEqual([STOP])
    expect(results.map(text => /\[wake: (\w+);/.exec(text)?.[1])).toEqual(Array(count).fill('STEER_PREEMPTED'))
    await job.end()
  })

  const notice = () =>
    createUserMessage({
      content: [{ type: 'text', text: 'a job has ended' }],
      source: { kind: 'plugin', plugin: 'other', form: 'notice', summary: 'a job' },
    })

  const image = () =>
    createUserMessage({
      content: [
        { type: 'text', text: STOP },
        { type: 'image', attachment: {} as never },
      ],
      source: { kind: 'user' },
    })

  it.each<[string, (agent: Agent) => unknown, number, string[]]>([
    [
      'a message',
      agent => {
        agent.steer(userMessage(STOP))
      },
      250,
      [STOP],
    ],
    [
      'a message with an image',
      agent => {
        agent.steer(image())
      },
      250,
      [STOP],
    ],
    [
      'two, one soon after the other',
      async agent => {
        agent.steer(userMessage('well?'))
        await vi.advanceTimersByTimeAsync(100)
        agent.steer(userMessage(STOP))
      },
      150,
      ['well?', STOP],
    ],
    [
      'one that replaces another',
      async agent => {
        const first = userMessage('stop it')
        agent.steer(first)
        await vi.advanceTimersByTimeAsync(100)
        agent.steer(userMessage(STOP))
        agent.inbox.remove(first.id)
      },
      150,
      [STOP],
    ],
    [
      'one that is withdrawn again',
      async agent => {
        const message = userMessage(STOP)
        agent.steer(message)
        await vi.advanceTimersByTimeAsync(100)
        agent.inbox.remove(message.id)
      },
      LONGEST_MS - 2_100,
      [],
    ],
    [
      'one for a later turn',
      agent => {
        agent.followup(userMessage('afterwards, tidy up'))
      },
      LONGEST_MS - 2_000,
      [],
    ],
    [
      'the notice of a plugin',
      agent => {
        agent.inject(notice())
      },
      LONGEST_MS - 2_000,
      ['a job has ended'],
    ],
  ])('%s', async (_what, send, afterMs, messages) => {
    const model = new ScriptedModel(wait)
    const { agent, job } = await begin(model)
    await vi.advanceTimersByTimeAsync(2_000)

    await send(agent)

    expect(await nextRequest(model)).toBe(afterMs)
    expect(newsOf(model, 1).messages).toEqual(messages)
    await job.end()
  })

  it('sent while the model thinks, ends the wait that follows', async () => {
    const thinking = Promise.withResolvers<Reply>()
    const model = new ScriptedModel(thinking.promise)
    const { agent, job } = await begin(model)
    await vi.advanceTimersByTimeAsync(0)
    agent.steer(userMessage(STOP))
    await vi.advanceTimersByTimeAsync(5_000)

    thinking.resolve(wait)

    expect(await nextRequest(model)).toBe(250)
    expect(newsOf(model, 1).messages).toEqual([STOP])
    await job.end()
  })

  it('at the very timeout, leaves the wait its timeout', async () => {
    const model = new ScriptedModel(wait)
    const { agent, job } = await begin(model)
    await vi.advanceTimersByTimeAsync(LONGEST_MS - 250)

    agent.steer(userMessage(STOP))

    expect(await nextRequest(model)).toBe(250)
    expect(newsOf(model, 1)).toEqual({ results: ['(no new output)\n[status: running]'], messages: [STOP] })
    await job.end()
  })
})

describe('in a program (Code Mode)', () => {
  const program = (code: string) =>
    new ScriptedModel({ tool: 'run_code', args: { code, description: 'Watch a job' } }, 'switching')

  const WAIT = `tools.job_output(${JSON.stringify(wait.args)})`

  /** The request after the program, for which a wait of ten minutes would be too long. */
  async function nextRequest(model: ScriptedModel) {
    await vi.waitFor(
      () => {
        expect(model.requests).toHaveLength(2)
      },
      { timeout: 20_000 },
    )
    return newsOf(model, 1)
  }

  it.each([1, 3, 5, 10])('%i waits at once: it is in the very next request', async count => {
    const waits = Array.from({ length: count }, () => WAIT).join()
    const model = program(`return (await Promise.all([${waits}])).map(({ wake }) => wake?.code)`)
    const { world, agent, job } = await begin(model, 'code')
    await world.waitedFor(job)

    agent.steer(userMessage(STOP))

    const { results, messages } = await nextRequest(model)
    expect(messages).toEqual([STOP])
    expect(JSON.parse(results.join())).toEqual(Array(count).fill('STEER_PREEMPTED'))
  })

  it('a program that goes on waiting comes to its end, too', async () => {
    const model = program(`
      const codes = []
      while (codes.length < 18) codes.push((await ${WAIT}).wake?.code)
      return codes`)
    const { world, agent, job } = await begin(model, 'code')
    await world.waitedFor(job)

    agent.steer(userMessage(STOP))

    const { results, messages } = await nextRequest(model)
    expect(messages).toEqual([STOP])
    expect(JSON.parse(results.join())).toEqual(Array(18).fill('STEER_PREEMPTED'))
  })
})
