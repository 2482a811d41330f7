import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import type { JobId, JobOutcome } from '@deepseek-ai/dsh-jobs'
import { LocalJobRegistry } from '@deepseek-ai/dsh-jobs-local'
import { CallId, createUserMessage, LlmAdapter, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import { validateJsonSchemaValue, valueSchemaSpecToJsonSchema, type ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import * as toolJobs from '../src/index.ts'
import {
  earlyEndNote,
  resultEnding,
  WAKE_SCHEMA,
  wakeOf,
  wakeParameters,
  wakeSettings,
  type JobWake,
  type WakeConfig,
} from '../src/wake-result.ts'

const STEER_LINE =
  '[wake: STEER_PREEMPTED; the user has sent a message; finish this step so that it can be read; the job goes on]'
const OUTPUT_LINE =
  '[wake: JOB_OUTPUT_RESUMED; the job printed output and is still running; 29250 ms of the wait were left;'
  + ' wait again for more, or with wake_on_output: false for the end only]'

describe('the value says why a wait ended early', () => {
  const times = { waitedMs: 400, remainingMs: 29_600 }
  const output = { code: 'JOB_OUTPUT_RESUMED', ...times } as const
  const steer = { code: 'STEER_PREEMPTED', ...times } as const

  it.each<[string, 'output' | 'steer' | undefined, WakeConfig, JobWake | undefined]>([
    ['output under wrap', 'output', {}, output],
    ['output under cut is an ordinary read', 'output', { deliver: 'cut' }, undefined],
    ['a steer', 'steer', {}, steer],
    ['a steer under cut', 'steer', { deliver: 'cut' }, steer],
    ['a steer under off', 'steer', { deliver: 'off' }, steer],
    ['neither', undefined, {}, undefined],
    ['a suggested timeout', 'output', { resumeTimeoutMs: 5_000 }, { ...output, resumeTimeoutMs: 5_000 }],
    ['no more than what is left', 'output', { resumeTimeoutMs: 60_000 }, { ...output, resumeTimeoutMs: 29_600 }],
    ['a suggestion of nothing is none', 'output', { resumeTimeoutMs: 0 }, output],
    ['a steer suggests none', 'steer', { resumeTimeoutMs: 5_000 }, steer],
  ])('%s', (_what, wokenBy, config, wake) => {
    const ended = { wokenBy, waitedMs: 400.7, timeoutMs: 30_000.9 }
    expect(wakeOf(ended, 'running', wakeSettings(config))).toEqual(wake)
  })

  it('and nothing else: its schema is closed', () => {
    const schema = valueSchemaSpecToJsonSchema(WAKE_SCHEMA)
    expect(validateJsonSchemaValue(schema, output, 'wake')).toEqual([])
    expect(validateJsonSchemaValue(schema, { ...output, more: 1 }, 'wake')).not.toEqual([])
  })

  it.each(['completed', 'killed', 'failed'] as const)(
    'a job that is %s by the time of the read says nothing',
    status => {
      const ended = { wokenBy: 'steer', waitedMs: 400, timeoutMs: 30_000 } as const
      expect(wakeOf(ended, status, wakeSettings({}))).toBeUndefined()
    },
  )

  it('a stopping job is still alive', () => {
    const ended = { wokenBy: 'output', waitedMs: 400, timeoutMs: 30_000 } as const
    expect(wakeOf(ended, 'stopping', wakeSettings({}))).toEqual(output)
  })

  it('never has less than nothing left, and suggests no timeout then', () => {
    const ended = { wokenBy: 'output', waitedMs: 1_003, timeoutMs: 1_000 } as const
    expect(wakeOf(ended, 'running', wakeSettings({ resumeTimeoutMs: 5_000 }))).toEqual({
      code: 'JOB_OUTPUT_RESUMED',
      waitedMs: 1_003,
      remainingMs: 0,
    })
  })
})

describe('the lines after the text', () => {
  const output = { code: 'JOB_OUTPUT_RESUMED', waitedMs: 750, remainingMs: 29_250 } as const
  const status = '[status: running]'

  it.each<[string, JobWake | undefined, string]>([
    ['no wake', undefined, `\n${status}`],
    ['a steer', { ...output, code: 'STEER_PREEMPTED' }, `\n${STEER_LINE}\n${status}`],
    ['output', output, `\n${OUTPUT_LINE}\n${status}`],
    [
      'output, with a suggestion',
      { ...output, resumeTimeoutMs: 5_000 },
      `\n${OUTPUT_LINE.replace('wait again', 'wait again with timeout_ms 5000')}\n${status}`,
    ],
  ])('%s', (_what, wake, lines) => {
    expect(resultEnding(wake, status, Infinity)).toBe(lines)
  })

  it('under a limit: the wake line whole or not at all, the status line always', () => {
    const whole = `\n${OUTPUT_LINE}\n${status}`
    expect(resultEnding(output, status, whole.length)).toBe(whole)
    expect(resultEnding(output, status, whole.length - 1)).toBe(`\n${status}`)
    expect(resultEnding(output, status, 1)).toBe(`\n${status}`)
  })
})

describe('what the model is told beforehand', () => {
  it.each<[WakeConfig, string]>([
    [{}, 'when the job prints output or the user sends a message'],
    [{ deliver: 'cut' }, 'when the job prints output or the user sends a message'],
    [{ deliver: 'off' }, 'when the user sends a message'],
    [{ wakeOnSteer: false }, 'when the job prints output,'],
  ])('%j', (config, words) => {
    expect(earlyEndNote(wakeSettings(config))).toContain(words)
  })

  it('nothing where no wait ends early', () => {
    expect(earlyEndNote(wakeSettings({ deliver: 'off', wakeOnSteer: false }))).toBe('')
  })

  it('when to ask for the end only, unless output never ends a wait', () => {
    const describeIt = (config: WakeConfig) => wakeParameters(wakeSettings(config)).wake_on_output?.description
    expect(describeIt({})).toMatch(/default true.*set false.*only completion, timeout or a message of the user/)
    expect(describeIt({ wakeOnSteer: false })).toMatch(/only completion or timeout/)
    expect(describeIt({ deliver: 'off' })).toBeUndefined()
  })
})

/** Holds its turn open, so that its agent is busy and a steer stays pending. */
class HeldModel extends LlmAdapter {
  readonly answer = Promise.withResolvers<string>()

  async *stream(): AsyncIterable<StreamChunk> {
    yield { type: 'text-delta', index: 0, text: await this.answer.promise }
    yield { type: 'finish', reason: { kind: 'stop' } }
  }
}

const user = (text: string) => createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })

