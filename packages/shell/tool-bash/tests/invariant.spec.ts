import { expect, it } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { InvariantRegistry } from '@deepseek-ai/dsh-invariants'
import * as companion from '../src/invariant.ts'

it('registers under the name of the package, once, until its plugin goes', async () => {
  const ctx = new Context()
  await ctx.plugin(InvariantRegistry)
  const fiber = await ctx.plugin(companion)
  const register = () => ctx.invariants.register('@deepseek-ai/dsh-tool-bash', () => undefined)

  expect(companion.name).toBe('tool-bash-invariant')
  expect(register).toThrow('@deepseek-ai/dsh-tool-bash')
  await fiber.dispose()
  expect(register).not.toThrow()
  await ctx.fiber.dispose()
})
