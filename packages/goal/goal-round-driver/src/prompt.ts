/**
 * The prompt of one goal round, as the model reads it and as the session log keeps it.
 * @module @deepseek-ai/dsh-goal-round-driver/prompt
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import type { GoalView } from '@deepseek-ai/dsh-goal'

/**
 * Render a goal round's prompt. The objective is JSON-quoted, so that a line break in it cannot start a closing line.
 * @param goal - the goal, at the revision that the round is for.
 * @param round - the round's number, from 1.
 * @returns one text block, new with each call.
 */
export function renderGoalRoundPrompt(
  goal: Pick<GoalView, 'objective' | 'maxGoalRounds'>,
  round: number,
): ContentBlock[] {
  const text = [
    '<goal_round>',
    `Objective: ${JSON.stringify(goal.objective)}`,
    `Round: ${round}/${goal.maxGoalRounds}`,
    '',
    'This is the next round of your goal, in this same session. Where an earlier account differs from the'
      + ' current workspace, the tool results or the durable state, trust those.',
    'Make progress on the objective in this round, and verify what you did before you rely on it.',
    'Before you say that the goal is reached, gather evidence for every part of the objective, read the goal with the'
      + ' goal tools, and only then mark it complete.',
    'If work remains at the end of this round, leave the goal active: another round follows.',
    "If something stands in the way, follow the goal tools' policy before you report a blocker.",
    '</goal_round>',
  ].join('\n')
  return [{ type: 'text', text }]
}
