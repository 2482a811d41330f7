/**
 * The invariant of the ask guard under random histories of two agents: the guard is there exactly while the agent's open
 * turn belongs to a goal round. Every agent stops at a gate before and behind the fence, behind the decision, in the
 * model and before its turn stops; between any two steps of the history the real tool registry is asked.
 *
 * `HUNT_RUNS=<n>` sets the number of histories; fast-check prints the seed of a failure.
 */
import { afterEach, expect, it } from 'vitest'
import fc from 'fast-check'
import type { Fiber } from '@deepseek-ai/cordis'
import { emitAgentEvent, type Agent, type AgentHandle } from '@deepseek-ai/dsh-agent'
import { GoalId, type GoalService, type GoalView } from '@deepseek-ai/dsh-goal'
import { CallId, type UserMessage } from '@deepseek-ai/dsh-llm'
import { GOAL_ROUND_ASK_DENIAL } from '../src/ask-guard.ts'
import * as driver from '../src/index.ts'
import { ASK_ARGS, createRuntime, disposeRuntimes, message, notice, type Runtime } from './harness.ts'

const numRuns = Number(process.env.HUNT_RUNS ?? 25)
const timeout = Math.max(60_000, numRuns * 2_000)

afterEach(disposeRuntimes)

/** How an agent goes on from a gate. */
type Outcome = 'go' | 'reject' | 'throw' | 'tool'

/** Hold an agent until somebody says how it goes on. */
type Gate = (agent: Agent, place: string) => Promise<Outcome>

const isHuman = (candidate: UserMessage) => candidate.source.kind === 'user'
const isRound = (candidate: UserMessage) => candidate.source.kind === 'goal' && candidate.source.round > 0

class World {
  readonly runtime: Runtime
  readonly handles: AgentHandle[]
  readonly disposing = new Set<Agent>()
  /** The driver, unless it is unloaded. */
  private driver: Fiber | undefined
  private unloading = false
  private readonly gate: Gate
  /** What closes a window without a trace in the log: at which length of the log it did. */
  private readonly closings = new WeakMap<Agent, number[]>()
  /** Where a session started again, or a driver came that has not seen the turn from its start. */
  private readonly beginnings = new WeakMap<Agent, number[]>()
  private removeInner: (() => boolean) | undefined

  private constructor(runtime: Runtime, handles: AgentHandle[], gate: Gate) {
    this.runtime = runtime
    this.handles = handles
    this.driver = runtime.driver
    this.gate = gate
  }

  static async create(gate: Gate): Promise<World> {
    const runtime = await createRuntime({ driver, script: () => 'done' })
    const handles = [await runtime.createAgent('one'), await runtime.createAgent('two')]
    const world = new World(runtime, handles, gate)
    world.setGates()
    return world
  }

  private setGates(): void {
    const { ctx, model } = this.runtime
    model.script = async ({ sessionId, signal }) => {
      const agent = ctx.agents.list().find(({ id }) => id === sessionId)
      if (agent === undefined) return 'done'
      const aborted = Promise.withResolvers<never>()
      signal?.addEventListener('abort', () => {
        aborted.reject(new Error('aborted'))
      })
      const outcome = await Promise.race([this.gate(agent, 'model'), aborted.promise])
      if (outcome === 'throw') throw new Error('provider down')
      return outcome === 'tool' ? [{ name: 'get_goal', args: {} }] : 'done'
    }
    ctx.on(
      'agent/pre-step',
      async ({ agent, messages, signal }, next) => {
        if ((await this.gate(agent, 'before the fence')) === 'throw') throw new Error('listener broke')
        const concernsRound = messages.some(isRound)
        let open = false
        try {
          const decision = await next()
          open = decision.kind === 'enter' && !signal.aborted
          return decision
        } finally {
          if (concernsRound && !open) this.mark(this.closings, agent)
          await this.gate(agent, 'behind the decision')
        }
      },
      { prepend: true },
    )
    ctx.on('agent/turn-stopping', async ({ agent }) => {
      await this.gate(agent, 'before the turn stops')
    })
    this.setInnerGate()
  }

