import { describe, expect, it, vi } from 'vitest'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { statusLine } from '../src/index.ts'
import { textOf, type World } from './world.ts'
import { newWorld } from './worlds.ts'

const STARTED = expect.any(Number) as number

async function worldWithAgent(config?: object): Promise<{ world: World; agent: Agent }> {
  const world = await newWorld({ ...(config && { config }) })
  return { world, agent: await world.agent() }
}

const failure = (message: string) => ({
  isError: true,
  error: { message },
  content: [{ type: 'text', text: `Error: ${message}` }],
})

describe('statusLine', () => {
  it.each([
    [{ status: 'running' } as const, '[status: running]'],
    [{ status: 'completed', detail: 'exit code: 0' } as const, '[status: completed, exit code: 0]'],
    [{ status: 'failed', detail: '' } as const, '[status: failed, ]'],
  ])('%j is %s', (snapshot, line) => {
    expect(statusLine(snapshot)).toBe(line)
  })
})

describe('job_output', () => {
  it.each([
    ['', '(no new output)\n[status: running]'],
    ['10%\n', '10%\n[status: running]'],
    ['10%', '10%\n[status: running]'],
    ['10%\n\n', '10%\n\n[status: running]'],
    ['\n', '\n[status: running]'],
  ])('renders %j with the status line last', async (text, rendered) => {
    const { world, agent } = await worldWithAgent()
    const job = world.job({ owner: agent })
    job.print(text)
    expect(textOf(await world.call('job_output', { job_id: job.id }, agent))).toBe(rendered)
  })

  it('gives a program the text, and the job without its owner and bookkeeping', async () => {
    const { world, agent } = await worldWithAgent()
    const job = world.job({ owner: agent, outputLimitBytes: 500 })
    job.print('done\n')
    await job.end()
    const { value } = await world.call('job_output', { job_id: job.id }, agent)
    expect(value).toEqual({
      text: 'done\n',
      job: {
        id: 'bash-1',
        kind: 'bash',
        label: 'make',
        status: 'completed',
        detail: 'exit code: 0',
        startedAt: STARTED,
        finishedAt: STARTED,
      },
    })
  })

  it('returns at once without wait, whatever timeout_ms says', async () => {
    const { world, agent } = await worldWithAgent()
    const job = world.job({ owner: agent })
    for (const args of [{}, { wait: false }, { timeout_ms: -4 }]) {
      const result = await world.call('job_output', { job_id: job.id, ...args }, agent)
      expect(textOf(result)).toBe('(no new output)\n[status: running]')
    }
  })

  it.each([
    ['the default', {}, 30_000],
    ['what the call says', { timeout_ms: 45_000 }, 45_000],
    ['at most the cap', { timeout_ms: 900_000 }, 600_000],
  ])('waits %s', async (_what, args, waitMs) => {
    const { world, agent } = await worldWithAgent()
    vi.useFakeTimers()
    try {
      const job = world.job({ owner: agent })
      const result = vi.fn()
      const call = world.call('job_output', { job_id: job.id, wait: true, ...args }, agent).then(result)
      await vi.advanceTimersByTimeAsync(waitMs - 1)
      expect(result).not.toHaveBeenCalled()
      await vi.advanceTimersByTimeAsync(1)
      await call
      expect(result).toHaveBeenCalledWith(
        expect.objectContaining({ content: [{ type: 'text', text: '(no new output)\n[status: running]' }] }),
      )
    } finally {
      vi.useRealTimers()
    }
  })

  it('a wait returns the end of the job, with its output', async () => {
    const { world, agent } = await worldWithAgent()
    const job = world.job({ owner: agent, final: true })
    const waiting = world.call('job_output', { job_id: job.id, wait: true }, agent)
    await world.waitedFor(job)
    await job.end({ status: 'completed', output: 'the answer' })
    expect(textOf(await waiting)).toBe('the answer\n[status: completed]')
  })

  it('an aborted call is an error, and the job lives on', async () => {
    const { world, agent } = await worldWithAgent()
    const job = world.job({ owner: agent })
    const abort = new AbortController()
    const waiting = world.call('job_output', { job_id: job.id, wait: true }, agent, abort.signal)
    await world.waitedFor(job)
    abort.abort()
    expect(await waiting).toEqual(failure('wait aborted'))
    expect(world.ctx.jobs.get(job.id, agent).status).toBe('running')
  })

  it.each([
    [{ job_id: '' }, 'invalid job_id: expected a non-empty string, got ""'],
    [{ job_id: 'bash-7' }, 'unknown job bash-7'],
    [{ job_id: 'bash-1', wait: true, timeout_ms: 0 }, 'invalid wait timeout'],
  ])('%j is a clear error', async (args, message) => {
    const { world, agent } = await worldWithAgent()
    world.job({ owner: agent })
    const { error } = await world.call('job_output', args, agent)
    expect(error?.message).toContain(message)
  })

  it("does not read another session's job", async () => {
    const { world, agent } = await worldWithAgent()
    const job = world.job({ owner: agent })
    const stranger = await world.agent('s2')
    const result = await world.call('job_output', { job_id: job.id }, stranger)
    expect(result).toEqual(failure('job bash-1 belongs to another session'))
  })
})

