/** The steers of an agent, as its waits see them: the decision by tables, the record over the real inbox. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import { countEnd, steerDue, SteerWatch, type Steers } from '../src/steer-watch.ts'

const steers = (changes: Partial<Steers> = {}): Steers => ({
  ids: ['m'],
  openedAt: 100,
  firstEnd: Infinity,
  laterEnds: 0,
  ...changes,
})

describe('when steers end a wait', () => {
  it.each([
    ['that began before they came: after its grace', {}, 0, 350],
    ['that began after they came: at the end of the same grace', {}, 120, 350],
    ['that went on when they ended another one: still after its own grace', { firstEnd: 200 }, 199, 350],
    ['that began after that: at once', { firstEnd: 200 }, 200, 200],
    ['that is the 16th to begin after that: at once', { firstEnd: 200, laterEnds: 15 }, 900, 900],
    ['that is the 17th: slowed down', { firstEnd: 200, laterEnds: 16 }, 900, 1150],
    ['that is the 18th: twice as much', { firstEnd: 200, laterEnds: 17 }, 900, 1400],
    ['that is the 22nd: 8 s', { firstEnd: 200, laterEnds: 21 }, 900, 8900],
    ['that is the 23rd: 10 s', { firstEnd: 200, laterEnds: 22 }, 900, 10_900],
    ['that is the ten thousandth: no longer than that', { firstEnd: 200, laterEnds: 9999 }, 900, 10_900],
  ])('%s', (_name, changes, startedAt, due) => {
    const pending = steers(changes)
    expect(steerDue(pending, startedAt, 250)).toEqual({ at: due, by: 'steer', steers: pending })
  })
})

describe('an end by steers', () => {
  it.each([
    ['is the first', {}, 120, { firstEnd: 500 }],
    ['of a wait that had begun before the first is not counted', { firstEnd: 300 }, 299, { firstEnd: 300 }],
    ['of a wait that began later is counted', { firstEnd: 300 }, 300, { firstEnd: 300, laterEnds: 1 }],
  ])('%s', (_name, before, startedAt, after) => {
    const record = steers(before)
    countEnd(record, startedAt, 500)
    expect(record).toEqual(steers(after))
  })
})

describe('the record of an agent', () => {
  let ctx: Context
  let agent: Agent
  let watch: SteerWatch
  const warn = vi.fn<(fault: string) => void>()
  const message = (kind: 'user' | 'plugin' = 'user') =>
    createUserMessage({
      content: [{ type: 'text', text: 'stop' }],
      source: kind === 'user' ? { kind } : { kind, plugin: 'p', form: 'notice', summary: 's' },
    })

  function steer() {
    const sent = message()
    agent.inbox.append('next-step', sent)
    return sent
  }

  beforeEach(async () => {
    ctx = new Context()
    await mountAgentLoopTestDependencies(ctx)
    await ctx.plugin(AgentLoop, { agents: [] })
    const agentOptions = { provider: 'none', model: 'm' }
    ;({ agent } = await ctx.agents.create({ sessionId: SessionId('A'), agentOptions }))
    watch = new SteerWatch(ctx, warn)
    vi.useFakeTimers()
  })

  afterEach(async () => {
    vi.useRealTimers()
    vi.restoreAllMocks()
    warn.mockClear()
    await ctx.fiber.dispose()
  })

  it('begins when a wait sees a steer, and is the same for all of its waits', () => {
    expect(watch.pending(agent)).toBeUndefined()
    const { id } = steer()
    vi.advanceTimersByTime(50)
    const record = watch.pending(agent)
    expect(record).toEqual({ ids: [id], openedAt: performance.now(), firstEnd: Infinity, laterEnds: 0 })
    vi.advanceTimersByTime(50)
    expect(watch.pending(agent)).toBe(record)
  })

  it('knows the messages of the user for the next step only', () => {
    agent.inbox.append('next-step', message('plugin'))
    agent.inbox.append('next-turn', message())
    expect(watch.pending(agent)).toBeUndefined()
    const { id } = steer()
    expect(watch.pending(agent)?.ids).toEqual([id])
  })

  it('goes on with a steer that joins, also when the first is withdrawn or claimed alone', () => {
    const first = steer()
    const record = watch.pending(agent)
    const second = steer()
    expect(watch.pending(agent)).toBe(record)
    agent.inbox.remove(first.id)
    expect(watch.pending(agent)).toBe(record)
    expect(record?.ids).toEqual([second.id])
  })

  it('is inherited by the message that replaces its last one, however often, whether a wait looks or not', () => {
    let last = steer()
    const record = watch.pending(agent)
    for (const look of [true, false, false]) {
      const next = message()
      agent.inbox.replace(last.id, next)
      if (look) expect(watch.pending(agent)).toBe(record)
      last = next
    }
    expect(watch.pending(agent)).toBe(record)
  })

  it.each<[string, (sent: ReturnType<typeof message>) => unknown]>([
    ['claimed', () => agent.inbox.claim('next-step', 1)],
    ['withdrawn', sent => agent.inbox.remove(sent.id)],
    [
      'replaced by a notice',
      (sent: ReturnType<typeof message>) => {
        agent.inbox.replace(sent.id, message('plugin'))
      },
    ],
  ])('is dropped when the last one is %s: the next steer begins a new one', (_name, take) => {
    const record = watch.pending(agent)
    take(steer())
    steer()
    const next = watch.pending(agent)
    expect(next).toBeDefined()
    expect(next).not.toBe(record)
    expect(watch.pending(agent)).toBe(next)
  })

  it('begins anew if another message is there and the inbox told nobody', () => {
    const told = steer()
    const record = watch.pending(agent)
    const silent = { id: agent.id, inbox: { nextStep: [told] } }
    expect(watch.pending(silent as unknown as Agent)).not.toBe(record)
    const first = watch.pending(silent as unknown as Agent)
    silent.inbox.nextStep = [message()]
    expect(watch.pending(silent as unknown as Agent)).not.toBe(first)
  })

  it('does not exist for an agent without an inbox', () => {
    expect(watch.pending({ id: agent.id } as Agent)).toBeUndefined()
    expect(warn).not.toHaveBeenCalled()
  })

  it('does not exist while the inbox throws, which is reported once an agent', () => {
    steer()
    const inbox = vi.spyOn(agent, 'inbox', 'get').mockImplementation(() => {
      throw new Error('closed')
    })
    expect(watch.pending(agent)).toBeUndefined()
    expect(watch.pending(agent)).toBeUndefined()
    expect(warn.mock.calls).toEqual([['the inbox of A threw, no steer ends its waits: Error: closed']])
    inbox.mockRestore()
    expect(watch.pending(agent)).toBeDefined()
  })

  it('is up to date before anybody is told that the inbox changed, and nobody is told after the end of the context', async () => {
    const record = watch.pending(agent)
    const seen: unknown[] = []
    const listener = () => void seen.push(watch.pending(agent))
    watch.listeners.add(listener)
    const sent = steer()
    expect(seen).toHaveLength(1)
    agent.inbox.claim('next-step', 1)
    steer()
    agent.inbox.clear()
    expect(seen).toEqual([expect.anything(), undefined, expect.anything(), undefined])
    expect(record).toBeUndefined()
    watch.listeners.delete(listener)
    agent.inbox.append('next-step', sent)
    expect(seen).toHaveLength(4)

    watch.listeners.add(listener)
    await ctx.fiber.dispose()
    expect(ctx.events._hooks['agent/inbox/inserted'] ?? []).toEqual([])
  })

  it('tells everybody, though one of them is the last to be told', () => {
    const told: string[] = []
    const second = () => void told.push('second')
    watch.listeners.add(() => {
      told.push('first')
      watch.listeners.delete(second)
    })
    watch.listeners.add(second)
    steer()
    steer()
    expect(told).toEqual(['first', 'second', 'first'])
  })
})