  /** The gate behind the fence moves behind every newly loaded driver. */
  private setInnerGate(): void {
    this.removeInner?.()
    this.removeInner = this.runtime.ctx.on('agent/pre-step', async ({ agent }, next) => {
      const outcome = await this.gate(agent, 'behind the fence')
      if (outcome === 'throw') throw new Error('listener broke')
      return outcome === 'reject' ? { kind: 'reject' } : next()
    })
  }

  get isLoaded(): boolean {
    return this.driver !== undefined
  }

  agent(index: number): Agent {
    return this.handle(index).agent
  }

  handle(index: number): AgentHandle {
    return this.handles[index] ?? expect.fail('no such agent')
  }

  private mark(marks: WeakMap<Agent, number[]>, agent: Agent): void {
    marks.set(agent, [...(marks.get(agent) ?? []), agent.session.seq])
  }

  restartSession(index: number): void {
    const agent = this.agent(index)
    this.mark(this.beginnings, agent)
    emitAgentEvent(this.runtime.ctx, agent, 'agent/session-start', { source: 'clear' })
  }

  async dispose(index: number): Promise<void> {
    const handle = this.handle(index)
    const { agent } = handle
    if (this.disposing.has(agent)) return
    this.disposing.add(agent)
    await handle.dispose()
    expect(await this.isDenied(agent)).toBe(false)
    this.handles[index] = await this.runtime.createAgent(agent.id)
  }

  async unload(): Promise<void> {
    const { driver } = this
    if (driver === undefined || this.unloading) return
    this.unloading = true
    await driver.dispose()
    this.driver = undefined
    this.unloading = false
  }

  async load(): Promise<void> {
    if (this.driver !== undefined) return
    this.driver = await this.runtime.reload()
    this.setInnerGate()
    for (const { agent } of this.handles) this.mark(this.beginnings, agent)
  }

  /**
   * Act on the goal, if its phase allows it. A goal that changed between the fence's decision and its step cannot be read
   * any more: the goal service refuses the log of that round.
   */
  change(index: number, act: (goals: GoalService, agent: Agent, goal: GoalView | undefined) => void): void {
    const agent = this.agent(index)
    const { goals } = this.runtime.ctx
    try {
      act(goals, agent, goals.get(agent))
    } catch (error) {
      expect(String(error)).toMatch(/GoalError|goal round at session event/)
    }
  }

  /** Put the message that opened the window back, and take it away again. */
  discardOpener(index: number): void {
    const agent = this.agent(index)
    const opener = this.readOpener(agent)
    if (opener === undefined) return
    agent.inbox.append('next-step', opener)
    agent.inbox.remove(opener.id)
  }

  /** What the log says about the window: nothing here hears what the guard hears. */
  private readOpener(agent: Agent): UserMessage | undefined {
    const lists: Record<'next-step' | 'next-turn', UserMessage[]> = { 'next-step': [], 'next-turn': [] }
    const closings = this.closings.get(agent) ?? []
    const beginnings = this.beginnings.get(agent) ?? []
    let opener: UserMessage | undefined
    let isHumans = false
    const { events, header } = agent.session
    for (const event of events.slice(header.seedLength ?? 0)) {
      if (closings.includes(event.seq)) opener = undefined
      if (beginnings.includes(event.seq) || event.type === 'turn/start' || event.type === 'turn/end') {
        opener = undefined
        isHumans = false
      }
      if (event.type !== 'agent/inbox/spliced') continue
      const { target, start, removedCount = 0, inserted, outcome } = event.data
      const removed = lists[target].splice(start, removedCount, ...inserted)
      if (outcome === 'canceled') {
        if (removed.some(({ id }) => id === opener?.id)) opener = undefined
      } else {
        isHumans ||= removed.some(isHuman)
        opener ??= removed.find(isRound)
      }
      if (isHumans || inserted.some(isHuman)) opener = undefined
    }
    return [...closings, ...beginnings].includes(agent.session.seq) ? undefined : opener
  }

