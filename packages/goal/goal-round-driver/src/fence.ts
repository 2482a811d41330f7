/**
 * The step fence: a goal round enters a step only while its reservation holds, before and after the other listeners.
 * @module @deepseek-ai/dsh-goal-round-driver/fence
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent, PreStepDecision } from '@deepseek-ai/dsh-agent'
import type { UserMessage } from '@deepseek-ai/dsh-llm'
import { clearAskGuard } from './ask-guard.ts'
import { failClosed, readGoal } from './authority.ts'
import { isDriving, requestDrive } from './driver.ts'
import { type GoalRoundMessage, isCurrent, isGoalRoundMessage, refOf, sameMessage, sameRound } from './round.ts'
import type { DriverState, DriverStates } from './state.ts'

/** A proposed step, as `agent/pre-step` hands it over. */
interface ProposedStep {
  readonly agent: Agent
  readonly messages: UserMessage[]
  readonly signal: AbortSignal
}

/**
 * Make the `agent/pre-step` listener.
 * @param ctx - the plugin's context.
 * @param states - the states of the live agents.
 * @returns a listener that delegates every step without a goal round message.
 */
export function createFence(ctx: Context, states: DriverStates) {
  return async (step: ProposedStep, next: () => Promise<PreStepDecision>): Promise<PreStepDecision> => {
    const round = step.messages.find(isGoalRoundMessage)
    if (round === undefined) return next()
    return admit(ctx, states.of(step.agent), step, round, next)
  }
}

async function admit(
  ctx: Context,
  state: DriverState,
  step: ProposedStep,
  round: GoalRoundMessage,
  next: () => Promise<PreStepDecision>,
): Promise<PreStepDecision> {
  const { attempt } = state
  if (!isValid(ctx, state, round, 'pre-step')) {
    if (attempt !== undefined && sameRound(attempt.message.source, round.source)) {
      attempt.stale = true
      state.attempt = undefined
    }
    return refuse(ctx, state, step.messages, round)
  }
  let decision: PreStepDecision
  try {
    decision = await next()
  } catch (error) {
    clearAskGuard(state)
    if (!step.signal.aborted) {
      state.attempt = undefined
      requestDrive(ctx, state)
    }
    throw error
  }
  if (step.signal.aborted) {
    clearAskGuard(state)
    if (decision.kind === 'enter') restoreOthers(state.agent, decision.messages, round)
    return decision
  }
  if (decision.kind === 'reject') {
    clearAskGuard(state)
    state.attempt = undefined
    blockRejected(ctx, state, round)
    return decision
  }
  if (isValid(ctx, state, round, 'post-decision')) return decision
  state.attempt = undefined
  return refuse(ctx, state, decision.messages, round)
}

/** Whether the round's reservation holds. A check that throws is logged, disarms the goal, and does not hold. */
function isValid(ctx: Context, state: DriverState, round: GoalRoundMessage, check: string): boolean {
  const { agent, attempt } = state
  try {
    if (!isDriving(ctx, state) || attempt?.phase !== 'claimed' || attempt.stale) return false
    if (!sameMessage(attempt.message, round)) return false
    const goal = readGoal(ctx, agent)
    return isCurrent(goal, round.source) && round.source.round === goal.roundsStarted + 1
  } catch (error) {
    failClosed(ctx, agent, `${check} check failed for`, error)
    return false
  }
}

function refuse(ctx: Context, state: DriverState, messages: UserMessage[], round: GoalRoundMessage): PreStepDecision {
  clearAskGuard(state)
  restoreOthers(state.agent, messages, round)
  requestDrive(ctx, state)
  return { kind: 'reject' }
}

/**
 * Put back what was claimed together with a round that does not enter: to the front of `next-step`, in order. A message
 * that is pending already stays where it is (inserting a pending id throws).
 */
function restoreOthers(agent: Agent, messages: UserMessage[], round: GoalRoundMessage): void {
  const { inbox } = agent
  for (const message of messages.toReversed()) {
    const isPending = [...inbox.nextStep, ...inbox.nextTurn].some(({ id }) => id === message.id)
    if (message.id !== round.id && !isGoalState(message) && !isPending) inbox.prepend('next-step', message)
  }
}

/** Whether a message carries goal state only (round 0): it belongs to no round and is not owed to anybody. */
function isGoalState(message: UserMessage): boolean {
  return message.source.kind === 'goal' && !isGoalRoundMessage(message)
}

/** A failure here fails the turn, and that disarms. */
function blockRejected(ctx: Context, state: DriverState, round: GoalRoundMessage): void {
  const goal = readGoal(ctx, state.agent)
  if (!isCurrent(goal, round.source)) return
  const message = 'Goal round was rejected before entering its step.'
  ctx.goals.block(state.agent, refOf(goal), { code: 'prompt-rejected', message })
}
