import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { agentEvents, emitAgentEvent, type Agent, type PreStepDecision } from '@deepseek-ai/dsh-agent'
import { GoalId, type GoalView } from '@deepseek-ai/dsh-goal'
import type { MessageSource } from '@deepseek-ai/dsh-llm'
import * as driver from '../src/index.ts'
import { DriverStates } from '../src/state.ts'
import {
  askCall,
  createRuntime,
  disposeRuntimes,
  eventsOf,
  eventually,
  goalOf,
  message,
  notice,
  rounds,
  type Runtime,
  type RuntimeOptions,
  settled,
} from './harness.ts'

afterEach(async () => {
  vi.restoreAllMocks()
  await disposeRuntimes()
})

async function start(options: Partial<RuntimeOptions> = {}) {
  const runtime = await createRuntime({ driver, script: () => 'done', ...options })
  const handle = await runtime.createAgent()
  return { ...runtime, ...handle, runtime }
}

function current(runtime: Runtime, agent: Agent): GoalView {
  return runtime.ctx.goals.get(agent) ?? expect.fail('no goal')
}

/** A model that waits until the test lets it answer; its requests end with their signal. */
function gate() {
  const waiting: (() => void)[] = []
  const script: RuntimeOptions['script'] = ({ signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    waiting.push(() => {
      resolve('done')
    })
    signal?.addEventListener('abort', () => {
      reject(new Error('aborted'))
    })
    return promise
  }
  const arrived = (count: number) =>
    eventually(() => {
      expect(waiting).toHaveLength(count)
    })
  return { script, waiting, arrived }
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

describe('driving', () => {
  it('declares what it is and needs', () => {
    expect(driver.name).toBe('goal-round-driver')
    expect(driver.inject).toEqual(['agents', 'goals', 'sessions'])
  })

  it('runs rounds one after the other until the cap, then blocks the goal', async () => {
    const { ctx, agent, runtime } = await start()
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 3 })
    expect(await goalOf(runtime, agent)).toMatchObject({
      phase: 'blocked',
      roundsStarted: 3,
      blockedReason: { code: 'round-limit', message: 'Goal reached its configured limit of 3 rounds.' },
    })
    expect(rounds(agent.session)).toEqual([1, 2, 3])
  })

  it('makes a goal change durable before the first round, and a round before the next', async () => {
    const { ctx, agent } = await start()
    const order: string[] = []
    const flush = vi.spyOn(ctx.sessions, 'flush').mockImplementation(() => {
      order.push('flush')
      return Promise.resolve(true)
    })
    ctx.on('agent/inbox/inserted', () => void order.push('round'))
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 2 })
    await settled(agent)
    expect(order).toEqual(['flush', 'round', 'flush', 'round', 'flush', 'flush'])
    expect(flush).toHaveBeenCalledWith(agent.session)
  })

  it('reserves, starts and claims the next round inside the idle of an ordinary turn', async () => {
    const { ctx, agent } = await start()
    agent.followup(message('hello'))
    await settled(agent)
    const flush = vi.spyOn(ctx.sessions, 'flush')
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    agent.followup(message('me first'))
    const claims: number[] = []
    ctx.on('agent/inbox/claimed', ({ turn }) => void claims.push(turn))
    const claimedInIdle: number[][] = []
    // Behind the driver's own listener: sees what that has done inside the same event.
    ctx.on('agent/status', ({ status }) => {
      if (status === 'idle') claimedInIdle.push([...claims])
    })
    await settled(agent)
    expect(flush).toHaveBeenCalled()
    expect(rounds(agent.session)).toEqual([1])
    expect(claimedInIdle[0]).toEqual([3])
  })

  it('lets human work go first', async () => {
    const { ctx, agent } = await start()
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    agent.followup(message('me first'))
    await settled(agent)
    expect(eventsOf(agent.session, 'user/message').map(event => event.data.source.kind)).toEqual(['user', 'goal'])
  })

  it('does nothing for a goal that is not active or not armed', async () => {
    const { ctx, agent, runtime } = await start()
    const goal = ctx.goals.create(agent, { objective: 'ship it' })
    ctx.goals.pause(agent, goal)
    await settled(agent)
    expect(rounds(agent.session)).toEqual([])
    expect(current(runtime, agent).phase).toBe('paused')
  })

  it('ends the pass when the checkpoint fails, and disarms', async () => {
    const { ctx, agent, runtime, warnings } = await start()
    vi.spyOn(ctx.sessions, 'flush').mockRejectedValueOnce(new TypeError('disk full'))
    ctx.goals.create(agent, { objective: 'ship it' })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'active', activation: 'disarmed' })
    expect(warnings).toEqual([expect.stringMatching(/: disk full$/)])
    expect(rounds(agent.session)).toEqual([])
  })

  it('starts over when the goal changes during the checkpoint', async () => {
    const { ctx, agent, runtime } = await start()
    const flush = vi.spyOn(ctx.sessions, 'flush')
    flush.mockImplementationOnce(() => {
      ctx.goals.edit(agent, current(runtime, agent), { objective: 'ship it well' })
      return Promise.resolve(true)
    })
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    await settled(agent)
    const [round] = eventsOf(agent.session, 'user/message')
    expect(JSON.stringify(round?.data.content)).toContain('ship it well')
    expect(rounds(agent.session)).toEqual([1])
  })

  it('goes no further when human work arrives during the checkpoint', async () => {
    const { ctx, agent } = await start()
    vi.spyOn(ctx.sessions, 'flush').mockImplementationOnce(() => {
      agent.send(message('wait'), 'next-turn', false)
      return Promise.resolve(true)
    })
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    await settled(agent)
    expect(rounds(agent.session)).toEqual([])
  })

  it.each([new Error('queue closed'), 'queue closed'])(
    'blocks the goal when its round cannot be queued: %s',
    async thrown => {
      const { ctx, agent, runtime, warnings } = await start()
      vi.spyOn(agent, 'followup').mockImplementationOnce(() => {
        throw thrown
      })
      ctx.goals.create(agent, { objective: 'ship it' })
      expect(await goalOf(runtime, agent)).toMatchObject({
        phase: 'blocked',
        blockedReason: { code: 'queue-failed', message: 'Could not queue goal round 1: queue closed' },
      })
      expect(warnings).toEqual([expect.stringMatching(/could not queue round 1 for agent "agent": queue closed$/)])
    },
  )

  it('leaves a goal alone that changed while its round could not be queued', async () => {
    const { ctx, agent, runtime } = await start()
    vi.spyOn(agent, 'followup').mockImplementationOnce(() => {
      ctx.goals.pause(agent, current(runtime, agent))
      throw new Error('queue closed')
    })
    ctx.goals.create(agent, { objective: 'ship it' })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'paused' })
  })

  it('logs a pass that throws, and disarms', async () => {
    const { ctx, agent, runtime, warnings } = await start()
    vi.spyOn(ctx.goals, 'block').mockImplementationOnce(() => {
      throw new Error('cannot block')
    })
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'active', activation: 'disarmed' })
    expect(warnings).toEqual([expect.stringMatching(/driver failed for agent "agent": cannot block$/)])
  })

  it.each([
    ['rejects', () => Promise.reject(new Error('no run'))],
    [
      'cannot start',
      () => {
        throw new Error('no run')
      },
    ],
  ])('logs a run that %s, disarms, and drives again later', async (_, run) => {
    const { ctx, agent, runtime, warnings } = await start()
    vi.spyOn(ctx.agents, 'withoutInitiator').mockImplementationOnce(run)
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'active', activation: 'disarmed' })
    expect(warnings).toEqual([expect.stringMatching(/: no run$/)])
    ctx.goals.resume(agent, current(runtime, agent))
    await settled(agent)
    expect(rounds(agent.session)).toEqual([1])
  })

  it('logs a failure to disarm and lives on', async () => {
    const { ctx, agent, warnings } = await start()
    vi.spyOn(ctx.sessions, 'flush').mockRejectedValueOnce(new Error('disk full'))
    vi.spyOn(ctx.goals, 'disarm').mockImplementationOnce(() => {
      throw new Error('cannot disarm')
    })
    ctx.goals.create(agent, { objective: 'ship it' })
    await settled(agent)
    expect(warnings).toEqual([
      expect.stringMatching(/durability checkpoint failed for agent "agent": disk full$/),
      expect.stringMatching(/could not disarm agent "agent": cannot disarm$/),
    ])
  })

  it('runs a round without the initiator that triggered it', async () => {
    const { ctx, agent } = await start()
    const other = await ctx.agents.create({ sessionId: 'other' as never })
    const initiators: (Agent | undefined)[] = []
    ctx.on('agent/inbox/inserted', () => void initiators.push(ctx.agents.currentInitiator()))
    ctx.agents.withInitiator(other.agent, () => ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 }))
    await settled(agent)
    expect(initiators).toEqual([undefined])
  })
})