  private async isDenied(agent: Agent): Promise<boolean> {
    const { signal } = new AbortController()
    const call = { callId: CallId('probe'), name: 'ask_user_question', arguments: ASK_ARGS, agent, signal }
    const { content } = await this.runtime.ctx.tools.execute(call)
    return JSON.stringify(content).includes(GOAL_ROUND_ASK_DENIAL.slice(0, 60))
  }

  /** The invariant. While the driver unloads, or an agent goes, either answer is right. */
  async check(history: unknown): Promise<void> {
    for (const { agent } of [...this.handles]) {
      if (this.unloading || this.disposing.has(agent)) continue
      const opener = this.readOpener(agent)
      const expected = this.isLoaded && agent.status === 'running' && opener !== undefined
      if ((await this.isDenied(agent)) === expected) continue
      const types = agent.session.events.map(({ type, data }) => `${type} ${JSON.stringify(data).slice(0, 200)}`)
      expect.fail(
        `${agent.id}: guard ${String(!expected)}, expected ${String(expected)} after\n`
          + `${JSON.stringify(history)}\n${types.join('\n')}`,
      )
    }
  }
}

const GOAL_ROUND = { kind: 'goal', goalId: GoalId('none'), revision: 1, round: 1 } as const

/** What may happen to an agent at any time. */
const ACTS = {
  create: (world: World, index: number) => {
    world.change(index, (goals, agent, goal) => {
      if (goal !== undefined) goals.clear(agent, goal)
      goals.create(agent, { objective: 'ship it', maxGoalRounds: 3 })
    })
  },
  edit: (world: World, index: number) => {
    world.change(index, (goals, agent, goal) => goal && goals.edit(agent, goal, { objective: 'ship it well' }))
  },
  pause: (world: World, index: number) => {
    world.change(index, (goals, agent, goal) => goal && goals.pause(agent, goal))
  },
  resume: (world: World, index: number) => {
    world.change(index, (goals, agent, goal) => goal && goals.resume(agent, goal))
  },
  complete: (world: World, index: number) => {
    world.change(index, (goals, agent, goal) => goal && goals.complete(agent, goal))
  },
  steer: (world: World, index: number) => {
    world.agent(index).steer(message('look here'))
  },
  followup: (world: World, index: number) => {
    world.agent(index).followup(message('and then'))
  },
  park: (world: World, index: number) => {
    world.agent(index).send(message('later'), 'next-turn', false)
  },
  note: (world: World, index: number) => {
    world.agent(index).inject(message('by the way'))
  },
  notice: (world: World, index: number) => {
    world.agent(index).inject(notice())
  },
  'notice turn': (world: World, index: number) => {
    world.agent(index).followup(notice())
  },
  'foreign round': (world: World, index: number) => {
    world.agent(index).inject(message('go on', GOAL_ROUND))
  },
  'foreign round turn': (world: World, index: number) => {
    world.agent(index).followup(message('go on', GOAL_ROUND))
  },
  discard: (world: World, index: number) => {
    world.agent(index).inbox.clear()
  },
  'discard the opener': (world: World, index: number) => {
    world.discardOpener(index)
  },
  cancel: (world: World, index: number) => {
    world.agent(index).cancel({ kind: 'user' })
  },
  'cancel, keep inbox': (world: World, index: number) => {
    world.agent(index).cancel({ kind: 'user' }, { keepInbox: true })
  },
  'restart session': (world: World, index: number) => {
    world.restartSession(index)
  },
  dispose: (world: World, index: number) => world.dispose(index),
  unload: (world: World) => world.unload(),
  load: (world: World) => world.load(),
} satisfies Record<string, (world: World, index: number) => void | Promise<void>>

type Act = keyof typeof ACTS

const act = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<Act>('create', 'resume') },
  { weight: 9, arbitrary: fc.constantFrom(...(Object.keys(ACTS) as Act[]).filter(name => name !== 'unload')) },
  { weight: 1, arbitrary: fc.constantFrom<Act>('unload', 'load') },
)
const index = fc.constantFrom(0, 1)
const outcome = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Outcome>('go') },
  { weight: 2, arbitrary: fc.constant<Outcome>('tool') },
  { weight: 1, arbitrary: fc.constantFrom<Outcome>('reject', 'throw') },
)

