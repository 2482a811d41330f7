/** The published invariant companion and ours over the same logs, each with the prompts of its own driver. */
import { describe, expect, it } from 'vitest'
import { Context, type Fiber, type Plugin } from '@deepseek-ai/cordis'
import { GoalId, type GoalSnapshot, type GoalView } from '@deepseek-ai/dsh-goal'
import { InvariantRegistry } from '@deepseek-ai/dsh-invariants'
import type { MessageSource } from '@deepseek-ai/dsh-llm'
import { SessionId, SessionStore, type Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import * as stock from 'stock-goal-round-driver'
import * as stockCompanion from 'stock-goal-round-driver/invariant'
import * as fork from '../src/index.ts'
import * as forkCompanion from '../src/invariant.ts'
import { message } from './harness.ts'

/** The sessions under one companion, and what came of each attempt. */
class Log {
  readonly outcomes: unknown[] = []
  readonly ctx: Context
  private readonly driver: typeof stock
  private readonly companion: Plugin

  constructor(ctx: Context, driver: typeof stock, companion: Plugin) {
    this.ctx = ctx
    this.driver = driver
    this.companion = companion
  }

  /** Note whether something passes, or what kind of error it throws. */
  async note(act: () => unknown): Promise<void> {
    try {
      await act()
      this.outcomes.push('passes')
    } catch (error) {
      const { name, code, packageName } = error as { name: string; code?: string; packageName?: string }
      this.outcomes.push({ name, code, packageName })
    }
  }

  load(): Promise<Fiber> {
    return this.ctx.plugin(this.companion).await()
  }

  session(id = 's', seed?: readonly SessionEvent[]): Session {
    return this.ctx.sessions.create(SessionId(id), seed === undefined ? {} : { seed })
  }

  goal(session: Session, goal: Partial<GoalSnapshot> = {}, operation: 'create' | 'pause' = 'create'): void {
    const snapshot = { ...GOAL, ...goal }
    const times = { roundsStarted: 0, createdAt: 1, updatedAt: 1 }
    session.append('goal/change', { kind: 'goal/change', version: 1, operation, goal: snapshot, ...times })
  }

  round(session: Session, round: number, goal: Partial<GoalSnapshot> = {}, text?: string): void {
    const { id, revision } = { ...GOAL, ...goal }
    const content = this.driver.renderGoalRoundPrompt({ ...GOAL, ...goal } as GoalView, round)
    const source: MessageSource = { kind: 'goal', goalId: id, revision, round }
    session.append('user/message', text === undefined ? { ...message('', source), content } : message(text, source), {
      surfaceOp: 'append',
    })
  }
}

const GOAL: GoalSnapshot = { id: GoalId('g'), revision: 1, objective: 'ship it', phase: 'active', maxGoalRounds: 2 }

const LOGS: Record<string, (log: Log) => Promise<void>> = {
  'rounds up to the cap and beyond': async log => {
    await log.load()
    const session = log.session()
    log.goal(session)
    for (const round of [1, 2, 3])
      await log.note(() => {
        log.round(session, round)
      })
    await log.note(() => {
      log.round(session, 2)
    })
  },
  'a round without a goal': async log => {
    await log.load()
    await log.note(() => {
      log.round(log.session(), 1)
    })
  },
  'rounds of another goal, another revision, another number and other words': async log => {
    await log.load()
    const session = log.session()
    log.goal(session)
    await log.note(() => {
      log.round(session, 1, { id: GoalId('h') })
    })
    await log.note(() => {
      log.round(session, 1, { revision: 2 })
    })
    await log.note(() => {
      log.round(session, 2)
    })
    await log.note(() => {
      log.round(session, 1, { objective: 'ship it well' })
    })
    await log.note(() => {
      log.round(session, 1, { maxGoalRounds: 3 })
    })
    await log.note(() => {
      log.round(session, 1, {}, 'go on')
    })
    await log.note(() => {
      log.round(session, 1)
    })
  },
  'a round of a paused goal': async log => {
    await log.load()
    const session = log.session()
    log.goal(session)
    log.goal(session, { phase: 'paused', revision: 2 }, 'pause')
    await log.note(() => {
      log.round(session, 1, { revision: 2 })
    })
  },
  'round 0 and what follows it': async log => {
    await log.load()
    const session = log.session()
    log.goal(session)
    await log.note(() => {
      log.round(session, 0)
    })
    await log.note(() => {
      log.round(session, 1)
    })
    await log.note(() => session.append('turn/start', { turn: 1 }))
  },
  'a goal that cannot be rebuilt': async log => {
    await log.load()
    const session = log.session()
    await log.note(() => {
      log.goal(session, { phase: 'complete' })
    })
    await log.note(() => {
      log.round(session, 1)
    })
  },
  'good logs of loaded sessions': async log => {
    const session = log.session()
    log.goal(session)
    log.round(session, 1)
    await log.note(() => log.load())
    await log.note(() => {
      log.round(session, 2)
    })
  },
  'a bad log of a loaded session': async log => {
    log.round(log.session(), 1)
    await log.note(() => log.load())
    await log.note(() => log.ctx.invariants.register('@deepseek-ai/dsh-goal-round-driver', () => undefined))
  },
  'a session created later with a good seed': async log => {
    const session = log.session()
    log.goal(session)
    log.round(session, 1)
    await log.load()
    const seed = structuredClone(session.events)
    const heir = log.session('heir', seed)
    await log.note(() => {
      log.round(heir, 1)
    })
    await log.note(() => {
      log.round(heir, 2)
    })
  },
  'a session created later with a bad seed': async log => {
    const donor = new Context()
    await donor.plugin(SessionStore)
    const session = donor.sessions.create(SessionId('donor'))
    log.round(session, 1)
    await log.load()
    const seed = structuredClone(session.events)
    await log.note(() => log.session('heir', seed))
    const heir = log.ctx.sessions.get(SessionId('heir'))
    log.outcomes.push(heir?.events.length)
    if (heir !== undefined)
      await log.note(() => {
        log.round(heir, 2)
      })
    await donor.fiber.dispose()
  },
  'a companion that is gone': async log => {
    const fiber = await log.load()
    await fiber.dispose()
    await log.note(() => {
      log.round(log.session(), 1)
    })
    await log.note(() => log.load())
  },
}

describe('the companions of stock and fork agree on', () => {
  it.each(Object.entries(LOGS))('%s', async (_, scenario) => {
    const outcomes = async (driver: typeof stock, companion: Plugin) => {
      const ctx = new Context()
      await ctx.plugin(SessionStore)
      await ctx.plugin(InvariantRegistry)
      const log = new Log(ctx, driver, companion)
      await scenario(log)
      await ctx.fiber.dispose()
      return log.outcomes
    }
    expect(await outcomes(fork, forkCompanion)).toEqual(await outcomes(stock, stockCompanion))
  })
})
