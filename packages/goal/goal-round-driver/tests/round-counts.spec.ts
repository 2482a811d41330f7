import { describe, expect, it } from 'vitest'
import { GoalId, type GoalView } from '@deepseek-ai/dsh-goal'
import { CallId, createUserMessage } from '@deepseek-ai/dsh-llm'
import type { ToolExecution } from '@deepseek-ai/dsh-tools'
import { overrunReason, RoundCounts } from '../src/round-counts.ts'
import { roundSettings, type Config } from '../src/round-settings.ts'

function goalOf(round: number, maxGoalRounds = 256, id = 'g'): GoalView {
  return {
    id: GoalId(id),
    revision: 1,
    objective: 'ship it',
    phase: 'active',
    maxGoalRounds,
    roundsStarted: round,
    createdAt: 0,
    updatedAt: 0,
    activation: 'armed',
  }
}

type Round = 'stuck' | 'worked' | 'quiet' | 'refused' | 'aborted' | 'max-tokens' | 'error' | 'human' | 'human later'

/** Play rounds of a goal; a turn that is no round is `undefined`. */
function play(config: Config, ...played: (Round | undefined)[]) {
  const counts = new RoundCounts(roundSettings(config) ?? expect.fail('allowed'))
  let turn = 0
  const run = (round: Round | undefined, goal = 'g') => {
    turn += 1
    if (round === undefined) {
      counts.endTurn('completed')
      return
    }
    const { id } = createUserMessage({ content: [], source: { kind: 'user' } })
    counts.claim(GoalId(goal), id, turn)
    const { record } = counts
    if (record === undefined) expect.fail('no record')
    record.isAdmitted = round !== 'refused'
    if (round === 'human') counts.interfere()
    if (round !== 'quiet') {
      const callId = CallId(`ask-${turn}`)
      record.call('ask_user_question', callId)
      const args = { questions: [{ question: `Question ${turn}?`, options: [{ label: 'yes' }] }] }
      record.deny({ callId, rootCallId: callId, name: 'ask_user_question', arguments: args } as ToolExecution, 'denied')
    }
    record.step = 1
    if (round === 'worked') record.call('bash', CallId(`bash-${turn}`))
    if (round === 'human later') counts.interfere()
    counts.endTurn(
      { refused: 'blocked', aborted: 'aborted', 'max-tokens': 'max-tokens', error: 'error' }[round as string]
        ?? 'completed',
    )
  }
  for (const round of played) run(round)
  return { counts, run, reason: (goal = goalOf(turn)) => counts.takeUnanswered(goal) }
}

describe('stuck rounds in a row', () => {
  it('end the goal at the limit, and not before', () => {
    expect(play({}, 'stuck', 'stuck').reason()).toBeUndefined()
    expect(play({}, 'stuck', 'stuck', 'stuck').reason()).toEqual({
      code: 'question-unanswered',
      message:
        'The goal needs an answer: "Question 3?" (yes). 3 rounds in a row ended on a question, and in a goal round nobody is'
        + ' there to answer. Write the answer, then resume the goal.',
    })
    expect(play({ maxStuckRounds: 1 }, 'stuck').reason()?.message).toContain('The last round ended on a question')
  })

  it.each<Round>(['worked', 'quiet', 'human', 'human later'])(
    'begin anew behind a round that is %s',
    (round: Round | undefined) => {
      expect(play({}, 'stuck', 'stuck', round, 'stuck', 'stuck').reason()).toBeUndefined()
      expect(play({}, 'stuck', 'stuck', round, 'stuck', 'stuck', 'stuck').reason()).toBeDefined()
    },
  )

  it.each<Round | undefined>(['refused', 'aborted', 'max-tokens', 'error', undefined])(
    'go on over what says nothing: %s',
    (round: Round | undefined) => {
      expect(play({}, 'stuck', 'stuck', round).reason()).toBeUndefined()
      expect(play({}, 'stuck', 'stuck', round, 'stuck').reason()).toBeDefined()
    },
  )

  it('begin anew when somebody interferes between two rounds', () => {
    const { counts, run, reason } = play({}, 'stuck', 'stuck')
    counts.interfere()
    run('stuck')
    expect(reason()).toBeUndefined()
  })

  it('begin anew with another goal, which the old questions do not end', () => {
    const { run, reason } = play({ maxStuckRounds: 2 }, 'stuck', 'stuck')
    expect(reason(goalOf(0, 256, 'other'))).toBeUndefined()
    run('stuck', 'other')
    expect(reason(goalOf(1, 256, 'other'))).toBeUndefined()
    run('stuck', 'other')
    expect(reason(goalOf(2, 256, 'other'))).toBeDefined()
  })

  it('begin anew once they are told, so that a failure to block is no loop', () => {
    const { reason } = play({}, 'stuck', 'stuck', 'stuck')
    expect(reason()).toBeDefined()
    expect(reason()).toBeUndefined()
  })

  it('never end it where the limit is 0', () => {
    const rounds = Array.from({ length: 9 }, (): Round => 'stuck')
    expect(play({ maxStuckRounds: 0 }, ...rounds).reason()).toBeUndefined()
    expect(play({ maxStuckRounds: 0 }, ...rounds).reason(goalOf(9, 9))).toBeUndefined()
  })

  it('of a goal without rounds end nothing', () => {
    expect(play({}).reason()).toBeUndefined()
  })

  it('end it at a cap below the limit, if the last one is stuck, and name the cap', () => {
    expect(play({}, 'quiet', 'stuck').reason(goalOf(2, 2))?.message).toMatch(
      /its limit of 2 rounds: raise that first\.$/,
    )
    expect(play({}, 'stuck', 'worked').reason(goalOf(2, 2))).toBeUndefined()
    expect(play({}, 'stuck').reason(goalOf(1, 2))).toBeUndefined()
  })

  it('leave a cap above the limit to be the reason, unless they are too many', () => {
    expect(play({}, 'quiet', 'quiet', 'stuck').reason(goalOf(3, 3))).toBeUndefined()
    expect(play({}, 'stuck', 'stuck', 'stuck').reason(goalOf(3, 3))?.message).toContain('its limit of 3 rounds')
  })
})

