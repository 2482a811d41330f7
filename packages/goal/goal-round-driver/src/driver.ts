/**
 * Drives idle agents: one serialized run per agent, pass by pass, each of which reserves at most one round.
 * @module @deepseek-ai/dsh-goal-round-driver/driver
 */
import type { Context } from '@deepseek-ai/cordis'
import type { GoalView } from '@deepseek-ai/dsh-goal'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { failClosed, readGoal, renderError, warn } from './authority.ts'
import { isLeaving } from './lifetime.ts'
import { renderGoalRoundPrompt } from './prompt.ts'
import { isCurrent, isDrivable, refOf } from './round.ts'
import type { DriverState } from './state.ts'
import { blockUnanswered } from './stuck-rounds.ts'

/** `FiberState.ACTIVE`: Cordis declares the enum for types only. */
const FIBER_ACTIVE = 2

/**
 * Whether the plugin drives this agent at all: its fiber is active and not unloading, and neither it nor the agent's
 * scope stands in anything that goes. A round that is reserved on what goes never ends, or ends after its agent.
 * @param ctx - the plugin's context.
 * @param state - the agent's state.
 * @returns whether rounds may be reserved and admitted.
 */
export function isDriving(ctx: Context, { agent, stopping }: DriverState): boolean {
  const fiberState: number = ctx.fiber.state
  return fiberState === FIBER_ACTIVE && !stopping && !isLeaving(ctx.fiber) && !isLeaving(agent.ctx.fiber)
}

/**
 * Ask for a pass. The first pass of a run happens inside this call; a request during a run is served by that run.
 * @param ctx - the plugin's context.
 * @param state - the agent's state.
 */
export function requestDrive(ctx: Context, state: DriverState): void {
  if (!isDriving(ctx, state)) return
  state.requested = true
  if (state.run !== undefined) return
  const done: PromiseWithResolvers<void> = Promise.withResolvers()
  state.run = done.promise
  const end = () => {
    if (state.run === done.promise) state.run = undefined
    done.resolve()
  }
  const fail = (what: string, error: unknown) => {
    end()
    failClosed(ctx, state.agent, what, error)
  }
  try {
    ctx.agents
      .withoutInitiator(() => runPasses(ctx, state, end))
      .catch((error: unknown) => {
        fail('driver task rejected for', error)
        if (state.requested) requestDrive(ctx, state)
      })
  } catch (error) {
    fail('could not start driver for', error)
  }
}

/** Ends in the same tick as its last pass, so that no request falls between two runs. */
async function runPasses(ctx: Context, state: DriverState, end: () => void): Promise<void> {
  while (state.requested) {
    state.requested = false
    try {
      await runPass(ctx, state)
    } catch (error) {
      failClosed(ctx, state.agent, 'driver failed for', error)
    }
  }
  end()
}

async function runPass(ctx: Context, state: DriverState): Promise<void> {
  if (!isReady(ctx, state)) return
  if (state.needsCheckpoint && !((await checkpoint(ctx, state)) && isStillReady(ctx, state))) return
  if (state.attempt !== undefined) {
    // Finished. The next round is reserved only after this one is durable.
    state.attempt = undefined
    state.needsCheckpoint = true
    state.requested = true
    return
  }
  const goal = readGoal(ctx, state.agent)
  if (!isDrivable(goal)) return
  if (blockUnanswered(ctx, state, goal)) return
  if (goal.roundsStarted >= goal.maxGoalRounds) {
    const message = `Goal reached its configured limit of ${goal.maxGoalRounds} rounds.`
    ctx.goals.block(state.agent, refOf(goal), { code: 'round-limit', message })
    return
  }
  // While the registry goes, this throws, and a turn that starts then would never end.
  ctx.agents.withoutInitiator(() => {
    reserve(ctx, state, goal)
  })
}

function isReady(ctx: Context, state: DriverState): boolean {
  const { agent } = state
  return (
    isDriving(ctx, state) && ctx.agents.get(agent.id) === agent && agent.status === 'idle' && !state.competingQueued
  )
}

/** Asked in the tick in which the round is reserved: whatever came during the wait for the checkpoint counts. */
function isStillReady(ctx: Context, state: DriverState): boolean {
  return isReady(ctx, state) && !state.needsCheckpoint
}

/** Make what happened durable. Returns whether that succeeded. */
async function checkpoint(ctx: Context, state: DriverState): Promise<boolean> {
  state.needsCheckpoint = false
  try {
    await ctx.sessions.flush(state.agent.session)
    return true
  } catch (error) {
    failClosed(ctx, state.agent, 'durability checkpoint failed for', error)
    return false
  }
}

function reserve(ctx: Context, state: DriverState, goal: GoalView): void {
  const { agent } = state
  const round = goal.roundsStarted + 1
  const message = createUserMessage({
    content: renderGoalRoundPrompt(goal, round),
    source: { kind: 'goal', goalId: goal.id, revision: goal.revision, round },
  })
  // Recorded first: the inbox, the turn and the claim all speak up before followup() returns.
  state.attempt = { message, phase: 'queued', cancelled: false, stale: false }
  try {
    agent.followup(message)
  } catch (error) {
    state.attempt = undefined
    warn(ctx, agent, `could not queue round ${round} for`, error)
    const current = readGoal(ctx, agent)
    if (!isCurrent(current, message.source)) return
    const reason = `Could not queue goal round ${round}: ${renderError(error)}`
    ctx.goals.block(agent, refOf(current), { code: 'queue-failed', message: reason })
  }
}
