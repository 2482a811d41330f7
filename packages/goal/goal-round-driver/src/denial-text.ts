/**
 * What the model reads about questions in a goal round: the section of the system prompt that says it beforehand, and
 * the texts of a denial.
 *
 * | the denial | its text |
 * | --- | --- |
 * | is the first in the turn, or the goal cannot be read | the whole advice, with the tool's name |
 * | is a later one | one sentence |
 * | comes after the goal was completed, blocked, paused or cleared in the turn | where to put the question now |
 * @module @deepseek-ai/dsh-goal-round-driver/denial-text
 */

/** What every denial begins with. */
export const GOAL_ROUND_DENIAL_PREFIX =
  'This tool is unavailable in this autonomous goal round, where nobody is waiting to answer: '

/** What the model reads when its first question of a round is denied. */
export const GOAL_ROUND_ASK_DENIAL = firstDenial('ask_user_question')

const DECIDED_DENIAL =
  `${GOAL_ROUND_DENIAL_PREFIX}the goal is no longer active, so end the turn now, with the question in the closing message,`
  + ' where the user can answer it.'

/** The section of the system prompt, by its name and place. The text never changes, and so costs no prompt cache. */
export const GOAL_ROUNDS_SECTION = {
  name: 'goal:rounds',
  order: 115,
  text:
    'In a goal round nobody reads along: a question that you ask with a tool is denied, and one in your text is not'
    + ' answered until the goal ends. Decide yourself, or record with the goal tools what you need.',
}

/** What became of the goal of a round in whose turn a question is asked. */
export type GoalOfRound = 'active' | 'decided' | 'unreadable'

/**
 * Choose the text of a denial.
 * @param tool - the tool that was called.
 * @param isTold - whether the turn has had a denial's advice.
 * @param goal - what the goal of the round is now.
 * @returns the text for the model.
 */
export function denialText(tool: string, isTold: boolean, goal: GoalOfRound): string {
  if (goal === 'decided') return DECIDED_DENIAL
  if (!isTold || goal === 'unreadable') return firstDenial(tool)
  return `${GOAL_ROUND_DENIAL_PREFIX}${tool} is denied again: decide, or block the goal with update_goal.`
}

/**
 * Tell a denial of a goal round from other failures of a tool.
 * @param text - the text of a failed result, with or without the registry's `Error: ` before it.
 * @returns whether it is one of the denials.
 */
export function isGoalRoundDenial(text: string): boolean {
  return text.replace(/^Error: /, '').startsWith(GOAL_ROUND_DENIAL_PREFIX)
}

function firstDenial(tool: string): string {
  return (
    `${GOAL_ROUND_DENIAL_PREFIX}${tool} fails again unless the user writes during this round. If the goal cannot go on`
    + ' without a human decision, read the goal with get_goal, then call update_goal with action "blocked" and a'
    + ' blocked_reason that states the question and its options. If update_goal refuses because too few rounds have run,'
    + ' go on with work that does not depend on the answer and report the blocker in a later round. Otherwise choose a'
    + ' reasonable default, say which one you chose, and continue.'
  )
}