describe('events', () => {
  it('disarms on an error of the agent', async () => {
    const { ctx, agent, runtime } = await start({ script: () => Promise.reject(new Error('provider down')) })
    ctx.goals.create(agent, { objective: 'ship it' })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'active', activation: 'disarmed', roundsStarted: 1 })
  })

  it('does nothing for an agent that is gone', async () => {
    const { ctx, agent, dispose, warnings } = await start()
    ctx.goals.create(agent, { objective: 'ship it' })
    await settled(agent)
    await dispose()
    emitAgentEvent(ctx, agent, 'agent/error', { turn: 1, step: 1, error: new Error('late') })
    expect(warnings).toEqual([])
  })

  it('pauses the goal of a round that was cancelled before its turn', async () => {
    const { ctx, agent, runtime } = await start()
    ctx.on('agent/inbox/inserted', () => {
      agent.inbox.clear()
    })
    ctx.goals.create(agent, { objective: 'ship it' })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'paused', roundsStarted: 0 })
  })

  it('pauses the goal of a round that was cancelled in the middle', async () => {
    const { script, arrived } = gate()
    const { ctx, agent, runtime } = await start({ script })
    ctx.goals.create(agent, { objective: 'ship it' })
    await arrived(1)
    agent.cancel({ kind: 'user' })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'paused', roundsStarted: 1 })
  })

  it('disarms when the goal of a cancelled round cannot be paused', async () => {
    const { script, arrived } = gate()
    const { ctx, agent, runtime, warnings } = await start({ script })
    ctx.goals.create(agent, { objective: 'ship it' })
    await arrived(1)
    vi.spyOn(ctx.goals, 'pause').mockImplementationOnce(() => {
      throw new Error('cannot pause')
    })
    agent.cancel({ kind: 'user' })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'active', activation: 'disarmed' })
    expect(warnings).toEqual([expect.stringMatching(/: cannot pause$/)])
  })

  it('drives no further from an idle at which the goal cannot be read', async () => {
    const { ctx, agent, runtime, warnings } = await start()
    ctx.on(
      'agent/status',
      ({ status }) => {
        if (status !== 'idle' || warnings.length > 0) return
        vi.spyOn(ctx.goals, 'get').mockImplementationOnce(() => {
          throw new Error('goal store gone')
        })
      },
      { prepend: true },
    )
    ctx.goals.create(agent, { objective: 'ship it' })
    expect(await goalOf(runtime, agent)).toMatchObject({ activation: 'armed', roundsStarted: 1 })
    expect(warnings).toEqual([expect.stringMatching(/goal store gone$/)])
  })

  it('leaves a goal as it is that was decided while its round was being cancelled', async () => {
    const { script, arrived } = gate()
    const { ctx, agent, runtime } = await start({ script })
    ctx.goals.create(agent, { objective: 'ship it' })
    await arrived(1)
    ctx.goals.complete(agent, current(runtime, agent))
    agent.cancel({ kind: 'user' })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'complete' })
  })

  it('disarms when an ordinary turn is aborted', async () => {
    const { script, arrived } = gate()
    const { ctx, agent, runtime } = await start({ script })
    agent.followup(message('hello'))
    await arrived(1)
    ctx.goals.create(agent, { objective: 'ship it' })
    agent.cancel({ kind: 'user' })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'active', activation: 'disarmed', roundsStarted: 0 })
  })

  it('disarms when a turn ends at its token limit', async () => {
    const { ctx, agent, runtime } = await start()
    ctx.goals.create(agent, { objective: 'ship it' })
    const { session } = agent
    const append = session.append.bind(session)
    vi.spyOn(session, 'append').mockImplementation(((type: string, data: { turn: number }, ...rest: never[]) =>
      (append as (...args: unknown[]) => unknown)(
        type,
        type === 'turn/end' ? { turn: data.turn, reason: { kind: 'max-tokens' } } : data,
        ...rest,
      )) as never)
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'active', activation: 'disarmed', roundsStarted: 1 })
  })

  it('forgets an attempt at a new session start', async () => {
    const { script, arrived, waiting } = gate()
    const { ctx, agent, runtime } = await start({ script })
    ctx.goals.create(agent, { objective: 'ship it' })
    await arrived(1)
    emitAgentEvent(ctx, agent, 'agent/session-start', { source: 'clear' })
    waiting[0]?.()
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'active', activation: 'disarmed' })
    expect(rounds(agent.session)).toEqual([1])
  })

  it('ignores the events of another session under the id of its agent', async () => {
    const { script, arrived } = gate()
    const { ctx, agent, runtime } = await start({ script })
    ctx.goals.create(agent, { objective: 'ship it' })
    await arrived(1)
    const twin = Object.create(agent.session) as typeof agent.session
    ctx.emit('session/event', twin, { type: 'turn/end', data: { turn: 1, reason: { kind: 'max-tokens' } } } as never)
    expect(current(runtime, agent).activation).toBe('armed')
  })

  it('keeps no hold on any of 1,000 agents that are gone', async () => {
    const { ctx, createAgent } = await start()
    const create = async (n: number) => {
      const { agent, dispose } = await createAgent(`agent-${n}`)
      await dispose()
      return new WeakRef(agent)
    }
    const gone = await Promise.all(Array.from({ length: 1_000 }, (_, n) => create(n)))
    await eventually(() => {
      collectGarbage()
      expect(gone.filter(agent => agent.deref() !== undefined)).toHaveLength(0)
    })
    expect(ctx.agents.list()).toHaveLength(1)
  }, 30_000)
})

