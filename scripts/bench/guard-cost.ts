/** What the ask guard costs: on each tool call while a goal round is running, and on each round. */
import { GoalService } from '@deepseek-ai/dsh-goal'
import * as goalRoundDriver from '@deepseek-ai/dsh-goal-round-driver'
import { CallId } from '@deepseek-ai/dsh-llm'
import { defineTool } from '@deepseek-ai/dsh-tools'
import { Bench } from 'tinybench'
import { mountRuntime } from '../demo/runtime.ts'
import { median, type Plane } from './planes.ts'

/** Times in microseconds. */
export type GuardCost = Record<'perToolCall' | 'perRound', number>

const ROUNDS = 100
const GOALS = 6

const nothing = defineTool({
  name: 'nothing',
  description: 'Does nothing.',
  parameters: {},
  output: { schema: { type: 'null' }, render: () => [{ type: 'text', text: 'nothing' }] },
  execute: () => Promise.resolve(null),
})

/**
 * A tool call inside a goal round, through the whole pipeline of the registry; for the limit, outside of one. The model
 * is held in its round meanwhile.
 */
async function timeToolCall(plane: Plane): Promise<number> {
  const { promise: held, resolve: release }: PromiseWithResolvers<void> = Promise.withResolvers()
  const { promise: inRound, resolve: enter }: PromiseWithResolvers<void> = Promise.withResolvers()
  const { ctx, createAgent } = await mountRuntime(async () => {
    enter()
    await held
    return 'Done.'
  }, 'native')
  await ctx.plugin(GoalService)
  await ctx.plugin(goalRoundDriver)
  ctx.tools.register(nothing)
  const agent = await createAgent()
  if (plane !== 'limit') {
    ctx.goals.create(agent, { objective: 'Hold a round open', maxGoalRounds: 1 })
    await inRound
  }
  const { signal } = new AbortController()
  const callId = CallId('call')
  const bench = new Bench({ time: 700, warmupTime: 300 })
  bench.add('tool call', async () => {
    await ctx.tools.execute({ callId, name: 'nothing', arguments: {}, agent, signal })
  })
  await bench.run()
  release()
  await ctx.fiber.dispose()
  return medianUs(bench)
}

/** CPU time of rounds without tools on the real loop, after a first goal that warms it up. */
async function timeRound(): Promise<number> {
  const { ctx, createAgent } = await mountRuntime(() => 'I go on.', 'native')
  await ctx.plugin(GoalService)
  await ctx.plugin(goalRoundDriver)
  const times = []
  for (let goal = 0; goal < GOALS; goal += 1) {
    const agent = await createAgent(`agent-${goal}`)
    const { promise: blocked, resolve }: PromiseWithResolvers<void> = Promise.withResolvers()
    ctx.on('goal/changed', payload => {
      if (payload.agent === agent && ctx.goals.get(agent)?.phase === 'blocked') resolve()
    })
    const before = process.cpuUsage()
    ctx.goals.create(agent, { objective: 'Go on', maxGoalRounds: ROUNDS })
    await blocked
    const { user, system } = process.cpuUsage(before)
    if (goal > 0) times.push((user + system) / ROUNDS)
  }
  await ctx.fiber.dispose()
  return median(times)
}

/**
 * The median of a bench's only task.
 * @param bench - a bench that has run.
 * @returns microseconds.
 */
export function medianUs(bench: Bench): number {
  const result = bench.tasks[0]?.result
  if (result === undefined || !('latency' in result)) throw new Error('the task was not measured')
  return result.latency.p50 * 1_000
}

/**
 * Measure a plane.
 * @param plane - the plane of this process.
 * @returns medians.
 */
export async function measureGuardCost(plane: Plane): Promise<GuardCost> {
  return { perToolCall: await timeToolCall(plane), perRound: await timeRound() }
}
