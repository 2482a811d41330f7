/**
 * The published driver and ours, through the same scenarios, each in a runtime of its own: what becomes of the goal, the
 * session log, the model's requests, the calls to the services and the warnings must not differ. Nobody asks the user
 * here: that is where they differ on purpose.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Plugin } from '@deepseek-ai/cordis'
import { emitAgentEvent, type Agent, type AgentHandle, type PreStepDecision } from '@deepseek-ai/dsh-agent'
import { GoalId, type GoalView } from '@deepseek-ai/dsh-goal'
import type { MessageSource, UserMessage } from '@deepseek-ai/dsh-llm'
import { SessionId, type SessionEvent } from '@deepseek-ai/dsh-session'
import * as stock from 'stock-goal-round-driver'
import { GOAL_ROUNDS_SECTION } from '../src/denial-text.ts'
import * as fork from '../src/index.ts'
import { createRuntime, disposeRuntimes, eventually, message, notice, type Runtime, settled } from './harness.ts'

afterEach(async () => {
  vi.restoreAllMocks()
  await disposeRuntimes()
})

/** One run: the runtime, an agent, what the scenario noted, and a model that answers at once until it is held. */
class World {
  readonly notes: unknown[] = []
  readonly runtime: Runtime
  readonly agent: Agent
  readonly handle: AgentHandle
  private readonly waiting: (() => void)[] = []

  constructor(runtime: Runtime, handle: AgentHandle) {
    this.runtime = runtime
    this.handle = handle
    this.agent = handle.agent
  }

  get ctx() {
    return this.runtime.ctx
  }

  get goals() {
    return this.runtime.ctx.goals
  }

  goal(agent = this.agent): GoalView {
    return this.goals.get(agent) ?? expect.fail('no goal')
  }

  create(maxGoalRounds = 2, agent = this.agent): void {
    this.goals.create(agent, { objective: 'ship it', maxGoalRounds })
  }

  /** From now on every request waits for `release()`, or ends with its signal. */
  hold(): void {
    this.runtime.model.script = ({ signal }) => {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      this.waiting.push(() => {
        resolve('done')
      })
      signal?.addEventListener('abort', () => {
        reject(new Error('aborted'))
      })
      return promise
    }
  }

  async held(count = 1): Promise<void> {
    await eventually(() => {
      expect(this.waiting).toHaveLength(count)
    })
  }

  release(): void {
    this.runtime.model.script = () => 'done'
    for (const answer of this.waiting) answer()
  }

  settle(): Promise<void> {
    return settled(this.agent)
  }
}

type Scenario = (world: World) => void | Promise<void>

/** Call `act` the first time only. */
function once<Args extends unknown[]>(act: (...args: Args) => void): (...args: Args) => void {
  let done = false
  return (...args) => {
    if (done) return
    done = true
    act(...args)
  }
}

function fail(what: string) {
  return () => {
    throw new Error(what)
  }
}

/** The places between an idle agent and the end of a round where something else may come between. */
const PHASES: Record<string, (world: World, act: () => void) => void | Promise<void>> = {
  'during the checkpoint': (world, act) => {
    vi.spyOn(world.ctx.sessions, 'flush').mockImplementationOnce(async () => {
      await Promise.resolve()
      act()
      return true
    })
    world.create()
  },
  'while the round is queued': (world, act) => {
    world.ctx.on('agent/inbox/inserted', once(act))
    world.create()
  },
  'when the agent starts to run': (world, act) => {
    world.ctx.on('agent/status', once(act))
    world.create()
  },
  'when the round is claimed': (world, act) => {
    world.ctx.on('agent/inbox/claimed', once(act))
    world.create()
  },
  'before the fence': (world, act) => {
    const first = once(act)
    world.ctx.on(
      'agent/pre-step',
      (_, next) => {
        first()
        return next()
      },
      { prepend: true },
    )
    world.create()
  },
  'behind the fence': (world, act) => {
    const first = once(act)
    world.ctx.on('agent/pre-step', (_, next) => {
      first()
      return next()
    })
    world.create()
  },
  'behind the fence, after the decision': (world, act) => {
    const first = once(act)
    world.ctx.on('agent/pre-step', async (_, next) => {
      const decision = await next()
      first()
      return decision
    })
    world.create()
  },
  'while the model answers': async (world, act) => {
    world.hold()
    world.create()
    await world.held()
    act()
    world.release()
  },
  'between two rounds': (world, act) => {
    world.ctx.on(
      'agent/status',
      (() => {
        const first = once(act)
        return ({ status }) => {
          if (status === 'idle') first()
        }
      })(),
    )
    world.create()
  },
  'between two rounds, ahead of the driver': (world, act) => {
    const first = once(act)
    world.ctx.on(
      'agent/status',
      ({ status }) => {
        if (status === 'idle') first()
      },
      { prepend: true },
    )
    world.create()
  },
  'during the checkpoint of the first round': (world, act) => {
    vi.spyOn(world.ctx.sessions, 'flush')
      .mockResolvedValueOnce(true)
      .mockImplementationOnce(async () => {
        await Promise.resolve()
        act()
        return true
      })
    world.create()
  },
}

