/**
 * What a goal round message is, and when two of them are the same.
 * @module @deepseek-ai/dsh-goal-round-driver/round
 */
import { isDeepStrictEqual } from 'node:util'
import type { GoalMessageSource, GoalRef, GoalView } from '@deepseek-ai/dsh-goal'
import type { UserMessage } from '@deepseek-ai/dsh-llm'

/** A user message that opens a numbered round of a goal. */
export type GoalRoundMessage = UserMessage & { readonly source: GoalMessageSource }

/**
 * Tell a goal round message from every other message. Round 0 carries goal state only and is nobody's round.
 * @param message - any user message.
 * @returns whether the message comes from a goal and its round is positive.
 */
export function isGoalRoundMessage(message: UserMessage): message is GoalRoundMessage {
  return message.source.kind === 'goal' && message.source.round > 0
}

/**
 * Compare two rounds by goal id, revision and round.
 * @param a - the source of one goal round message.
 * @param b - the source of the other.
 * @returns whether both name the same round.
 */
export function sameRound(a: GoalMessageSource, b: GoalMessageSource): boolean {
  return a.goalId === b.goalId && a.revision === b.revision && a.round === b.round
}

/**
 * Compare a message with a reserved round by everything but its id.
 * @param reserved - the message that the driver queued.
 * @param message - a message met in an event or a step.
 * @returns whether the message is a round message of the same round with deeply equal content.
 */
export function sameMessage(reserved: GoalRoundMessage, message: UserMessage): boolean {
  return (
    isGoalRoundMessage(message)
    && sameRound(reserved.source, message.source)
    && isDeepStrictEqual(reserved.content, message.content)
  )
}

/**
 * Whether a goal is still at the revision of a round and may continue in this process.
 * @param goal - the current goal, if any.
 * @param source - the round's source.
 * @returns whether the goal is the same revision, active and armed.
 */
export function isCurrent(goal: GoalView | undefined, source: GoalMessageSource): goal is GoalView {
  return isDrivable(goal) && goal.id === source.goalId && goal.revision === source.revision
}

/**
 * Whether a goal may continue in this process.
 * @param goal - the current goal, if any.
 * @returns whether the goal is active and armed.
 */
export function isDrivable(goal: GoalView | undefined): goal is GoalView {
  return goal?.phase === 'active' && goal.activation === 'armed'
}

/**
 * Name the revision that a change is meant for.
 * @param goal - the goal as it was read.
 * @returns its id and revision, and nothing else.
 */
export function refOf({ id, revision }: GoalView): GoalRef {
  return { id, revision }
}
