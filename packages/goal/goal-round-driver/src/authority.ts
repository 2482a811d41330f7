/**
 * The driver's dealings with the goal service: read, disarm and report, for exact live agents only.
 * @module @deepseek-ai/dsh-goal-round-driver/authority
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { GoalView } from '@deepseek-ai/dsh-goal'

/**
 * Render a thrown value for a log line or a reason.
 * @param error - anything that was thrown.
 * @returns an Error's message without its class, or the value as a string.
 */
export function renderError(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * Read the goal of an agent, if the agent is still the registered one.
 * @param ctx - the plugin's context.
 * @param agent - the exact agent object.
 * @returns the goal, or `undefined` without a goal or for an agent that is gone.
 */
export function readGoal(ctx: Context, agent: Agent): GoalView | undefined {
  return ctx.agents.get(agent.id) === agent ? ctx.goals.get(agent) : undefined
}

/**
 * Take the authority to continue away from an armed goal. A failure is logged, never thrown.
 * @param ctx - the plugin's context.
 * @param agent - the exact agent object; an agent that is gone has nothing to disarm.
 */
export function disarm(ctx: Context, agent: Agent): void {
  try {
    if (readGoal(ctx, agent)?.activation === 'armed') ctx.goals.disarm(agent)
  } catch (error) {
    warn(ctx, agent, 'could not disarm', error)
  }
}

/**
 * Log a contained failure in one line and stop automatic continuation.
 * @param ctx - the plugin's context.
 * @param agent - the exact agent object.
 * @param what - what failed, up to the word before the agent.
 * @param error - the thrown value.
 */
export function failClosed(ctx: Context, agent: Agent, what: string, error: unknown): void {
  warn(ctx, agent, what, error)
  disarm(ctx, agent)
}

/**
 * Log a contained failure in one line, worded as the published package words it.
 * @param ctx - the plugin's context.
 * @param agent - the agent it concerns.
 * @param what - what failed, up to the word before the agent.
 * @param error - the thrown value.
 */
export function warn(ctx: Context, agent: Agent, what: string, error: unknown): void {
  ctx.logger.warn(`goal-round-driver: ${what} agent "${agent.id}": ${renderError(error)}`)
}