/** Turns of the event loop after which something that should happen does not. */
const PATIENCE = 3_000

function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** Let the agents go on until something is over: an unload and a disposal wait for them. */
async function until(over: void | Promise<void>, letGo: () => void): Promise<void> {
  const end = Promise.resolve(over).then(() => true)
  for (let turns = 0; !(await Promise.race([end, nextTurn().then(() => false)])); turns++) {
    if (turns > PATIENCE) expect.fail('what should end does not')
    letGo()
  }
}

/** Wait until nothing moves any more: every agent is idle or at a gate. */
async function quiet(world: World, atGate: (agent: Agent) => boolean): Promise<void> {
  let before = ''
  for (let same = 0, turns = 0; same < 3; turns++) {
    if (turns > PATIENCE) expect.fail(`the agents do not come to rest: ${before}`)
    await nextTurn()
    const agents = world.handles.map(({ agent }) => agent)
    const now = agents.map(agent => `${agent.session.seq} ${agent.status} ${String(atGate(agent))}`).join()
    const isStill = agents.every(agent => agent.status === 'idle' || atGate(agent))
    same = isStill && now === before ? same + 1 : 0
    before = now
  }
}

it(
  'holds after every event of a random history',
  async () => {
    const step = fc.oneof(
      { weight: 1, arbitrary: fc.tuple(act, index) },
      { weight: 1, arbitrary: fc.tuple(outcome, index) },
    )
    const property = fc.asyncProperty(fc.array(step, { maxLength: 50, size: 'max' }), async steps => {
      const held = new Map<Agent, (outcome: Outcome) => void>()
      const release = (agent: Agent, how: Outcome) => {
        const go = held.get(agent)
        held.delete(agent)
        go?.(how)
      }
      const releaseAll = () => {
        for (const agent of [...held.keys()]) release(agent, 'go')
      }
      const world = await World.create(
        agent =>
          new Promise(resolve => {
            held.set(agent, resolve)
          }),
      )
      const done: unknown[] = []
      try {
        for (const [what, who] of steps) {
          done.push([what, who])
          if (!(what in ACTS)) release(world.agent(who), what as Outcome)
          else await until(ACTS[what as Act](world, who), releaseAll)
          await quiet(world, agent => held.has(agent))
          await world.check(done)
        }
      } finally {
        await until(disposeRuntimes(), releaseAll)
      }
    })
    await fc.assert(property, { numRuns })
  },
  timeout,
)

it(
  'holds in every order of gates and acts that a scheduler finds',
  async () => {
    const acts = fc.array(fc.tuple(act, index), { minLength: 1, maxLength: 12, size: 'max' })
    const property = fc.asyncProperty(fc.scheduler(), acts, async (scheduler, planned) => {
      // Not by agent alone: the gate of an aborted request outlives it.
      const waiting = new Set<{ readonly agent: Agent }>()
      const world = await World.create(async (agent, place) => {
        const gate = { agent }
        waiting.add(gate)
        await scheduler.schedule(Promise.resolve(), `${agent.id} ${place}`)
        waiting.delete(gate)
        return 'go'
      })
      const running: Promise<unknown>[] = []
      const done: unknown[] = []
      for (const who of [0, 1]) ACTS.create(world, who)
      for (const [what, who] of planned) {
        const due = scheduler.schedule(Promise.resolve(), `${what} ${who}`)
        running.push(
          due.then(() => {
            done.push([what, who])
            return ACTS[what](world, who)
          }),
        )
      }
      try {
        while (scheduler.count() > 0) {
          await scheduler.waitNext(1)
          await quiet(world, agent => [...waiting].some(gate => gate.agent === agent))
          await world.check(done)
        }
        await Promise.all(running)
      } finally {
        await until(disposeRuntimes(), () => {
          if (scheduler.count() > 0) void scheduler.waitNext(1)
        })
      }
    })
    await fc.assert(property, { numRuns })
  },
  timeout,
)
