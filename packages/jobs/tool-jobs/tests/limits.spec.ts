import { describe, expect, it, vi } from 'vitest'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { defineContentToolFixture } from '@deepseek-ai/dsh-tools'
import { byteLength, cut, fitTail } from '../src/byte-limit.ts'
import { renderOutput } from '../src/output-text.ts'
import { textOf, type World } from './world.ts'
import { newWorld } from './worlds.ts'

const LONG = 'alpha beta gamma delta epsilon zeta eta theta'
const RUNNING = { id: 'bash-1', kind: 'bash', label: 'make', status: 'running', startedAt: 0 } as const

describe('cut', () => {
  it.each([
    ['tail', 'abc', 2, 'bc'],
    ['head', 'abc', 2, 'ab'],
    ['tail', 'abc', 0, ''],
    ['tail', '世界', 4, '界'],
    ['head', '世界', 5, '世'],
    ['tail', '😀', 3, ''],
  ] as const)('keeps the %s of %j in %i bytes, in whole characters', (kind, text, maxBytes, kept) => {
    expect(cut(kind, text, maxBytes)).toBe(kept)
  })
})

describe('fitTail', () => {
  it.each([
    ['a text that fits is left alone', 'body', 6, 'body|s'],
    ['the body loses its start', 'a long body', 9, 'y\n[cut]|s'],
    ['a body that ends with the marker is not marked again', 'a long [cut]', 9, 'g [cut]|s'],
    ['marker and ending fit, nothing more', 'a long body', 8, '\n[cut]|s'],
    ['even they do not fit', 'a long body', 7, '[cut]|s'],
    ['hardly anything fits', 'a long body', 1, 's'],
  ])('%s', (_what, body, limit, fitted) => {
    const text = fitTail(body, '|s', '[cut]', limit)
    expect(text).toBe(fitted)
    expect(byteLength(text)).toBeLessThanOrEqual(limit)
  })
})

describe('the rendering of job_output', () => {
  it.each([
    [70, `${LONG}\n[status: running]`],
    [50, 'eta eta theta\n[output truncated]\n[status: running]'],
    [37, '\n[output truncated]\n[status: running]'],
    [36, '[output truncated]\n[status: running]'],
    [20, 'd]\n[status: running]'],
    [17, '[status: running]'],
    [3, 'ng]'],
  ])('in %i bytes', (limit, rendered) => {
    expect(renderOutput({ text: LONG, job: RUNNING }, limit)).toBe(rendered)
  })

  it("does not repeat the producer's own marker", () => {
    expect(renderOutput({ text: `${LONG}\n[output truncated]\n`, job: RUNNING }, 48)).toBe(
      'zeta eta theta\n[output truncated]\n[status: running]'.slice(-48),
    )
  })
})