describe('job_output, on a job that gives no signal', () => {
  let ctx: Context
  let agent: Agent
  let id: JobId
  let unread: string
  let held: HeldModel
  let outcome: PromiseWithResolvers<JobOutcome>
  let waits: unknown[]
  let afterWait: () => Promise<void>

  const end = () => {
    outcome.resolve({ status: 'completed', detail: 'exit code: 0' })
  }

  const readOutput = () => {
    const text = unread
    unread = ''
    return text
  }

  /** The real registry, seen at work; `afterWait` may hold the tool between its wait and its read. */
  class SeenRegistry extends LocalJobRegistry {
    override async wait(...args: Parameters<LocalJobRegistry['wait']>) {
      waits.push(args)
      const snapshot = await super.wait(...args)
      await afterWait()
      return snapshot
    }
  }

  async function start(config: WakeConfig = {}, limit?: number): Promise<void> {
    await mountAgentLoopTestDependencies(ctx)
    ctx.llm.registerAdapter(['scripted'], held)
    await ctx.plugin(AgentLoop, { agents: [] })
    await ctx.plugin(SeenRegistry, {})
    await ctx.plugin(toolJobs, config)
    const agentOptions = { provider: 'scripted', model: 'm' }
    agent = (await ctx.agents.create({ sessionId: SessionId('s1'), agentOptions })).agent
    agent.followup(user('go'))
    const hooks = { cancel: end, done: outcome.promise, readOutput }
    const outputLimitBytes = limit === undefined ? {} : { outputLimitBytes: limit }
    id = ctx.jobs.start({ kind: 'bash', label: 'make', owner: agent, ...outputLimitBytes, run: () => hooks })
    await vi.advanceTimersByTimeAsync(1)
  }

  /** Begin a wait, and see what it has come to by and by. */
  function wait(args: object = {}) {
    const call = { result: undefined as ToolExecutionResult | undefined }
    const { signal } = new AbortController()
    const parameters = { job_id: id, wait: true, timeout_ms: 30_000, ...args }
    void ctx.tools
      .execute({ callId: CallId('c1'), name: 'job_output', arguments: parameters, agent, signal })
      .then(result => (call.result = result))
    return call
  }

  const said = ({ content }: ToolExecutionResult) =>
    content.map(block => (block.type === 'text' ? block.text : block.type))

  beforeEach(() => {
    vi.useFakeTimers()
    ctx = new Context()
    held = new HeldModel()
    outcome = Promise.withResolvers()
    unread = ''
    waits = []
    afterWait = () => Promise.resolve()
  })

  afterEach(async () => {
    vi.useRealTimers()
    held.answer.resolve('ok')
    end()
    await ctx.fiber.dispose()
  })

  it('comes back with the first output, and says what is left of the wait', async () => {
    await start()
    const call = wait()
    await vi.advanceTimersByTimeAsync(440)
    unread = '10%\n'
    await vi.advanceTimersByTimeAsync(200 + 250)

    const { value, isError } = call.result ?? {}
    expect(isError).toBe(false)
    expect(value).toMatchObject({ text: '10%\n', job: { status: 'running' }, wake: { code: 'JOB_OUTPUT_RESUMED' } })
    const { waitedMs, remainingMs } = (value as unknown as { wake: JobWake }).wake
    expect(waitedMs).toBeGreaterThanOrEqual(440)
    expect(waitedMs).toBeLessThanOrEqual(440 + 200 + 250)
    expect(waitedMs + remainingMs).toBe(30_000)
    expect(call.result && said(call.result)).toEqual([
      `10%\n${OUTPUT_LINE.replace('29250', String(remainingMs))}\n[status: running]`,
    ])
  })

  it('says beforehand what ends a wait early, in its description and in the guidance', async () => {
    await start()
    const note = earlyEndNote(wakeSettings({}))
    const { sections } = await ctx.systemPrompt.assemble()
    expect(ctx.tools.get('job_output')?.description).toContain(note)
    expect(sections.find(({ name }) => name === 'tool:jobs')?.text).toContain(note)
  })

  it('waits for the end only, if it is asked to', async () => {
    await start()
    const call = wait({ wake_on_output: false })
    unread = '10%\n'
    await vi.advanceTimersByTimeAsync(29_000)
    expect(call.result).toBeUndefined()
    end()
    await vi.advanceTimersByTimeAsync(1)
    expect(call.result?.value).toEqual({
      text: '10%\n',
      job: expect.objectContaining({ status: 'completed' }) as unknown,
    })
  })

  it.each(['wrap', 'cut', 'off'] as const)(
    'is preempted by a steer under %s, and leaves the steer pending',
    async deliver => {
      await start({ deliver })
      const call = wait()
      await vi.advanceTimersByTimeAsync(300)
      agent.steer(user('stop, do something else'))
      await vi.advanceTimersByTimeAsync(250)

      expect(call.result?.value).toMatchObject({
        text: '',
        job: { status: 'running' },
        wake: { code: 'STEER_PREEMPTED' },
      })
      expect(call.result && said(call.result)).toEqual([`(no new output)\n${STEER_LINE}\n[status: running]`])
      expect(agent.inbox.nextStep).toHaveLength(1)
    },
  )

  it('gives what was printed together with a steer', async () => {
    await start({ deliver: 'off' })
    const call = wait()
    unread = 'so far\n'
    agent.steer(user('how far is it?'))
    await vi.advanceTimersByTimeAsync(250)
    expect(call.result?.value).toMatchObject({ text: 'so far\n', wake: { code: 'STEER_PREEMPTED' } })
  })

  it('under cut, output ends the wait as an ordinary read', async () => {
    await start({ deliver: 'cut' })
    const call = wait()
    unread = '10%\n'
    await vi.advanceTimersByTimeAsync(450)
    expect(call.result?.value).toEqual({
      text: '10%\n',
      job: expect.objectContaining({ status: 'running' }) as unknown,
    })
    expect(call.result && said(call.result)).toEqual(['10%\n[status: running]'])
  })

  it('a job that ends in the window gives its result, and no wake', async () => {
    await start()
    const call = wait()
    unread = 'done\n'
    agent.steer(user('well?'))
    await vi.advanceTimersByTimeAsync(249)
    expect(call.result).toBeUndefined()
    end()
    await vi.advanceTimersByTimeAsync(1)
    expect(call.result && said(call.result)).toEqual(['done\n[status: completed, exit code: 0]'])
    expect(call.result?.value).not.toHaveProperty('wake')
  })

  it('a job that has ended by the time of the read gives its result, and no wake', async () => {
    await start()
    afterWait = async () => {
      end()
      await outcome.promise
      await Promise.resolve()
    }
    const call = wait()
    agent.steer(user('well?'))
    await vi.advanceTimersByTimeAsync(251)
    expect(call.result && said(call.result)).toEqual(['(no new output)\n[status: completed, exit code: 0]'])
  })

  const STATUS = '\n[status: running]'
  const WAKE = `\n${OUTPUT_LINE.replace('29250', '29750')}`
  const MARKER = '\n[output truncated]'
  const BOTH = WAKE.length + STATUS.length

  it.each([
    ['all of it', 'output\n', BOTH + 6, `output${WAKE}${STATUS}`],
    ["the text's tail is the last", `${'a lot of '.repeat(50)}output\n`, BOTH + 23, `tput${MARKER}${WAKE}${STATUS}`],
    ['the marker comes before it', 'a lot of output\n', BOTH + 14, `${MARKER.slice(5)}${WAKE}${STATUS}`],
    ['the wake line before that', 'a lot of output\n', BOTH, `${WAKE}${STATUS}`],
    ['but whole or not at all', 'a lot of output\n', BOTH - 1, `a lot of output${STATUS}`],
    ['and the status line first', 'a lot of output\n', 23, `cated]${STATUS}`.slice(-23)],
  ])('under a byte limit: %s', async (_what, text, limit, rendered) => {
    await start({}, limit)
    unread = text
    const call = wait()
    await vi.advanceTimersByTimeAsync(251)
    expect(call.result && said(call.result)).toEqual([rendered])
  })

  const windows = { graceMs: 250, maxHoldMs: 1_000, outputIntervalMs: 10_000 }

  it.each<[WakeConfig, object, object | undefined]>([
    [{}, {}, { output: true, steer: true, ...windows }],
    [{}, { wake_on_output: true }, { output: true, steer: true, ...windows }],
    [{}, { wake_on_output: false }, { output: false, steer: true, ...windows }],
    [{ deliver: 'off' }, { wake_on_output: true }, { output: false, steer: true, ...windows }],
    [{ deliver: 'cut', wakeOnSteer: false }, {}, { output: true, steer: false, ...windows }],
    [{ wakeOnSteer: false }, { wake_on_output: false }, undefined],
    [{ deliver: 'off', wakeOnSteer: false }, {}, undefined],
    [
      { graceMs: 1, maxHoldMs: 2, outputIntervalMs: 3 },
      {},
      { output: true, steer: true, graceMs: 1, maxHoldMs: 2, outputIntervalMs: 3 },
    ],
  ])('with %j and %j asks the registry for %j', async (config, args, options) => {
    await start(config)
    wait(args)
    await vi.advanceTimersByTimeAsync(1)
    expect(waits).toEqual([[id, 30_000, agent, expect.any(AbortSignal), options]])
  })
})
