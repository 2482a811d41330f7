import { expect, it } from 'vitest'
import { InvariantRegistry } from '@deepseek-ai/dsh-invariants'
import * as companion from '../src/invariant.ts'
import { mountBash, testContext } from './harness.ts'

it('registers under the name of the package, once, until its plugin goes', async () => {
  const ctx = testContext()
  await ctx.plugin(InvariantRegistry)
  const fiber = await ctx.plugin(companion)
  const register = () => ctx.invariants.register('@deepseek-ai/dsh-bash-local', () => undefined)

  expect(companion.name).toBe('bash-local-invariant')
  expect(register).toThrow('@deepseek-ai/dsh-bash-local')
  await fiber.dispose()
  expect(register).not.toThrow()
})

it('finds nothing wrong with an executor at work', async () => {
  const { ctx, start } = await mountBash()
  await ctx.plugin(InvariantRegistry)
  await ctx.plugin(companion)
  const proc = start('true')
  await proc.done
  expect(proc.status).toBe('completed')
})