describe('a job with outputLimitBytes', () => {
  const LIMIT = 60
  const POLICY = 'a policy has a lot to say about this call, and says it at some length'
  const CUT_POLICY = 'at some length\n[result truncated]'
  const said = (text: string): ContentBlock[] => [{ type: 'text', text }]

  type Install = (world: World) => void

  async function call(tool: 'job_output' | 'job_kill', install: Install = () => undefined, before?: Install) {
    const world = await newWorld({ ...(before && { before }) })
    const agent = await world.agent()
    const job = world.job({ owner: agent, outputLimitBytes: LIMIT })
    job.print(LONG.repeat(3))
    install(world)
    return world.call(tool, { job_id: job.id }, agent)
  }

  it('bounds what is read', async () => {
    const result = await call('job_output')
    expect(textOf(result)).toMatch(/theta\n\[output truncated\]\n\[status: running\]$/)
    expect(byteLength(textOf(result))).toBe(LIMIT)
    expect(result.value).toMatchObject({ text: LONG.repeat(3) })
  })

  it.each(['job_output', 'job_kill'] as const)('bounds a denial of %s', async tool => {
    const result = await call(tool, ({ ctx }) => {
      ctx.on('tools/pre-execute', () => Promise.resolve({ kind: 'deny', reason: POLICY }))
    })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(CUT_POLICY)
    expect(byteLength(textOf(result))).toBe(LIMIT)
  })

  it.each(['job_output', 'job_kill'] as const)('bounds a failure of the pipeline around %s', async tool => {
    const result = await call(tool, ({ ctx }) => {
      ctx.on('tools/execute', () => Promise.reject(new Error(POLICY)))
    })
    expect(textOf(result)).toMatch(CUT_POLICY)
  })

  it('bounds a replacement, even one that looks like the rendering', async () => {
    const result = await call('job_output', ({ ctx }) => {
      ctx.on('tools/post-execute', () =>
        Promise.resolve({ kind: 'accept', content: said(`${POLICY}\n[status: running]`) }),
      )
    })
    expect(textOf(result)).toMatch(/\[status: running\]\n\[result truncated\]$/)
  })

  it('bounds what a policy says when it blocks', async () => {
    const result = await call('job_output', ({ ctx }) => {
      ctx.on('tools/post-execute', () => Promise.resolve({ kind: 'block', feedback: said(POLICY) }))
    })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(CUT_POLICY)
  })

  it('bounds an error of the tool itself', async () => {
    const world = await newWorld()
    const agent = await world.agent()
    const { id } = world.job({ owner: agent, outputLimitBytes: 30 })
    const result = await world.call('job_output', { job_id: id, wait: true, timeout_ms: -1 }, agent)
    expect(textOf(result)).toBe('onds, got -1\n[result truncated]'.slice(-30))
  })

  it('bounds a call that was aborted before any policy ran', async () => {
    const world = await newWorld()
    const agent = await world.agent()
    const { id } = world.job({ owner: agent, outputLimitBytes: 10 })
    const result = await world.call('job_output', { job_id: id }, agent, AbortSignal.abort())
    expect(textOf(result)).toBe('truncated]')
  })

  it('bounds the result although its job is gone by then', async () => {
    const result = await call('job_kill', ({ ctx }) => {
      const jobs = ctx.jobs
      ctx.on('tools/post-execute', () => {
        jobs.list = () => []
        return Promise.resolve({ kind: 'block', feedback: said(POLICY) })
      })
    })
    expect(textOf(result)).toMatch(CUT_POLICY)
  })

  it('notes the limit before any policy runs, an earlier one too', async () => {
    const result = await call('job_output', undefined, ({ ctx }) => {
      const jobs = ctx.jobs
      ctx.on('tools/pre-execute', () => {
        jobs.list = () => []
        return Promise.resolve({ kind: 'deny', reason: POLICY })
      })
    })
    expect(textOf(result)).toMatch(CUT_POLICY)
  })

  it.each([
    ['several blocks', [...said(POLICY), ...said(POLICY)]],
    ['no block', []],
    ['another block type', [{ type: 'reasoning', text: POLICY }] satisfies ContentBlock[]],
  ] as const)('leaves %s alone', async (_what, content) => {
    const result = await call('job_output', ({ ctx }) => {
      ctx.on('tools/post-execute', () => Promise.resolve({ kind: 'accept', content: [...content] }))
    })
    expect(result.content).toEqual(content)
  })

  it('leaves every other tool alone, and does not even look at its calls', async () => {
    const world = await newWorld()
    const agent = await world.agent()
    world.job({ owner: agent, outputLimitBytes: 5 })
    const execute = () => Promise.resolve(said('a result of another tool'))
    world.ctx.tools.register(defineContentToolFixture({ name: 'other', description: 'x', parameters: {}, execute }))
    const list = vi.spyOn(world.ctx.jobs, 'list')
    expect(textOf(await world.call('other', { job_id: 'bash-1' }, agent))).toBe('a result of another tool')
    expect(list).not.toHaveBeenCalled()
  })

  it("does not bound a stranger's failed call", async () => {
    const world = await newWorld()
    const { id } = world.job({ owner: await world.agent(), outputLimitBytes: 5 })
    const result = await world.call('job_output', { job_id: id }, await world.agent('s2'))
    expect(textOf(result)).toBe('Error: job bash-1 belongs to another session')
  })
})

describe('a call whose tools are unloaded before it ends', () => {
  it.each([
    ['with a limit', { outputLimitBytes: 5 }, 'ning]'],
    ['without one', {}, '10%\n[status: running]'],
  ])('keeps what it read, %s', async (_what, spec, text) => {
    const world = await newWorld()
    const agent = await world.agent()
    const job = world.job({ owner: agent, ...spec })
    job.print('10%\n')
    world.ctx.on('tools/execute', async (_exec, next) => {
      const result = await next()
      await world.unloadTools()
      return result
    })
    expect(textOf(await world.call('job_output', { job_id: job.id }, agent))).toBe(text)
  })

  it('keeps its failure', async () => {
    const world = await newWorld()
    world.ctx.on('tools/execute', async (_exec, next) => {
      const result = await next()
      await world.unloadTools()
      return result
    })
    expect(textOf(await world.call('job_output', { job_id: 'bash-9' }))).toBe('Error: unknown job bash-9')
  })
})