describe('rounds with a denied question in a row', () => {
  const worked = (count: number) => Array.from({ length: count }, (): Round => 'worked')

  it('end the goal at the limit, and not before', () => {
    expect(play({}, ...worked(9)).reason()).toBeUndefined()
    expect(play({}, ...worked(10)).reason()?.message).toContain('"Question 10?" (yes). 10 rounds in a row asked, and')
  })

  it('count stuck ones, too', () => {
    expect(play({ maxDeniedRounds: 3 }, 'worked', 'stuck', 'worked').reason()).toBeDefined()
  })

  it.each<Round>(['quiet', 'human', 'human later'])('begin anew behind a round that is %s', (round: Round) => {
    expect(play({ maxDeniedRounds: 2 }, 'worked', round, 'worked').reason()).toBeUndefined()
    expect(play({ maxDeniedRounds: 2 }, 'worked', round, 'worked', 'worked').reason()).toBeDefined()
  })

  it.each<Round | undefined>(['refused', 'aborted', 'max-tokens', 'error', undefined])(
    'go on over what says nothing: %s',
    (round: Round | undefined) => {
      expect(play({ maxDeniedRounds: 2 }, 'worked', round).reason()).toBeUndefined()
      expect(play({ maxDeniedRounds: 2 }, 'worked', round, 'worked').reason()).toBeDefined()
    },
  )

  it('begin anew when somebody interferes between two rounds', () => {
    const { counts, run, reason } = play({ maxDeniedRounds: 2 }, 'worked')
    counts.interfere()
    run('worked')
    expect(reason()).toBeUndefined()
  })

  it('never end it where the limit is 0', () => {
    expect(play({ maxDeniedRounds: 0 }, ...worked(20)).reason()).toBeUndefined()
  })
})

describe('a turn', () => {
  it('has one record, that of the round that was claimed first', () => {
    const { counts } = play({})
    const [first, second] = [1, 2].map(() => createUserMessage({ content: [], source: { kind: 'user' } }).id)
    if (first === undefined || second === undefined) expect.fail('no ids')
    counts.claim(GoalId('g'), first, 1)
    counts.claim(GoalId('g'), second, 1)
    expect(counts.record?.messageId).toBe(first)
    counts.claim(GoalId('g'), second, 2)
    expect(counts.record?.messageId).toBe(second)
  })

  it('that asked too often is told with its questions', () => {
    const { counts, run } = play({})
    run('stuck')
    counts.claim(GoalId('g'), createUserMessage({ content: [], source: { kind: 'user' } }).id, 9)
    const { record } = counts
    if (record === undefined) expect.fail('no record')
    record.questions.add('ask_user_question', { questions: [{ question: 'A?' }] })
    record.denials = 20
    expect(overrunReason(goalOf(1, 1), record)).toEqual({
      code: 'question-unanswered',
      message:
        'The goal needs an answer: "A?". One round asked 20 times, and in a goal round nobody is there to answer. Write the'
        + ' answer, then resume the goal. The goal has also reached its limit of 1 rounds: raise that first.',
    })
  })
})
