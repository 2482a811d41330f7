import { GOAL_ROUND_ASK_DENIAL } from '@deepseek-ai/dsh-goal-round-driver'
import { describe, expect, it } from 'vitest'
import { ANSWER, QUESTION, askingInCode, askingNatively } from './support/models.ts'
import { human, runDsh, testPlugin, textsSeenBy, type DshRun, type Side } from './support/run-dsh.ts'
import { resultsOf, settledAsks, verdictsOf } from './support/session-log.ts'

const MAX_ROUNDS = 5

/** #6074: an autonomous goal, a model that asks in its rounds, and a human who answers. */
function runGoal(side: Side, codeMode: boolean): Promise<DshRun> {
  return runDsh({
    side,
    codeMode,
    task: 'unused',
    model: codeMode ? askingInCode : askingNatively,
    change: [{ id: 'headless-runner', disabled: true }],
    insert: [
      { id: 'tool-ask-user', name: '@deepseek-ai/dsh-tool-ask-user' },
      human(ANSWER),
      testPlugin('goal-run', { objective: 'Move the data', maxGoalRounds: MAX_ROUNDS }),
    ],
  })
}

describe('a goal whose model asks in a round', () => {
  it('stock, Code Mode: the human answers every round, the model never sees it and spins to the cap', async () => {
    const run = await runGoal('stock', true)

    expect(run.exitCode).toBe(0)
    expect(run.asked).toEqual(Array(MAX_ROUNDS).fill(QUESTION))
    expect(JSON.parse(run.stdout)).toMatchObject({ roundsStarted: MAX_ROUNDS, blocked: { code: 'round-limit' } })
    expect(settledAsks(run.events).filter(({ text }) => text.includes(ANSWER))).toHaveLength(MAX_ROUNDS)
    expect(resultsOf(run.events, 'run_code').map(({ text }) => text)).toEqual(Array(MAX_ROUNDS).fill('asked'))
    expect(textsSeenBy(run).filter(text => text.includes(ANSWER))).toEqual([])
    expect(verdictsOf(run.events)).toEqual(Array(MAX_ROUNDS).fill('lost-in-program'))
  })

  it('stock, native: the autonomous run waits for the human', async () => {
    const run = await runGoal('stock', false)

    expect(run.exitCode).toBe(0)
    expect(run.asked).toEqual([QUESTION])
    expect(resultsOf(run.events, 'ask_user_question')).toEqual([
      { isError: false, text: expect.stringContaining(ANSWER) as string },
    ])
  })

  it.each([
    ['fork', true],
    ['fork', false],
    ['installed', true],
    ['installed', false],
  ] as const)('%s, Code Mode %s: the question is denied, and the goal blocked with it', async (side, codeMode) => {
    const run = await runGoal(side, codeMode)

    expect(run.exitCode).toBe(0)
    expect(run.asked).toEqual([])
    // The goal tools let the model block in its third round at the earliest.
    expect(JSON.parse(run.stdout)).toMatchObject({
      phase: 'blocked',
      roundsStarted: 3,
      blocked: { code: 'model-reported', message: 'Which database: Postgres or SQLite?' },
    })
    const denial = { isError: true, text: expect.stringContaining(GOAL_ROUND_ASK_DENIAL) as string }
    const asks = codeMode ? settledAsks(run.events) : resultsOf(run.events, 'ask_user_question')
    expect(asks).toEqual([denial, denial, denial])
    expect(verdictsOf(run.events)).toEqual(['denied', 'denied', 'denied'])
    // Code Mode: the uncaught error fails the program, so that the outer result says it too.
    if (codeMode) expect(resultsOf(run.events, 'run_code')).toContainEqual(denial)
    expect(run.requests[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: expect.stringContaining(GOAL_ROUND_ASK_DENIAL) as string,
    })
  })
})