const ACTS: Record<string, (world: World) => void> = {
  'the goal is edited': world => void world.goals.edit(world.agent, world.goal(), { objective: 'ship it well' }),
  'the cap is lowered': world => void world.goals.edit(world.agent, world.goal(), { maxGoalRounds: 1 }),
  'the goal is paused': world => void world.goals.pause(world.agent, world.goal()),
  'the goal is paused and resumed': world =>
    void world.goals.resume(world.agent, world.goals.pause(world.agent, world.goal())),
  'the goal is completed': world => void world.goals.complete(world.agent, world.goal()),
  'the goal is cleared': world => void world.goals.clear(world.agent, world.goal()),
  'the goal is blocked': world =>
    void world.goals.block(world.agent, world.goal(), { code: 'test', message: 'blocked by the test' }),
  'the goal is disarmed': world => void world.goals.disarm(world.agent),
  'the user cancels': ({ agent }) => {
    agent.cancel({ kind: 'user' })
  },
  'the user cancels and keeps the inbox': ({ agent }) => {
    agent.cancel({ kind: 'user' }, { keepInbox: true })
  },
  'the inbox is cleared': ({ agent }) => {
    agent.inbox.clear()
  },
  'the user follows up': ({ agent }) => {
    agent.followup(message('and then'))
  },
  'the user steers': ({ agent }) => {
    agent.steer(message('look here'))
  },
  'the user leaves a message without waking': ({ agent }) => {
    agent.send(message('later'), 'next-turn', false)
  },
  'a notice is injected': ({ agent }) => {
    agent.inject(notice())
  },
  'a notice follows up': ({ agent }) => {
    agent.followup(notice())
  },
  'the session starts again': ({ ctx, agent }) => {
    emitAgentEvent(ctx, agent, 'agent/session-start', { source: 'clear' })
  },
  'the agent reports an error': ({ ctx, agent }) => {
    emitAgentEvent(ctx, agent, 'agent/error', { turn: 1, step: 1, error: new Error('provider down') })
  },
  'the agent is disposed': ({ handle }) => void handle.dispose(),
  'the plugin unloads': ({ runtime }) => void runtime.driver.dispose(),
}

const foreign: MessageSource = { kind: 'goal', goalId: GoalId('none'), revision: 1, round: 1 }

/** A copy of the round that is being reserved, under another id. */
function copyOf(original: UserMessage): UserMessage {
  return { ...message('copy', original.source), content: original.content }
}

function reject(): Promise<PreStepDecision> {
  return Promise.resolve({ kind: 'reject' })
}

