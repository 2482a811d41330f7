import { afterEach, describe, expect, it } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { GoalId, type GoalSnapshot } from '@deepseek-ai/dsh-goal'
import { InvariantRegistry } from '@deepseek-ai/dsh-invariants'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { SessionId, SessionStore, type Session } from '@deepseek-ai/dsh-session'
import { renderGoalRoundPrompt } from '../src/index.ts'
import * as companion from '../src/invariant.ts'

const contexts: Context[] = []

afterEach(async () => {
  await Promise.all(contexts.splice(0).map(ctx => ctx.fiber.dispose()))
})

async function createContext(): Promise<Context> {
  const ctx = new Context()
  contexts.push(ctx)
  await ctx.plugin(SessionStore)
  await ctx.plugin(InvariantRegistry)
  return ctx
}

const GOAL: GoalSnapshot = {
  id: GoalId('g1'),
  revision: 1,
  objective: 'ship it',
  phase: 'active',
  maxGoalRounds: 2,
}

function createGoal(session: Session, goal = GOAL): void {
  session.append('goal/change', {
    kind: 'goal/change',
    version: 1,
    operation: 'create',
    goal,
    roundsStarted: 0,
    createdAt: 1,
    updatedAt: 1,
  })
}

function appendRound(
  session: Session,
  round: number,
  change: { revision?: number; goalId?: string; text?: string } = {},
) {
  const { goalId = GOAL.id, revision = 1, text } = change
  session.append(
    'user/message',
    createUserMessage({
      content: text === undefined ? renderGoalRoundPrompt(GOAL, round) : [{ type: 'text', text }],
      source: { kind: 'goal', goalId: GoalId(goalId), revision, round },
    }),
    { surfaceOp: 'append' },
  )
}

describe('the companion', () => {
  it('lets the rounds of an active goal pass', async () => {
    const ctx = await createContext()
    const session = ctx.sessions.create(SessionId('s'))
    createGoal(session)
    appendRound(session, 1)
    await ctx.plugin(companion)
    appendRound(session, 2)
    expect(session.events).toHaveLength(3)
  })

  it('lets what is no goal round pass, round 0 included', async () => {
    const ctx = await createContext()
    await ctx.plugin(companion)
    const session = ctx.sessions.create(SessionId('s'))
    appendRound(session, 0, { text: 'state' })
    session.append('turn/start', { turn: 1 })
    await ctx.plugin({
      name: 'other',
      apply: scope => {
        scope.emit('tools/change')
      },
    })
    expect(session.events).toHaveLength(2)
  })

  it.each([
    ['without a goal', [], 1, {}, 'no active goal'],
    ['of another goal', [GOAL], 1, { goalId: 'g2' }, 'no active goal'],
    ['of another revision', [GOAL], 1, { revision: 2 }, 'no active goal'],
    ['that skips a number', [GOAL], 2, {}, 'is not round 1'],
    ['beyond the cap', [{ ...GOAL, maxGoalRounds: 1 }], 2, {}, 'is not round 1'],
    ['with another prompt', [GOAL], 1, { text: 'go on' }, 'prompt of its goal'],
  ] as const)('refuses a round %s before it is published', async (_, goals, round, change, problem) => {
    const ctx = await createContext()
    await ctx.plugin(companion)
    const session = ctx.sessions.create(SessionId('s'))
    for (const goal of goals) createGoal(session, goal)
    expect(() => {
      appendRound(session, round, change)
    }).toThrow(problem)
    expect(() => {
      appendRound(session, round, change)
    }).toThrow('@deepseek-ai/dsh-goal-round-driver')
  })

  it('refuses a round beyond the cap even when it is the next one', async () => {
    const ctx = await createContext()
    await ctx.plugin(companion)
    const session = ctx.sessions.create(SessionId('s'))
    createGoal(session, { ...GOAL, maxGoalRounds: 1 })
    session.append(
      'user/message',
      createUserMessage({
        content: renderGoalRoundPrompt({ ...GOAL, maxGoalRounds: 1 }, 1),
        source: { kind: 'goal', goalId: GOAL.id, revision: 1, round: 1 },
      }),
      { surfaceOp: 'append' },
    )
    expect(() => {
      appendRound(session, 2)
    }).toThrow('of at most 1')
  })

  it('reports a log whose goal cannot be rebuilt', async () => {
    const ctx = await createContext()
    await ctx.plugin(companion)
    const session = ctx.sessions.create(SessionId('s'))
    session.append('goal/change', { kind: 'goal/change', version: 1, operation: 'nonsense' } as never)
    expect(() => {
      appendRound(session, 1)
    }).toThrow('the goal cannot be rebuilt')
  })

  it('fails to load over a loaded session that breaks the rule, and gives the name back', async () => {
    const ctx = await createContext()
    const session = ctx.sessions.create(SessionId('s'))
    appendRound(session, 1)
    await expect(ctx.plugin(companion)).rejects.toThrow('no active goal')
    expect(() => ctx.invariants.register('@deepseek-ai/dsh-goal-round-driver', () => undefined)).not.toThrow()
  })
})
