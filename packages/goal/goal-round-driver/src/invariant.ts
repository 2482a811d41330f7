/**
 * The invariant companion: every goal round in a session log continues the goal that the events before it describe.
 * @module @deepseek-ai/dsh-goal-round-driver/invariant
 */
import { isDeepStrictEqual } from 'node:util'
import type { Context } from '@deepseek-ai/cordis'
import { foldGoal, type FoldedGoal } from '@deepseek-ai/dsh-goal'
import type { InvariantFailure, InvariantInstaller } from '@deepseek-ai/dsh-invariants'
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session'
import { renderError } from './authority.ts'
import { renderGoalRoundPrompt } from './prompt.ts'
import { type GoalRoundMessage, isGoalRoundMessage } from './round.ts'

const PACKAGE_NAME = '@deepseek-ai/dsh-goal-round-driver'

/** Name of the companion plugin. */
export const name = 'goal-round-driver-invariant'

/** Services that must be there before the package can be registered. */
export const inject = ['invariants']

/** Check the logs of the loaded sessions, then every event before it is published. */
const install: InvariantInstaller = Object.assign(
  (ctx: Context, fail: InvariantFailure) => {
    for (const session of ctx.sessions.list()) {
      for (const event of session.events) checkEvent(session, event, fail)
    }
    ctx.on(
      'internal/dispatch',
      (_mode, eventName, args: unknown[]) => {
        if (eventName !== 'session/event') return
        const [session, event] = args as [Session, SessionEvent]
        checkEvent(session, event, fail)
      },
      { global: true },
    )
  },
  { inject: ['sessions'] },
)

function checkEvent(session: Session, event: SessionEvent, fail: InvariantFailure): void {
  if (event.type !== 'user/message' || !isGoalRoundMessage(event.data)) return
  const problem = describeProblem(session.events.slice(0, event.seq), event.data)
  if (problem !== undefined) fail(`session "${session.id}" event ${event.seq}: ${problem}`)
}

function describeProblem(before: readonly SessionEvent[], message: GoalRoundMessage): string | undefined {
  let folded: FoldedGoal
  try {
    folded = foldGoal(before)
  } catch (error) {
    return `the goal cannot be rebuilt: ${renderError(error)}`
  }
  const { goal, roundsStarted } = folded
  const { goalId, revision, round } = message.source
  if (goal?.phase !== 'active' || goal.id !== goalId || goal.revision !== revision) {
    return `goal round ${round} belongs to no active goal "${goalId}" revision ${revision}`
  }
  if (round !== roundsStarted + 1 || round > goal.maxGoalRounds) {
    return `goal round ${round} is not round ${roundsStarted + 1} of at most ${goal.maxGoalRounds}`
  }
  if (!isDeepStrictEqual(message.content, renderGoalRoundPrompt(goal, round))) {
    return `goal round ${round} does not carry the prompt of its goal`
  }
  return undefined
}

/**
 * Register the companion.
 * @param ctx - context with the invariant registry.
 * @returns the registration's disposer, once the checks of the loaded sessions have passed.
 */
export const apply = async (ctx: Context): Promise<() => void> =>
  Promise.resolve(ctx.invariants.register(PACKAGE_NAME, install))
