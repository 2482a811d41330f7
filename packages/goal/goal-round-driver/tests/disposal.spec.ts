/**
 * Whatever is disposed, and at whatever moment: the disposal ends, and no round is reserved on what goes. The moment is
 * swept through the creation of a goal and its first rounds, microtask by microtask.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Context, Fiber } from '@deepseek-ai/cordis'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import { GoalService } from '@deepseek-ai/dsh-goal'
import { SessionId } from '@deepseek-ai/dsh-session'
import { defineTool } from '@deepseek-ai/dsh-tools'
import * as driver from '../src/index.ts'
import {
  createContext,
  createRuntime,
  disposeRuntimes,
  eventually,
  message,
  rounds,
  ScriptedModel,
  settled,
} from './harness.ts'

afterEach(disposeRuntimes)

const MICROTASKS = 100

/** Turns of the event loop after which a disposal does not end any more. */
const PATIENCE = 1_000

function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

async function ends(disposal: Promise<unknown>): Promise<boolean> {
  const end = disposal.then(() => true)
  for (let turns = 0; turns < PATIENCE; turns++) {
    if (await Promise.race([end, nextTurn().then(() => false)])) return true
  }
  return false
}

/** Whether a fiber, or one around it, is being unloaded or is gone. */
function goes(fiber: Fiber): boolean {
  const fibers = [fiber]
  for (let inner = fiber; inner.parent.fiber !== inner; inner = inner.parent.fiber) fibers.push(inner.parent.fiber)
  return fibers.some(({ uid, state }) => uid === null || (state as number) > 2)
}

interface World {
  readonly ctx: Context
  readonly model: ScriptedModel
  readonly plugin: Fiber
  readonly warnings: string[]
  /** What is disposed. */
  readonly dispose: (disposeAgent: () => Promise<void>) => Promise<unknown>
}

/** Everything in the root context. */
async function inRoot(what: 'root' | 'plugin' | 'agent'): Promise<World> {
  const runtime = await createRuntime({ driver, script: () => 'done' })
  const { ctx, driver: plugin } = runtime
  const fibers = { root: ctx.fiber, plugin }
  const dispose: World['dispose'] = disposeAgent => (what === 'agent' ? disposeAgent() : fibers[what].dispose())
  return { ...runtime, plugin, dispose }
}

/** The driver in a group of its own, which goes. */
async function inGroup(): Promise<World> {
  let plugin: Fiber | undefined
  const group = {
    name: 'group',
    apply: async (inner: Context) => {
      plugin = await inner.plugin(driver)
    },
  }
  const runtime = await createRuntime({ driver: group, script: () => 'done' })
  return { ...runtime, plugin: plugin ?? expect.fail('not loaded'), dispose: () => runtime.driver.dispose() }
}

/** The services in a group of their own, which goes; the loop and the driver stand beside it. */
async function besideServices(): Promise<World> {
  const ctx = createContext()
  const services = await ctx.plugin({
    name: 'services',
    apply: (inner: Context) => mountAgentLoopTestDependencies(inner),
  })
  const model = new ScriptedModel(() => 'done')
  ctx.llm.registerAdapter(['scripted'], model)
  await ctx.plugin(AgentLoop, { agents: [] })
  await ctx.plugin(GoalService)
  const plugin = await ctx.plugin(driver)
  // The registry's refusal is a warning here, since the driver cannot know of it beforehand.
  return { ctx, model, plugin, warnings: [], dispose: () => services.dispose() }
}

const WORLDS = {
  'the root': () => inRoot('root'),
  'the plugin': () => inRoot('plugin'),
  'the agent': () => inRoot('agent'),
  'the group around the plugin': inGroup,
  'the group of the services': besideServices,
}