const SCENARIOS: Record<string, Scenario> = {
  'a goal without anything in its way': world => {
    world.create(3)
  },
  'a cap of one': world => {
    world.create(1)
  },
  'human work before the goal': world => {
    world.agent.followup(message('me first'))
    world.create()
  },
  'human work right behind the goal': world => {
    world.create()
    world.agent.followup(message('me first'))
  },
  'a parked steer': world => {
    world.agent.inject(message('by the way'))
    world.create()
  },
  'a message that nobody wakes': async world => {
    world.agent.send(message('later'), 'next-turn', false)
    world.create()
    await world.settle()
    world.agent.steer(message('now'))
  },
  'a goal behind a goal': async world => {
    world.create(1)
    await world.settle()
    world.goals.clear(world.agent, world.goal())
    world.create(1)
  },
  'a cap that is raised after the block': async world => {
    world.create(1)
    await world.settle()
    world.goals.resume(world.agent, world.goals.edit(world.agent, world.goal(), { maxGoalRounds: 2 }))
  },
  'a cancelled round that is resumed': async world => {
    world.hold()
    world.create()
    await world.held()
    world.agent.cancel({ kind: 'user' })
    await world.settle()
    world.runtime.model.script = () => 'done'
    world.goals.resume(world.agent, world.goal())
  },
  'a cancelled round of a goal that is done': async world => {
    world.hold()
    world.create()
    await world.held()
    world.goals.complete(world.agent, world.goal())
    world.agent.cancel({ kind: 'user' })
  },
  'a cancelled round whose goal cannot be paused': async world => {
    world.hold()
    world.create()
    await world.held()
    vi.spyOn(world.goals, 'pause').mockImplementationOnce(fail('cannot pause'))
    world.agent.cancel({ kind: 'user' })
  },
  'a cancelled round whose goal can neither be paused nor disarmed': async world => {
    world.hold()
    world.create()
    await world.held()
    vi.spyOn(world.goals, 'pause').mockImplementationOnce(fail('cannot pause'))
    vi.spyOn(world.goals, 'disarm').mockImplementationOnce(fail('cannot disarm'))
    world.runtime.model.script = () => 'done'
    world.agent.cancel({ kind: 'user' })
  },
  'an aborted ordinary turn': async world => {
    world.hold()
    world.agent.followup(message('hello'))
    await world.held()
    world.create()
    world.agent.cancel({ kind: 'user' })
  },
  'a provider that fails': world => {
    world.runtime.model.script = () => Promise.reject(new Error('provider down'))
    world.create()
  },
  'a checkpoint that fails': world => {
    vi.spyOn(world.ctx.sessions, 'flush').mockRejectedValueOnce(new Error('disk full'))
    world.create()
  },
  'a checkpoint that throws': world => {
    vi.spyOn(world.ctx.sessions, 'flush').mockImplementationOnce(fail('disk full'))
    world.create()
  },
  'a checkpoint that fails behind the first round': world => {
    vi.spyOn(world.ctx.sessions, 'flush').mockResolvedValueOnce(true).mockRejectedValueOnce(new Error('disk full'))
    world.create()
  },
  'a checkpoint that fails, then a resume': async world => {
    vi.spyOn(world.ctx.sessions, 'flush').mockRejectedValueOnce(new Error('disk full'))
    world.create()
    await world.settle()
    world.goals.resume(world.agent, world.goal())
  },
  'a checkpoint that fails over a goal that cannot be disarmed': world => {
    vi.spyOn(world.ctx.sessions, 'flush').mockRejectedValueOnce(new Error('disk full'))
    vi.spyOn(world.goals, 'disarm').mockImplementationOnce(fail('cannot disarm'))
    world.create()
  },
  'a checkpoint that reports nothing to flush': world => {
    vi.spyOn(world.ctx.sessions, 'flush').mockResolvedValue(false)
    world.create()
  },
  'a downstream rejection': world => {
    world.ctx.on('agent/pre-step', reject)
    world.create()
  },
  'a downstream rejection of a round with company': world => {
    world.ctx.on('agent/pre-step', reject)
    world.agent.inject(notice())
    world.create()
  },
  'a downstream rejection that pauses the goal': world => {
    world.ctx.on('agent/pre-step', () => {
      world.goals.pause(world.agent, world.goal())
      return reject()
    })
    world.create()
  },
  'a downstream rejection of a goal that cannot be blocked': world => {
    world.ctx.on('agent/pre-step', reject)
    vi.spyOn(world.goals, 'block').mockImplementationOnce(fail('cannot block'))
    world.create()
  },
  'a downstream rejection, the user having cancelled': world => {
    world.ctx.on('agent/pre-step', () => {
      world.agent.cancel({ kind: 'user' }, { keepInbox: true })
      return reject()
    })
    world.agent.inject(notice())
    world.create()
  },
  'next() that throws': world => {
    world.ctx.on('agent/pre-step', () => Promise.reject(new Error('listener broke')))
    world.create()
  },
  'next() that throws once, then a resume': async world => {
    let broken = true
    world.ctx.on('agent/pre-step', (_, next) => (broken ? Promise.reject(new Error('listener broke')) : next()))
    world.agent.inject(notice())
    world.create()
    await world.settle()
    broken = false
    world.goals.resume(world.agent, world.goal())
  },
  'next() that throws, the user having cancelled': world => {
    world.ctx.on('agent/pre-step', () => {
      world.agent.cancel({ kind: 'user' })
      return Promise.reject(new Error('aborted'))
    })
    world.create()
  },
  'a listener that adds to and takes from the batch': world => {
    world.ctx.on('agent/pre-step', async (_, next) => {
      const decision = await next()
      return decision.kind === 'reject' ? decision : { ...decision, messages: [...decision.messages, notice('added')] }
    })
    world.ctx.on('agent/pre-step', (_, next) => {
      world.agent.cancel({ kind: 'user' }, { keepInbox: true })
      return next()
    })
    world.agent.inject(notice('company'))
    world.create()
  },
  'a context section beside the round': world => {
    world.ctx.systemPrompt.context({ name: 'weather', order: 1, text: 'it rains' })
    world.create()
  },
  'a context section beside a round that is edited behind the fence': world => {
    world.ctx.systemPrompt.context({ name: 'weather', order: 1, text: 'it rains' })
    const edit = once(() => world.goals.edit(world.agent, world.goal(), { objective: 'ship it well' }))
    world.ctx.on('agent/pre-step', (_, next) => {
      edit()
      return next()
    })
    world.agent.inject(notice())
    world.create()
  },
  'a round of nobody, alone': ({ agent }) => {
    agent.followup(message('go on', foreign))
  },
  'a round of nobody, with company': async world => {
    world.agent.inject(notice('first'))
    world.agent.inject(message('second'))
    world.agent.followup(message('go on', foreign))
    await world.settle()
    world.notes.push(world.agent.inbox.nextStep)
  },
  'a round of nobody in front of a reserved one': world => {
    world.agent.inject(message('go on', foreign))
    world.create()
  },
  'a round of nobody behind a reserved one, in the same batch': world => {
    world.ctx.on(
      'agent/pre-step',
      ({ messages }, next) => {
        messages.push(message('go on', foreign))
        return next()
      },
      { prepend: true },
    )
    world.ctx.on('agent/pre-step', (_, next) => {
      world.agent.cancel({ kind: 'user' }, { keepInbox: true })
      return next()
    })
    world.create()
  },
  'a round of nobody added to the decision': world => {
    const added = message('go on', foreign)
    world.ctx.on('agent/pre-step', async (_, next) => {
      const decision = await next()
      world.goals.edit(world.agent, world.goal(), { objective: 'ship it well' })
      return decision.kind === 'reject' ? decision : { ...decision, messages: [...decision.messages, added] }
    })
    world.create(1)
  },
  'a round of nobody steered into a running round': async world => {
    world.hold()
    world.create()
    await world.held()
    world.agent.steer(message('go on', foreign))
    world.release()
  },
  'a round of nobody queued behind a running round': async world => {
    world.hold()
    world.create()
    await world.held()
    world.agent.followup(message('go on', foreign))
    world.release()
  },
  'a copy of the reserved round': world => {
    world.ctx.on(
      'agent/inbox/inserted',
      once(({ message: original }: { message: UserMessage }) => {
        world.agent.inject(copyOf(original))
      }),
    )
    world.create()
  },
  'a copy of the reserved round in the queue': world => {
    world.ctx.on(
      'agent/inbox/inserted',
      once(({ message: original }: { message: UserMessage }) => {
        world.agent.send(copyOf(original), 'next-turn', false)
      }),
    )
    world.create()
  },
  'a reserved round that is replaced by another of the same name': world => {
    world.ctx.on(
      'agent/inbox/inserted',
      once(({ message: original }: { message: UserMessage }) => {
        world.agent.inbox.replace(original.id, message('other words', original.source))
      }),
    )
    world.create()
  },
  'a reserved round that is replaced by its copy': world => {
    world.ctx.on(
      'agent/inbox/inserted',
      once(({ message: original }: { message: UserMessage }) => {
        world.agent.inbox.replace(original.id, copyOf(original))
      }),
    )
    world.create()
  },
  'round 0, alone': world => {
    world.agent.followup(message('state', { ...foreign, round: 0 }))
  },
  'round 0 beside a round of nobody': async world => {
    world.agent.inject(message('state', { ...foreign, round: 0 }))
    world.agent.inject(notice())
    world.agent.followup(message('go on', foreign))
    await world.settle()
    world.notes.push(world.agent.inbox.nextStep)
  },
  'round 0 beside a reserved round': world => {
    world.agent.inject(message('state', { ...foreign, round: 0 }))
    world.create()
  },
  'a company that is pending again': world => {
    const again = message('again')
    const putBack = once(() => {
      world.agent.inbox.append('next-turn', again)
    })
    world.ctx.on(
      'agent/pre-step',
      ({ messages }, next) => {
        if (messages.some(({ id }) => id === again.id)) putBack()
        return next()
      },
      { prepend: true },
    )
    world.agent.inject(again)
    world.agent.followup(message('go on', foreign))
  },
  'a cap that cannot be enforced': world => {
    vi.spyOn(world.goals, 'block').mockImplementationOnce(fail('cannot block'))
    world.create(1)
  },
  'a round that cannot be queued': world => {
    vi.spyOn(world.agent, 'followup').mockImplementationOnce(fail('queue closed'))
    world.create()
  },
  'a round that cannot be queued, for a bare reason': world => {
    vi.spyOn(world.agent, 'followup').mockImplementationOnce(() => {
      throw 'queue closed'
    })
    world.create()
  },
  'a round that cannot be queued for a goal that cannot be blocked': world => {
    vi.spyOn(world.agent, 'followup').mockImplementationOnce(fail('queue closed'))
    vi.spyOn(world.goals, 'block').mockImplementationOnce(fail('cannot block'))
    world.create()
  },
  'a round that cannot be queued for a goal that was edited': world => {
    vi.spyOn(world.agent, 'followup').mockImplementationOnce(() => {
      world.goals.edit(world.agent, world.goal(), { objective: 'ship it well' })
      throw new Error('queue closed')
    })
    world.create()
  },
  'a run that cannot start': world => {
    vi.spyOn(world.ctx.agents, 'withoutInitiator').mockImplementationOnce(fail('no run'))
    world.create()
  },
  'a run that rejects': world => {
    vi.spyOn(world.ctx.agents, 'withoutInitiator').mockRejectedValueOnce(new Error('no run'))
    world.create()
  },
  'a run that rejects, then a resume': async world => {
    vi.spyOn(world.ctx.agents, 'withoutInitiator').mockRejectedValueOnce(new Error('no run'))
    world.create()
    await world.settle()
    world.goals.resume(world.agent, world.goal())
  },
  'a run that rejects while another is asked for': world => {
    vi.spyOn(world.ctx.agents, 'withoutInitiator').mockRejectedValueOnce(new Error('no run'))
    world.create()
    world.goals.edit(world.agent, world.goal(), { objective: 'ship it well' })
  },
  'a run that rejects after its passes': world => {
    const run = world.ctx.agents.withoutInitiator.bind(world.ctx.agents)
    vi.spyOn(world.ctx.agents, 'withoutInitiator').mockImplementationOnce(async operation => {
      await run(operation)
      throw new Error('late')
    })
    world.create()
  },
  'two goals at once': async world => {
    const other = await world.runtime.createAgent('other')
    world.create(2)
    world.create(3, other.agent)
    await settled(other.agent)
    world.notes.push(world.goals.get(other.agent), other.agent.session.events)
  },
  'two goals, one cancelled': async world => {
    const other = await world.runtime.createAgent('other')
    world.hold()
    world.create(2)
    world.create(2, other.agent)
    await world.held(2)
    other.agent.cancel({ kind: 'user' })
    world.release()
    await settled(other.agent)
    world.notes.push(world.goals.get(other.agent), other.agent.session.events)
  },
  'an agent that follows another under its id': async world => {
    world.create()
    await world.settle()
    await world.handle.dispose()
    const { agent } = await world.runtime.createAgent()
    world.create(1, agent)
    await settled(agent)
    world.notes.push(world.goals.get(agent), agent.session.events)
  },
  'an agent on the log of another': async world => {
    world.hold()
    world.create()
    await world.held()
    const seed = structuredClone(world.agent.session.events.filter(({ type }) => type === 'goal/change'))
    const sessionId = SessionId('heir')
    const { agent } = await world.ctx.agents.create({ sessionId, seed, agentOptions: world.agent.options })
    await settled(agent)
    world.notes.push(world.goals.get(agent))
    world.release()
    world.goals.resume(agent, world.goal(agent))
    await settled(agent)
    world.notes.push(world.goals.get(agent), agent.session.events)
  },
  'an idle that cannot read the goal after competing work': async world => {
    world.hold()
    world.agent.followup(message('first'))
    await world.held()
    world.agent.followup(message('second'))
    world.create()
    world.ctx.on(
      'agent/status',
      once(() => void vi.spyOn(world.goals, 'get').mockImplementationOnce(fail('goal store gone'))),
      { prepend: true },
    )
    world.release()
    await world.settle()
    world.goals.edit(world.agent, world.goal(), { objective: 'ship it well' })
  },
  'a cancelled round, the plugin unloading at its idle': async world => {
    world.hold()
    world.create()
    await world.held()
    vi.spyOn(world.goals, 'disarm').mockImplementation(fail('cannot disarm'))
    world.ctx.on(
      'agent/status',
      once(() => void world.runtime.driver.dispose()),
      { prepend: true },
    )
    world.agent.cancel({ kind: 'user' })
  },
  'a rejected round whose batch names a message twice': world => {
    world.ctx.on(
      'agent/pre-step',
      ({ messages }, next) => {
        messages.unshift(...messages)
        return next()
      },
      { prepend: true },
    )
    world.agent.inject(notice('company'))
    world.agent.followup(message('go on', foreign))
  },
  'a second driver over live agents': async world => {
    world.hold()
    world.create()
    await world.held()
    await world.runtime.driver.dispose()
    world.notes.push(world.goal())
    world.release()
    world.goals.resume(world.agent, world.goal())
    await world.settle()
    await world.runtime.reload()
    world.notes.push(world.goal())
    world.goals.resume(world.agent, world.goal())
  },
  'an unload beside an ordinary turn': async world => {
    world.hold()
    world.agent.followup(message('hello'))
    await world.held()
    world.create()
    await world.runtime.driver.dispose()
    world.notes.push(world.agent.status, world.goal())
    world.release()
  },
  'an unload of a goal that cannot be disarmed': async world => {
    world.agent.send(message('later'), 'next-turn', false)
    world.create()
    await world.settle()
    vi.spyOn(world.goals, 'disarm').mockImplementation(fail('cannot disarm'))
    await world.runtime.driver.dispose()
  },
  'an unload that cannot cancel': async world => {
    world.hold()
    world.create()
    await world.held()
    vi.spyOn(world.agent, 'cancel').mockImplementationOnce(fail('cannot cancel'))
    world.release()
    await world.runtime.driver.dispose()
    world.notes.push(world.ctx.events._hooks['agent/pre-step']?.length)
  },
}

