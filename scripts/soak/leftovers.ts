/** What could be left behind: listeners, timers and other handles, waits, guards, agents. */
import type { Context } from '@deepseek-ai/cordis'
import { GOAL_ROUND_DENIAL_PREFIX } from '@deepseek-ai/dsh-goal-round-driver'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { eventsOf, textOf } from '../demo/runtime.ts'
import { CHECK_ASK, KEEP_ASKING } from './model.ts'
import type { World } from './world.ts'

/** How many there are of each kind, by name. */
export type Tally = Record<string, number>

/** @returns the listeners of a context's event bus, by event. */
export function listeners(ctx: Context): Tally {
  const hooks = Object.entries(ctx.events._hooks).map(([event, { length }]) => [event, length] as const)
  return Object.fromEntries(hooks.filter(([, length]) => length > 0))
}

/** @returns what keeps this process busy, by kind: timers, children, pipes, ports. */
export function resources(): Tally {
  const tally: Tally = {}
  for (const resource of process.getActiveResourcesInfo()) tally[resource] = (tally[resource] ?? 0) + 1
  return tally
}

/**
 * Compare two tallies.
 * @param before - the expected one.
 * @param after - the later one.
 * @returns what there is more of, as `name: n more`.
 */
export function surplus(before: Tally, after: Tally): string[] {
  return Object.entries(after)
    .map(([name, amount]) => [name, amount - (before[name] ?? 0)] as const)
    .filter(([, more]) => more > 0)
    .map(([name, more]) => `${name}: ${more} more`)
}

/** @returns the waits that the registry still counts. */
export function openWaits({ ctx }: World): number {
  const { store } = ctx.jobs as unknown as { store: Map<string, { waitResolvers: Set<unknown> }> }
  return [...store.values()].reduce((sum, { waitResolvers }) => sum + waitResolvers.size, 0)
}

/** What a real question in a turn of an agent came to. */
export type AskOutcome = 'denied by the guard' | 'let through' | 'no question'

function outcomeSince(agent: Agent, seq: number): AskOutcome {
  const texts = [
    ...eventsOf(agent, 'tool/result').map(event => ({ event, content: event.data.message.content })),
    ...eventsOf(agent, 'tool/code-dispatch').map(event => ({ event, content: event.data.content })),
  ]
    .filter(({ event }) => event.seq >= seq)
    .map(({ content }) => textOf(content))
  if (texts.some(text => text.includes(GOAL_ROUND_DENIAL_PREFIX))) return 'denied by the guard'
  // Whether the human then answers or hangs up does not matter here.
  return texts.some(text => text.includes('this') || text.includes('hung up')) ? 'let through' : 'no question'
}

/**
 * Let an idle agent ask in an ordinary turn.
 * @param agent - the agent.
 * @returns what came of it.
 */
export async function askInTurn(agent: Agent): Promise<AskOutcome> {
  const { seq } = agent.session
  agent.followup(createUserMessage({ content: [{ type: 'text', text: CHECK_ASK }], source: { kind: 'user' } }))
  await agent.whenIdle()
  return outcomeSince(agent, seq)
}

/**
 * Let an idle agent ask in a goal round, where no human input came.
 * @param world - the agent's world.
 * @param agent - the agent.
 * @returns what came of it.
 */
export async function askInRound(world: World, agent: Agent): Promise<AskOutcome> {
  const { seq } = agent.session
  await runGoal(world, agent, CHECK_ASK, 1)
  return outcomeSince(agent, seq)
}

/**
 * Let an idle agent ask in every round of a goal.
 * @param world - the agent's world.
 * @param agent - the agent.
 * @returns the rounds after which the goal is blocked for its question; none, if it ends for another reason.
 */
export async function roundsUntilUnanswered(world: World, agent: Agent): Promise<number> {
  await runGoal(world, agent, KEEP_ASKING, 10)
  const goal = world.ctx.goals.get(agent)
  return goal?.blockedReason?.code === 'question-unanswered' ? goal.roundsStarted : 0
}

async function runGoal({ ctx }: World, agent: Agent, objective: string, maxGoalRounds: number): Promise<void> {
  const goal = ctx.goals.get(agent)
  if (goal !== undefined) ctx.goals.clear(agent, goal)
  const { promise: blocked, resolve }: PromiseWithResolvers<void> = Promise.withResolvers()
  const stop = ctx.on('goal/changed', payload => {
    if (payload.agent === agent && ctx.goals.get(agent)?.phase !== 'active') resolve()
  })
  ctx.goals.create(agent, { objective, maxGoalRounds })
  await blocked
  stop()
  await agent.whenIdle()
}