describe('the states', () => {
  it('are one for each agent object, until it is forgotten', () => {
    const states = new DriverStates()
    const agents = [{ id: 'same' }, { id: 'same' }] as unknown as [Agent, Agent]
    const made = agents.map(agent => states.of(agent))
    expect(states.all()).toEqual(made)
    expect(states.of(agents[0])).toBe(made[0])
    states.forget(agents[0])
    expect(states.all()).toEqual([made[1]])
    expect(states.peek(agents[0])).toBeUndefined()
    states.clear()
    expect(states.all()).toEqual([])
  })
})

describe('the step fence', () => {
  const foreign: MessageSource = { kind: 'goal', goalId: GoalId('none'), revision: 1, round: 1 }

  it('delegates a step without a goal round, round 0 included', async () => {
    const { agent } = await start()
    agent.followup(message('state', { ...foreign, round: 0 }))
    await settled(agent)
    expect(eventsOf(agent.session, 'user/message')).toHaveLength(1)
  })

  it('refuses a round that nobody reserved', async () => {
    const { agent } = await start()
    agent.followup(message('go on', foreign))
    await settled(agent)
    expect(eventsOf(agent.session, 'turn/end')).toMatchObject([{ data: { reason: { kind: 'blocked' } } }])
  })

  it('puts back what was claimed with a refused round, in order, and only that', async () => {
    const { agent } = await start()
    const first = notice('first')
    const second = notice('second')
    agent.inject(first)
    agent.inject(message('state', { ...foreign, round: 0 }))
    agent.inject(second)
    agent.followup(message('go on', foreign))
    await settled(agent)
    expect(agent.inbox.nextStep).toEqual([first, second])
  })

  it.each(['next-step', 'next-turn'] as const)(
    'does not put back a message that is pending in %s again',
    async target => {
      const { ctx, agent } = await start()
      const again = notice('again')
      let done = false
      // Before the driver's fence: somebody puts a claimed message back already.
      ctx.on(
        'agent/pre-step',
        ({ messages }, next) => {
          if (!done && messages.some(({ id }) => id === again.id)) agent.inbox.append(target, again)
          done = true
          return next()
        },
        { prepend: true },
      )
      agent.inject(again)
      agent.followup(message('go on', foreign))
      await eventually(() => {
        expect(eventsOf(agent.session, 'turn/end').length).toBeGreaterThan(0)
      })
      const { nextStep, nextTurn } = agent.inbox
      expect([...nextStep, ...nextTurn]).toEqual([again])
      expect(eventsOf(agent.session, 'turn/end')[0]?.data.reason.kind).toBe('blocked')
    },
  )

  it('drops the round and reserves it again when the goal was edited between the claim and the step', async () => {
    const { ctx, agent, runtime } = await start()
    let edited = false
    ctx.on('agent/inbox/claimed', () => {
      if (edited) return
      edited = true
      ctx.goals.edit(agent, current(runtime, agent), { objective: 'ship it well' })
    })
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    await settled(agent)
    expect(rounds(agent.session)).toEqual([1])
    expect(JSON.stringify(eventsOf(agent.session, 'user/message')[0]?.data.content)).toContain('ship it well')
  })

  it('refuses a round whose goal was edited by a later listener, and gives back what that let enter', async () => {
    const { ctx, agent, runtime } = await start()
    const added = notice('added')
    let edited = false
    ctx.on('agent/pre-step', async (_, next) => {
      const decision = await next()
      if (edited || decision.kind === 'reject') return decision
      edited = true
      ctx.goals.edit(agent, current(runtime, agent), { objective: 'ship it well' })
      return { ...decision, messages: [...decision.messages, added] }
    })
    const company = notice('with it')
    agent.inject(company)
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    await settled(agent)
    expect(eventsOf(agent.session, 'turn/end')[0]?.data.reason.kind).toBe('blocked')
    const entered = eventsOf(agent.session, 'user/message').map(event => event.data)
    expect(entered.map(({ id }) => id)).toEqual([company.id, added.id, expect.anything()])
    expect(JSON.stringify(entered.at(-1)?.content)).toContain('ship it well')
  })

  it('refuses a round that has not been claimed', async () => {
    const { ctx, agent, runtime } = await start()
    const admit = vi.fn(() => Promise.resolve<PreStepDecision>({ kind: 'enter', messages: [] }))
    const decisions: Promise<PreStepDecision>[] = []
    ctx.on('agent/inbox/inserted', ({ message: queued }) => {
      const { signal } = new AbortController()
      const step = { messages: [queued], turn: 1, step: 1, signal }
      decisions.push(agentEvents(ctx, agent).waterfall('agent/pre-step', step, admit))
      ctx.goals.pause(agent, current(runtime, agent))
    })
    ctx.goals.create(agent, { objective: 'ship it' })
    await settled(agent)
    expect(await decisions[0]).toEqual({ kind: 'reject' })
    expect(admit).not.toHaveBeenCalled()
  })

  it('refuses a message that names the reserved round but says something else', async () => {
    const { ctx, agent } = await start()
    let forged = false
    ctx.on('agent/inbox/inserted', ({ message: reserved }) => {
      if (forged) return
      forged = true
      agent.inject(message('other words', reserved.source))
    })
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    await eventually(() => {
      expect(eventsOf(agent.session, 'turn/end')).not.toHaveLength(0)
    })
    expect(eventsOf(agent.session, 'turn/end')[0]?.data.reason.kind).toBe('blocked')
    expect(JSON.stringify(eventsOf(agent.session, 'user/message'))).not.toContain('other words')
  })

  it('refuses a copy of the round that is already running', async () => {
    const { script, arrived, waiting } = gate()
    const { ctx, agent } = await start({ script })
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    await arrived(1)
    const [running] = eventsOf(agent.session, 'user/message')
    if (running === undefined) expect.fail('no round')
    agent.inject({ ...message('', running.data.source), content: running.data.content })
    waiting[0]?.()
    await eventually(() => {
      expect(eventsOf(agent.session, 'turn/end')).toHaveLength(1)
    })
    expect(eventsOf(agent.session, 'turn/end')[0]?.data.reason.kind).toBe('blocked')
    expect(rounds(agent.session)).toEqual([1])
  })

  it('admits no round once the unload has begun', async () => {
    const { ctx, agent, driver: plugin } = await start()
    const unloading: PromiseWithResolvers<void> = Promise.withResolvers()
    ctx.on(
      'agent/pre-step',
      (_, next) => {
        unloading.resolve(plugin.dispose())
        return next()
      },
      { prepend: true },
    )
    const later = vi.fn()
    ctx.on('agent/pre-step', (_, next) => {
      later()
      return next()
    })
    ctx.goals.create(agent, { objective: 'ship it' })
    await unloading.promise
    expect(later).not.toHaveBeenCalled()
  })

  it('counts a check that throws as invalid, logs it and disarms', async () => {
    const { ctx, agent, runtime, warnings } = await start()
    ctx.on('agent/inbox/claimed', () => {
      vi.spyOn(ctx.goals, 'get').mockImplementationOnce(() => {
        throw new Error('goal store gone')
      })
    })
    ctx.goals.create(agent, { objective: 'ship it' })
    expect(await goalOf(runtime, agent)).toMatchObject({ activation: 'disarmed', roundsStarted: 0 })
    expect(warnings).toEqual([expect.stringMatching(/goal store gone$/)])
  })

  it('blocks the goal when a later listener rejects the round', async () => {
    const { ctx, agent, runtime } = await start()
    ctx.on('agent/pre-step', () => Promise.resolve({ kind: 'reject' }))
    ctx.goals.create(agent, { objective: 'ship it' })
    expect(await goalOf(runtime, agent)).toMatchObject({
      phase: 'blocked',
      blockedReason: { code: 'prompt-rejected', message: 'Goal round was rejected before entering its step.' },
    })
  })

  it('leaves a goal alone that the rejecting listener has changed', async () => {
    const { ctx, agent, runtime } = await start()
    ctx.on('agent/pre-step', () => {
      ctx.goals.pause(agent, current(runtime, agent))
      return Promise.resolve({ kind: 'reject' })
    })
    ctx.goals.create(agent, { objective: 'ship it' })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'paused' })
  })

  it('fails the turn, which disarms, when the goal of a rejected round cannot be blocked', async () => {
    const { ctx, agent, runtime } = await start()
    ctx.on('agent/pre-step', () => {
      vi.spyOn(ctx.goals, 'block').mockImplementationOnce(() => {
        throw new Error('cannot block')
      })
      return Promise.resolve({ kind: 'reject' })
    })
    ctx.goals.create(agent, { objective: 'ship it' })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'active', activation: 'disarmed' })
    expect(eventsOf(agent.session, 'turn/end')).toMatchObject([
      { data: { reason: { kind: 'error', error: { message: 'cannot block' } } } },
    ])
  })

  it('hands a failure of a later listener on', async () => {
    const { ctx, agent, runtime } = await start()
    ctx.on('agent/pre-step', () => Promise.reject(new Error('listener broke')))
    ctx.goals.create(agent, { objective: 'ship it' })
    expect(await goalOf(runtime, agent)).toMatchObject({ activation: 'disarmed', roundsStarted: 0 })
    expect(eventsOf(agent.session, 'turn/end')).toMatchObject([{ data: { reason: { kind: 'error' } } }])
  })

  it('hands a failure of a later listener on as it is when the turn was aborted', async () => {
    const { ctx, agent, runtime } = await start()
    ctx.on('agent/pre-step', () => {
      agent.cancel({ kind: 'user' })
      return Promise.reject(new Error('aborted'))
    })
    ctx.goals.create(agent, { objective: 'ship it' })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'paused', roundsStarted: 0 })
  })

  it('gives the company of a round back when the turn is aborted before it enters', async () => {
    const { ctx, agent, runtime } = await start()
    ctx.on('agent/pre-step', (_, next) => {
      agent.cancel({ kind: 'user' }, { keepInbox: true })
      return next()
    })
    const company = notice('with it')
    agent.inject(company)
    ctx.goals.create(agent, { objective: 'ship it' })
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'paused', roundsStarted: 0 })
    expect(agent.inbox.nextStep.map(({ id }) => id)).toContain(company.id)
  })

  it('gives nothing back when the aborted step was rejected', async () => {
    const { ctx, agent } = await start()
    ctx.on('agent/pre-step', () => {
      agent.cancel({ kind: 'user' }, { keepInbox: true })
      return Promise.resolve({ kind: 'reject' })
    })
    agent.inject(notice('with it'))
    ctx.goals.create(agent, { objective: 'ship it' })
    await settled(agent)
    expect(agent.inbox.hasPending).toBe(false)
  })

  it('takes the first round of a batch as the round, and gives a reserved one behind it back', async () => {
    const { ctx, agent, runtime } = await start()
    agent.inject(message('go on', foreign))
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    await settled(agent)
    expect(eventsOf(agent.session, 'turn/end')[0]?.data.reason.kind).toBe('blocked')
    expect(current(runtime, agent).phase).toBe('paused')
    expect(rounds(agent.session)).toEqual([])
  })

  it('refuses a round that a human message came after, and lets that go first', async () => {
    const { ctx, agent } = await start()
    let sent = false
    ctx.on('agent/inbox/inserted', ({ message: inserted }) => {
      if (sent || inserted.source.kind !== 'goal') return
      sent = true
      agent.send(message('me too'), 'next-turn', false)
    })
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    await settled(agent)
    const reasons = eventsOf(agent.session, 'turn/end').map(event => event.data.reason.kind)
    expect(reasons).toEqual(['blocked', 'completed', 'completed'])
    expect(eventsOf(agent.session, 'user/message').map(event => event.data.source.kind)).toEqual(['user', 'goal'])
  })
})