/** The goal cannot be read, once, at the n-th time from the creation on. */
for (let n = 0; n < 14; n++) {
  SCENARIOS[`a goal that cannot be read at time ${n}`] = world => {
    const read = world.goals.get.bind(world.goals)
    let reads = 0
    vi.spyOn(world.goals, 'get').mockImplementation(agent => {
      if (reads++ === n) throw new Error('goal store gone')
      return read(agent)
    })
    world.create()
  }
}

/** Where the published driver goes on to reserve a round on an agent that is being disposed; ours does not. */
const BETWEEN_ROUNDS = [
  'during the checkpoint',
  'between two rounds',
  'between two rounds, ahead of the driver',
  'during the checkpoint of the first round',
]

for (const [place, at] of Object.entries(PHASES)) {
  for (const [what, act] of Object.entries(ACTS)) {
    if (what === 'the agent is disposed' && BETWEEN_ROUNDS.includes(place)) continue
    SCENARIOS[`${what} ${place}`] = world =>
      at(world, () => {
        act(world)
      })
  }
}

/** Replace ids, times, the prompts' own words and the section on questions; everything else is compared. */
function normalise(value: unknown): unknown {
  const ids = new Map<string, string>()
  const text = JSON.stringify(value, (key, entry: unknown) => {
    if (key === 'ts' || key === 'time' || key.endsWith('At')) return 0
    if (entry instanceof AbortSignal) return 'signal'
    if (key === 'system' && typeof entry === 'string') return entry.replace(`\n\n${GOAL_ROUNDS_SECTION.text}`, '')
    if (typeof entry === 'string' && entry.startsWith('<goal_round>')) return entry.split('\n').slice(0, 3).join('|')
    return entry
  })
  const stable = text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, id => {
    ids.set(id, ids.get(id) ?? `id-${ids.size}`)
    return ids.get(id) as string
  })
  return JSON.parse(stable)
}