/** Dispose so many microtasks after a goal's creation; returns what is wrong. */
async function disposeAfter(microtasks: number, create: () => Promise<World>, isUsed: boolean): Promise<string[]> {
  const { ctx, model, plugin, warnings, dispose } = await create()
  const agentOptions = { provider: 'scripted', model: 'm' }
  const handle = await ctx.agents.create({ sessionId: SessionId('agent'), agentOptions })
  const { agent } = handle
  if (isUsed) {
    agent.followup(message('hello'))
    await settled(agent)
  }
  const faults = warnings
  const followup = vi.spyOn(agent, 'followup')
  followup.mockImplementation(round => {
    if (goes(plugin) || goes(agent.ctx.fiber)) faults.push('a round is reserved on what goes')
    agent.send(round, 'next-turn', true)
  })
  model.script = () => {
    if (agent.ctx.fiber.uid === null) faults.push('a round runs on a scope that is gone')
    return 'done'
  }
  ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 20 })
  for (let n = 0; n < microtasks; n++) await Promise.resolve()
  const before = followup.mock.calls.length
  if (!(await ends(dispose(() => handle.dispose())))) faults.push('the disposal does not end')
  const { seq } = agent.session
  for (let turns = 0; turns < 5; turns++) await nextTurn()
  if (agent.status !== 'idle' || agent.session.seq !== seq) faults.push('the agent goes on')
  // One, and not more: the agent's disposal has begun, and nothing tells until two microtasks later.
  if (followup.mock.calls.length - before > 1) faults.push('rounds follow each other during the disposal')
  if (faults.length === 0) await disposeRuntimes()
  return faults.map(fault => `${fault} after ${microtasks} microtasks`)
}

describe.each(Object.entries(WORLDS))('the disposal of %s', (_, create) => {
  it.each([
    ['has run no turn', false],
    ['has run a turn', true],
  ])(
    'ends at any moment after the creation of a goal, and leaves no round behind, if the agent %s',
    async (_how, isUsed) => {
      const faults: string[] = []
      for (let n = 0; n <= MICROTASKS; n++) faults.push(...(await disposeAfter(n, create, isUsed)))
      expect(faults).toEqual([])
    },
  )
})

it('reserves no round in a group that is disposed while it still loads', async () => {
  const { ctx, createAgent } = await createRuntime({ driver: { apply: () => undefined }, script: () => 'done' })
  const loaded: PromiseWithResolvers<void> = Promise.withResolvers()
  const entered: PromiseWithResolvers<void> = Promise.withResolvers()
  const group = ctx.plugin({
    name: 'group',
    apply: async (inner: Context) => {
      await inner.plugin(driver)
      entered.resolve()
      await loaded.promise
    },
  })
  await entered.promise
  const { agent } = await createAgent()
  const disposal = group.dispose()
  ctx.goals.create(agent, { objective: 'ship it' })
  await settled(agent)
  expect(rounds(agent.session)).toEqual([])
  loaded.resolve()
  await disposal
})

it('refuses a round whose agent goes between the reservation and the step', async () => {
  const { ctx, model, createAgent } = await createRuntime({ driver, script: () => 'done' })
  const { agent, dispose } = await createAgent()
  let disposal: Promise<void> | undefined
  ctx.on('agent/status', ({ status }) => {
    // In the tick of the reservation, after it: the turn is about to start, and is not cancelled.
    if (status !== 'running' || disposal !== undefined) return
    vi.spyOn(agent, 'cancel').mockReturnValueOnce()
    vi.spyOn(agent, 'whenIdle').mockResolvedValueOnce()
    disposal = dispose()
  })
  ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 20 })
  await eventually(() => {
    expect(disposal).toBeDefined()
  })
  await disposal
  await agent.whenIdle()
  expect(rounds(agent.session)).toEqual([])
  expect(model.requests).toEqual([])
})

it('ends when a tool of the round itself unloads the plugin and waits for it', async () => {
  const runtime = await createRuntime({
    driver,
    script: (_, index) => (index === 0 ? [{ name: 'unload', args: {} }] : 'done'),
  })
  const unloaded = vi.fn()
  runtime.ctx.tools.register(
    defineTool({
      name: 'unload',
      description: 'Unload the driver.',
      parameters: {},
      output: { schema: { type: 'null' }, render: () => [] },
      async execute() {
        await runtime.driver.dispose()
        unloaded()
        return null
      },
    }),
  )
  const { agent } = await runtime.createAgent()
  runtime.ctx.goals.create(agent, { objective: 'ship it' })
  await eventually(() => {
    expect(unloaded).toHaveBeenCalled()
  })
  await agent.whenIdle()
  expect(runtime.ctx.goals.get(agent)).toMatchObject({ phase: 'active', activation: 'disarmed', roundsStarted: 1 })
})
