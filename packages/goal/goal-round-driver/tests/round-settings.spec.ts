import { describe, expect, it } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import { GoalService } from '@deepseek-ai/dsh-goal'
import * as driver from '../src/index.ts'
import { type Config, roundSettings } from '../src/round-settings.ts'

const DEFAULTS = {
  deniedTools: new Set(['ask_user_question']),
  maxStuckRounds: 3,
  maxDeniedRounds: 10,
  maxDenialsPerTurn: 20,
}

/** Values that the types exclude and a file may hold. */
const WRONG: [field: keyof Config, value: unknown][] = [
  ['askInRounds', 'maybe'],
  ['deniedTools', 'ask_user_question'],
  ['deniedTools', ['']],
  ['deniedTools', [null]],
  ['deniedTools', ['ask_user_question', 'run_code']],
  ['deniedTools', ['get_goal']],
  ['deniedTools', ['update_goal']],
  ['deniedTools', ['create_goal']],
  ...(['maxStuckRounds', 'maxDeniedRounds', 'maxDenialsPerTurn'] as const).flatMap(field =>
    [-1, 1.5, '3', Number.NaN, Infinity].map((value): [keyof Config, unknown] => [field, value]),
  ),
]

describe('the settings', () => {
  it('have a default each', () => {
    expect(roundSettings({})).toEqual(DEFAULTS)
    expect(roundSettings({ askInRounds: 'deny' })).toEqual(DEFAULTS)
  })

  it('take what the configuration says', () => {
    const limits = { maxStuckRounds: 1, maxDeniedRounds: 0, maxDenialsPerTurn: 5 }
    const deniedTools = ['ask_user_question', 'exit_plan_mode']
    expect(roundSettings({ ...limits, deniedTools })).toEqual({ ...limits, deniedTools: new Set(deniedTools) })
  })

  it('are none where questions are allowed', () => {
    expect(roundSettings({ askInRounds: 'allow' })).toBeUndefined()
  })

  it.each(WRONG)('refuse %s: %j, and name the field', (field, value) => {
    expect(() => roundSettings({ [field]: value })).toThrow(field)
  })

  it('refuse a field that does not exist, and name those that do', () => {
    expect(() => roundSettings({ askInRound: 'allow' } as Config)).toThrow(/"askInRound".*askInRounds, deniedTools/)
  })
})

describe('the plugin', () => {
  async function load(config: unknown): Promise<unknown> {
    const ctx = new Context()
    try {
      await mountAgentLoopTestDependencies(ctx)
      await ctx.plugin(AgentLoop, { agents: [] })
      await ctx.plugin(GoalService)
      return await Promise.resolve(ctx.plugin(driver, config as Config)).then(
        () => undefined,
        (error: unknown) => error,
      )
    } finally {
      await ctx.fiber.dispose()
    }
  }

  it('loads with a configuration, and without one', async () => {
    expect(await load({ maxStuckRounds: 1 })).toBeUndefined()
    expect(await load(undefined)).toBeUndefined()
  })

  it.each<[string, unknown]>([...WRONG.slice(0, 5), ['maxStuckRound', 3]])(
    'does not load with %s: %j',
    async (field, value) => {
      expect(String(await load({ [field]: value }))).toContain(field)
    },
  )
})
