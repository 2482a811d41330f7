/** The plugin's configuration, as the loader gives it and as `apply` gets it bare. */
import { afterEach, describe, expect, it } from 'vitest'
import type { Context } from '@deepseek-ai/cordis'
import * as toolAskUser from '../src/index.ts'
import { disposeHarnesses, startHarness } from './harness.ts'

afterEach(disposeHarnesses)

/** The plugin without the schema that the loader checks by. */
const bare = { name: 'bare', inject: toolAskUser.inject, apply: toolAskUser.apply }

async function load(plugin: typeof bare | typeof toolAskUser, config: unknown): Promise<Context> {
  const { ctx } = await startHarness({ tool: { name: 'none', apply: () => undefined } })
  await ctx.plugin(plugin, config as toolAskUser.Config)
  return ctx
}

it('has its default', () => {
  expect(toolAskUser.Config({})).toEqual({ writeBackLimitBytes: 16_384 })
})

describe.each([
  ['through the loader', toolAskUser],
  ['bare', bare],
])('%s', (_name, plugin) => {
  it.each([undefined, {}, { writeBackLimitBytes: 1_024 }, { writeBackLimitBytes: Number.MAX_SAFE_INTEGER }])(
    'loads with %j',
    async config => {
      expect((await load(plugin, config)).tools.get('ask_user_question')).toBeDefined()
    },
  )

  it.each([
    ['writeBackLimitBytes', 1_023],
    ['writeBackLimitBytes', 1_500.5],
    ['writeBackLimitBytes', 2 ** 53],
    ['writeBackLimitBytes', '16kB'],
    ['writeBackLimit', 16_384],
    ['timeoutMs', 1],
  ])('refuses %s: %j at load, by its name, and registers nothing', async (field, value) => {
    const { ctx } = await startHarness({ tool: { name: 'none', apply: () => undefined } })

    await expect(ctx.plugin(plugin, { [field]: value })).rejects.toThrow(field)
    expect(ctx.tools.get('ask_user_question')).toBeUndefined()
  })
})