describe('job_list', () => {
  it('says that there are none', async () => {
    const { world, agent } = await worldWithAgent()
    const result = await world.call('job_list', {}, agent)
    expect(textOf(result)).toBe('(no background jobs)')
    expect(result.value).toEqual([])
  })

  it("shows one line a job, the caller's and the unowned", async () => {
    const { world, agent } = await worldWithAgent()
    const stranger = await world.agent('s2')
    const jobs = [
      world.job({ owner: agent, label: 'make all' }),
      world.job({ owner: stranger }),
      world.job({ kind: 'subagent', label: 'look around', final: true }),
    ]
    await jobs[0]?.end()
    const result = await world.call('job_list', {}, agent)
    expect(textOf(result)).toBe('bash-1 [bash] completed — make all\nsubagent-1 [subagent] running — look around')
    expect(result.value).toEqual([
      expect.objectContaining({ id: 'bash-1', detail: 'exit code: 0' }),
      { id: 'subagent-1', kind: 'subagent', label: 'look around', status: 'running', startedAt: STARTED },
    ])
  })
})

describe('job_kill', () => {
  it('hands the reason on, and shows the job as it is after the request', async () => {
    const { world, agent } = await worldWithAgent()
    const job = world.job({ owner: agent })
    const result = await world.call('job_kill', { job_id: job.id, reason: 'not needed' }, agent)
    expect(textOf(result)).toBe('requested cancellation of job bash-1')
    expect(result.value).toMatchObject({ outcome: 'cancellation-requested', job: { status: 'stopping' } })
    expect(job.cancel).toHaveBeenCalledExactlyOnceWith('not needed')
  })

  it('says that a job had already finished, and reads none of its output', async () => {
    const { world, agent } = await worldWithAgent()
    const job = world.job({ owner: agent })
    job.print('the result\n')
    await job.end()
    const result = await world.call('job_kill', { job_id: job.id }, agent)
    expect(textOf(result)).toBe('job bash-1 had already finished [status: completed, exit code: 0]')
    expect(result.value).toMatchObject({ outcome: 'already-finished', job: { status: 'completed' } })
    expect(textOf(await world.call('job_output', { job_id: job.id }, agent))).toContain('the result')
  })

  it.each([
    ['', 'invalid job_id: expected a non-empty string, got ""'],
    ['bash-7', 'unknown job bash-7'],
  ])('id %j is a clear error', async (id, message) => {
    const { world, agent } = await worldWithAgent()
    expect(await world.call('job_kill', { job_id: id }, agent)).toEqual(failure(message))
  })
})

describe('in a UI', () => {
  it.each([
    [
      'job_output',
      { card: 'generic', title: 'Read output from background job bash-1', kind: 'read', rawInput: 'bash-1' },
    ],
    ['job_list', { card: 'generic', title: 'List background jobs', kind: 'read' }],
    ['job_kill', { card: 'generic', title: 'Kill background job bash-1', kind: 'execute', rawInput: 'bash-1' }],
  ])('%s has its card', async (tool, card) => {
    const { ctx } = await newWorld()
    expect(ctx.tools.get(tool)?.presentCall?.({ job_id: 'bash-1' })).toEqual(card)
  })
})

describe('the parameters and values', () => {
  /** The schemas without their prose. */
  function schemas(world: World) {
    const bare = (schema: unknown) =>
      JSON.parse(JSON.stringify(schema, (key, value: unknown) => (key === 'description' ? undefined : value))) as object
    return ['job_output', 'job_list', 'job_kill'].map(tool => {
      const definition = world.ctx.tools.get(tool)
      return { tool, parameters: bare(definition?.parameters), output: bare(definition?.output.schema) }
    })
  }

  it("are the published tools', and what wakes add", async () => {
    const stock = await newWorld({ tools: await import('stock-tool-jobs') })
    const ours = schemas(await newWorld())
    const [output] = ours
    const expected = schemas(stock)
    expect(expected[0]).toBeDefined()
    Object.assign((expected[0]?.parameters as { properties: object }).properties, {
      wake_on_output: { type: 'boolean' },
    })
    Object.assign((expected[0]?.output as { properties: object }).properties, {
      wake: {
        type: 'object',
        additionalProperties: false,
        properties: {
          code: { type: 'string', enum: ['STEER_PREEMPTED', 'JOB_OUTPUT_RESUMED'] },
          waitedMs: { type: 'integer' },
          remainingMs: { type: 'integer' },
          resumeTimeoutMs: { type: 'integer' },
        },
        required: ['code', 'waitedMs', 'remainingMs'],
      },
    })
    expect(output).toEqual(expected[0])
    expect(ours).toEqual(expected)
  })
})