/** Log the calls a driver makes to the services, in order, with what it gives them. */
function traceCalls(world: World): unknown[] {
  const calls: unknown[] = []
  const trace = (target: object, method: string) => {
    const original = Reflect.get(target, method) as (...args: unknown[]) => unknown
    Reflect.set(target, method, (...args: unknown[]) => {
      calls.push([method, ...args.slice(1)])
      return original.apply(target, args)
    })
  }
  trace(world.goals, 'pause')
  trace(world.goals, 'block')
  trace(world.goals, 'disarm')
  trace(world.ctx.sessions, 'flush')
  return calls
}

/** A round that cannot be cancelled fails the published teardown as a whole; ours names it. */
function knownWarning(warning: string): string {
  return warning.endsWith('cannot cancel') ? 'cannot cancel' : warning
}

async function play(driver: Plugin, scenario: Scenario) {
  const runtime = await createRuntime({ driver, script: () => 'done' })
  const world = new World(runtime, await runtime.createAgent())
  const calls = traceCalls(world)
  await scenario(world)
  await world.settle()
  const { agent, ctx } = world
  const live = ctx.agents.get(agent.id) === agent
  const read = () => {
    try {
      return live ? world.goals.get(agent) : undefined
    } catch (error) {
      return String(error)
    }
  }
  return normalise({
    goal: read(),
    live,
    status: agent.status,
    inbox: [agent.inbox.nextStep, agent.inbox.nextTurn],
    events: agent.session.events satisfies readonly SessionEvent[],
    requests: runtime.model.requests,
    calls,
    notes: world.notes,
    warnings: runtime.warnings.map(knownWarning),
  })
}

describe('stock and fork agree on', () => {
  it.each(Object.entries(SCENARIOS))('%s', async (_, scenario) => {
    const expected = await play(stock, scenario)
    vi.restoreAllMocks()
    expect(await play(fork, scenario)).toEqual(expected)
  })
})

it('has the exports of the published package, and labels its effect as that does', async () => {
  for (const name of Object.keys(stock)) expect(fork).toHaveProperty(name)
  const labels = async (driver: Plugin) => {
    const runtime = await createRuntime({ driver, script: () => 'done' })
    return runtime.driver.getEffects().map(effect => effect.label)
  }
  // The published driver's listeners are effects beside this one; ours are its children, to outlive the teardown.
  expect(await labels(fork)).toEqual((await labels(stock)).slice(0, 1))
})
