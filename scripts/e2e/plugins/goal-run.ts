/**
 * A headless run of one goal, for a test: the shipped `headless-runner` exits when the first task's turn ends, before
 * any goal round. This one creates the agent and the goal, waits until the goal is no longer active, prints how it
 * ended as one line of JSON, and exits.
 */
import { randomUUID } from 'node:crypto'
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/cordis-plugin-loader'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type {} from '@deepseek-ai/dsh-agent-default-model'
import type {} from '@deepseek-ai/dsh-cmdline'
import type {} from '@deepseek-ai/dsh-goal'
import { SessionId } from '@deepseek-ai/dsh-session'

export const name = 'e2e-goal-run'
export const inject = ['agentDefaultModel', 'agents', 'goals', 'sessions']

interface Config {
  readonly objective: string
  readonly maxGoalRounds: number
}

export function apply(ctx: Context, config: Config): void {
  const exit = ctx.get('appExit')
  run(ctx, config).then(
    () => exit?.(0),
    (error: unknown) => {
      console.error(error)
      exit?.(1)
    },
  )
}

async function run(ctx: Context, config: Config): Promise<void> {
  await ctx.get('loader')?.await()
  const { provider, model } = ctx.agentDefaultModel.currentSelection()
  const { agent } = await ctx.agents.create({
    sessionId: SessionId(`session-${randomUUID()}`),
    meta: { cwd: process.cwd() },
    agentOptions: { provider, model },
  })
  await agent.whenIdle()
  const stopped = goalStopped(ctx, agent)
  ctx.goals.create(agent, config)
  await stopped
  await agent.whenIdle()
  await ctx.sessions.flush(agent.session)
  const goal = ctx.goals.get(agent)
  console.log(JSON.stringify({ phase: goal?.phase, roundsStarted: goal?.roundsStarted, blocked: goal?.blockedReason }))
}

function goalStopped(ctx: Context, agent: Agent): Promise<void> {
  return new Promise(resolve => {
    const stop = ctx.on('goal/changed', payload => {
      if (payload.agent !== agent || payload.change.goal?.phase === 'active') return
      stop()
      resolve()
    })
  })
}
