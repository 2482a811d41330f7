/**
 * Counts an agent's rounds that come to nothing but questions nobody can answer, and says when there are too many:
 *
 * | what happens | stuck rounds in a row | rounds with a denied question in a row |
 * | --- | --- | --- |
 * | a round ends on a denied question | one more | one more |
 * | a round has a denied question, and work after it | 0 | one more |
 * | a round has no denied question | 0 | 0 |
 * | somebody interferes: a human writes, or the goal changes; and the round that this falls into ends | 0 | 0 |
 * | a round is refused, aborted, fails, or ends at its token limit | stays | stays |
 * | a turn that is no round ends | stays | stays |
 * | a round of another goal is the next one that counts | begins at 0 | begins at 0 |
 * @module @deepseek-ai/dsh-goal-round-driver/round-counts
 */
import type { GoalBlockReason, GoalRef, GoalView } from '@deepseek-ai/dsh-goal'
import type { MessageId } from '@deepseek-ai/dsh-llm'
import type { DeniedQuestions } from './question-text.ts'
import { RoundRecord } from './round-record.ts'
import type { RoundSettings } from './round-settings.ts'

/** What is known of one agent's rounds. */
export class RoundCounts {
  /** The round whose turn is open. */
  record: RoundRecord | undefined
  /** The round whose turn was ended because it asked too often, until the agent is idle. */
  overrun: RoundRecord | undefined
  private readonly settings: RoundSettings
  private turn: number | undefined
  private goalId: GoalRef['id'] | undefined
  private stuck = 0
  private denied = 0
  private questions: DeniedQuestions | undefined

  constructor(settings: RoundSettings) {
    this.settings = settings
  }

  /**
   * A round was claimed. Of two in one turn only the first can be admitted.
   * @param goalId - its goal.
   * @param messageId - its message.
   * @param turn - the turn that claimed it.
   */
  claim(goalId: GoalRef['id'], messageId: MessageId, turn: number): void {
    if (this.record !== undefined && this.turn === turn) return
    this.turn = turn
    this.record = new RoundRecord(goalId, messageId, this.settings.deniedTools)
  }

  /**
   * Somebody interfered: what was asked may be answered by that.
   * @param isHuman - whether by a message.
   */
  interfere(isHuman = false): void {
    this.stuck = 0
    this.denied = 0
    if (this.record === undefined) return
    this.record.isVoid = true
    this.record.hasHuman ||= isHuman
  }

  /**
   * The turn is over.
   * @param reason - the kind of its end.
   */
  endTurn(reason: string): void {
    const { record } = this
    this.record = undefined
    const outcome = record?.settle(reason)
    if (record === undefined || outcome === undefined) return
    if (record.goalId !== this.goalId) this.interfere()
    this.goalId = record.goalId
    this.stuck = outcome.stuck ? this.stuck + 1 : 0
    this.denied = outcome.denied ? this.denied + 1 : 0
    this.questions = record.questions
  }

  /**
   * The round that was ended because it asked too often.
   * @returns it, once.
   */
  takeOverrun(): RoundRecord | undefined {
    const { overrun } = this
    this.overrun = undefined
    return overrun
  }

  /**
   * Why a goal cannot go on without an answer, if it cannot. The counts start anew then.
   * @param goal - the agent's active goal.
   * @returns the reason to block it with.
   */
  takeUnanswered(goal: GoalView): GoalBlockReason | undefined {
    const { stuck, denied, questions, settings } = this
    if (questions === undefined || goal.id !== this.goalId) return undefined
    // A cap below the limit is reached before it: one stuck round is enough there.
    const isCapLower = isAtCap(goal) && goal.maxGoalRounds < settings.maxStuckRounds
    const isStuck = isAtLimit(stuck, isCapLower ? 1 : settings.maxStuckRounds)
    if (!isStuck && !isAtLimit(denied, settings.maxDeniedRounds)) return undefined
    this.interfere()
    const why = isStuck ? `${rounds(stuck)} ended on a question` : `${rounds(denied)} asked`
    return unansweredReason(goal, questions, why)
  }
}

/**
 * Why a goal cannot go on whose turn asked too often.
 * @param goal - the goal.
 * @param overrun - the round.
 * @returns the reason to block it with.
 */
export function overrunReason(goal: GoalView, overrun: RoundRecord): GoalBlockReason {
  return unansweredReason(goal, overrun.questions, `One round asked ${overrun.denials} times`)
}

/** For the human who comes back: the questions, why the goal stopped at them, and what to do. */
function unansweredReason(goal: GoalView, questions: DeniedQuestions, why: string): GoalBlockReason {
  const cap = isAtCap(goal)
    ? ` The goal has also reached its limit of ${goal.maxGoalRounds} rounds: raise that first.`
    : ''
  const message =
    `The goal needs an answer: ${questions.toString()}. ${why}, and in a goal round nobody is there to answer.`
    + ` Write the answer, then resume the goal.${cap}`
  return { code: 'question-unanswered', message }
}

function isAtLimit(count: number, limit: number): boolean {
  return limit > 0 && count >= limit
}

function isAtCap(goal: GoalView): boolean {
  return goal.roundsStarted >= goal.maxGoalRounds
}

function rounds(count: number): string {
  return count === 1 ? 'The last round' : `${count} rounds in a row`
}
