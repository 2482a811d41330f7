import { describe, expect, expectTypeOf, it } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import * as jobs from '../src/index.ts'
import { JobId } from '../src/brand.ts'
import type {
  JobHooks,
  JobKind,
  JobRegistry,
  JobSnapshot,
  JobStart,
  JobWaitResult,
  JobWakeOptions,
} from '../src/index.ts'
import { EmptyRegistry } from './registry.ts'

declare module '@deepseek-ai/dsh-jobs' {
  interface JobKindMap {
    download: 'download'
  }
}

describe('the service definition', () => {
  it('cannot be loaded in place of an implementation, and says what to load', async () => {
    const ctx = new Context()
    const Definition = jobs.JobRegistry as unknown as typeof EmptyRegistry

    await expect(ctx.plugin(Definition)).rejects.toThrow(
      'abstract job registry seam; load an implementation such as @deepseek-ai/dsh-jobs-local instead',
    )
    await ctx.fiber.dispose()
  })

  it('is provided as ctx.jobs by an implementation, until that goes', async () => {
    const ctx = new Context()
    const fiber = await ctx.plugin(EmptyRegistry)
    expect(ctx.get('jobs')).toBeInstanceOf(jobs.JobRegistry)

    await fiber.dispose()
    expect(ctx.get('jobs')).toBeUndefined()
    await ctx.fiber.dispose()
  })

  it('brands an id without changing it, and exports the definition as default too', () => {
    expect(JobId('bash-1')).toBe('bash-1')
    expect(jobs.JobId).toBe(JobId)
    expect(jobs.default).toBe(jobs.JobRegistry)
  })
})

describe('the types', () => {
  it('let a producer add a kind', () => {
    expectTypeOf<'bash' | 'subagent' | 'download'>().toExtend<JobKind>()
    expectTypeOf<JobStart['kind']>().toEqualTypeOf<JobKind>()
  })

  it('let a producer and a caller of before leave out what is new', () => {
    expectTypeOf<{ cancel(): void; done: JobHooks['done'] }>().toExtend<JobHooks>()
    expectTypeOf<Parameters<JobRegistry['wait']>['length']>().toEqualTypeOf<2 | 3 | 4 | 5>()
    expectTypeOf<JobSnapshot>().toExtend<JobWaitResult>()
    expectTypeOf<Record<string, never>>().toExtend<JobWakeOptions>()
  })
})
