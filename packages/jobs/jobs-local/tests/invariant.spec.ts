import { expect, it } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { InvariantRegistry } from '@deepseek-ai/dsh-invariants'
import * as jobsCompanion from '@deepseek-ai/dsh-jobs/invariant'
import * as companion from '../src/invariant.ts'
import { collectWarnings, mountJobs, Producer, settleMicrotasks } from './harness.ts'

it('registers under the name of the package, once, until its plugin goes', async () => {
  const ctx = new Context()
  await ctx.plugin(InvariantRegistry)
  const fiber = await ctx.plugin(companion)
  const register = () => ctx.invariants.register('@deepseek-ai/dsh-jobs-local', () => undefined)

  expect(register).toThrow('@deepseek-ai/dsh-jobs-local')
  await fiber.dispose()
  expect(register).not.toThrow()
  await ctx.fiber.dispose()
})

it('passes the checks that every registry must pass', async () => {
  const { ctx } = await mountJobs()
  const warnings = collectWarnings(ctx)
  ctx.jobs.start(new Producer().spec())
  await ctx.plugin(InvariantRegistry)
  await ctx.plugin(jobsCompanion)

  const producer = new Producer()
  const id = ctx.jobs.start(producer.spec())
  producer.settle({ status: 'completed' })
  await settleMicrotasks()
  expect(ctx.jobs.get(id).status).toBe('completed')
  expect(warnings).toEqual([])
})