describe('loading and unloading', () => {
  it('disarms every live agent on load', async () => {
    const runtime = await createRuntime({ driver: { name: 'none', apply: () => undefined }, script: () => 'done' })
    const { agent } = await runtime.createAgent()
    runtime.ctx.goals.create(agent, { objective: 'ship it' })
    await runtime.ctx.plugin(driver)
    expect(await goalOf(runtime, agent)).toMatchObject({ phase: 'active', activation: 'disarmed', roundsStarted: 0 })
  })

  it('stops the round in progress, disarms and waits, then hears nothing more', async () => {
    const { script, arrived } = gate()
    const { ctx, agent, runtime, driver: plugin } = await start({ script })
    ctx.goals.create(agent, { objective: 'ship it' })
    await arrived(1)
    await plugin.dispose()
    expect(agent.status).toBe('idle')
    expect(eventsOf(agent.session, 'turn/end')).toMatchObject([
      { data: { reason: { kind: 'aborted', reason: { kind: 'parent' } } } },
    ])
    expect(current(runtime, agent)).toMatchObject({ phase: 'active', activation: 'disarmed' })
    ctx.goals.resume(agent, current(runtime, agent))
    await settled(agent)
    expect(rounds(agent.session)).toEqual([1])
  })

  it('leaves nothing behind, and says so, when the round in progress cannot be cancelled', async () => {
    const { script, arrived, waiting } = gate()
    const { ctx, agent, driver: plugin, warnings } = await start({ script })
    ctx.goals.create(agent, { objective: 'ship it' })
    await arrived(1)
    vi.spyOn(agent, 'cancel').mockImplementationOnce(() => {
      throw new Error('cannot cancel')
    })
    await plugin.dispose()
    expect(warnings).toEqual([
      expect.stringMatching(/could not cancel the round in progress for agent "agent": cannot cancel$/),
    ])
    expect(agent.status).toBe('running')
    waiting[0]?.()
    await settled(agent)
    expect(rounds(agent.session)).toEqual([1])
  })

  it('waits for a checkpoint in progress', async () => {
    const { ctx, agent, driver: plugin } = await start()
    const flushing = Promise.withResolvers<boolean>()
    vi.spyOn(ctx.sessions, 'flush').mockReturnValueOnce(flushing.promise)
    ctx.goals.create(agent, { objective: 'ship it' })
    let unloaded = false
    const unloading = plugin.dispose().then(() => (unloaded = true))
    await new Promise(resolve => setImmediate(resolve))
    expect(unloaded).toBe(false)
    flushing.resolve(true)
    await unloading
    await settled(agent)
    expect(rounds(agent.session)).toEqual([])
  })

  it('waits for the checkpoint of a finished round', async () => {
    const { script, arrived, waiting } = gate()
    const { ctx, agent, runtime, driver: plugin } = await start({ script })
    ctx.goals.create(agent, { objective: 'ship it' })
    await arrived(1)
    ctx.goals.complete(agent, current(runtime, agent))
    const flushing = Promise.withResolvers<boolean>()
    const flush = vi.spyOn(ctx.sessions, 'flush').mockReturnValueOnce(flushing.promise)
    waiting[0]?.()
    await eventually(() => {
      expect(flush).toHaveBeenCalled()
    })
    const cancel = vi.spyOn(agent, 'cancel')
    const unloading = plugin.dispose()
    flushing.resolve(true)
    await unloading
    expect(cancel).not.toHaveBeenCalled()
  })

  it('leaves an agent running that is not in a round', async () => {
    const { script, arrived, waiting } = gate()
    const { agent, driver: plugin } = await start({ script })
    agent.followup(message('hello'))
    await arrived(1)
    await plugin.dispose()
    expect(agent.status).toBe('running')
    waiting[0]?.()
    await agent.whenIdle()
  })

  it('loads and drives without a tool registry', async () => {
    const ctx = new Context()
    const seen: string[] = []
    const agents = { list: () => [], get: () => undefined }
    ctx.provide('agents', agents)
    ctx.provide('goals', {})
    ctx.provide('sessions', {})
    const fiber = await ctx.plugin(driver)
    seen.push(String(fiber.state))
    await ctx.fiber.dispose()
    expect(seen).toEqual(['2'])
  })
})

it('asks nobody in a round, and answers in an ordinary turn', async () => {
  const { ctx, agent, asked } = await start({ script: (_, index) => (index % 2 === 0 ? [askCall] : 'done') })
  ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 2 })
  await settled(agent)
  expect(asked).toEqual([])
  agent.followup(message('hello'))
  await settled(agent)
  expect(asked).toEqual(['q1'])
})
