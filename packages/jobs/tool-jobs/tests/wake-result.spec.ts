import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import type { JobId, JobOutcome, JobRead } from '@deepseek-ai/dsh-jobs'
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
  type EndedWait,
  type WakeConfig,
  type WakeSettings,
} from '../src/wake-result.ts'

const STEER_LINE =
  '[wake: STEER_PREEMPTED; the user has sent a message; finish this step so that it can be read; the job goes on]'
const outputLine = (more: string) =>
  '[wake: JOB_OUTPUT_RESUMED; the job printed output and is still running; for more, call job_output again with'
  + ` wait: true${more}; for the end only, add wake_on_output: false]`
const OUTPUT_LINE = outputLine(', timeout_ms: 29310')

const DEFAULTS: WakeSettings = {
  wakeOnSteer: true,
  deliver: 'wrap',
  graceMs: 250,
  maxHoldMs: 1_000,
  outputIntervalMs: 10_000,
  maxOutputIntervalMs: 120_000,
}

describe('the value says why a wait ended early', () => {
  const read = { text: '10%\n', snapshot: { status: 'running' } } as JobRead
  const timedOut: EndedWait = { waitedMs: 400.7, timeoutMs: 30_000.9, maxTimeoutMs: 600_000 }
  const ended: EndedWait = { ...timedOut, wokenBy: 'output' }
  const times = { waitedMs: 400, remainingMs: 29_600 }
  const output = { code: 'JOB_OUTPUT_RESUMED', ...times, resumeTimeoutMs: 29_600 } as const
  const steer = { code: 'STEER_PREEMPTED', ...times } as const

  it.each<[string, 'output' | 'steer', Partial<WakeSettings>, JobWake | undefined]>([
    ['output under wrap', 'output', {}, output],
    ['output under cut is an ordinary read', 'output', { deliver: 'cut' }, undefined],
    ['a steer', 'steer', {}, steer],
    ['a steer under cut', 'steer', { deliver: 'cut' }, steer],
    ['a steer under off', 'steer', { deliver: 'off' }, steer],
    ['a steer suggests no time', 'steer', { resumeTimeoutMs: 5_000 }, steer],
  ])('%s', (_what, wokenBy, settings, wake) => {
    expect(wakeOf({ ...ended, wokenBy }, read, { ...DEFAULTS, ...settings })).toEqual(wake)
  })

  it('nothing after a timeout', () => {
    expect(wakeOf(timedOut, read, DEFAULTS)).toBeUndefined()
  })

  it('and nothing else: its schema is closed', () => {
    const schema = valueSchemaSpecToJsonSchema(WAKE_SCHEMA)
    expect(validateJsonSchemaValue(schema, output, 'wake')).toEqual([])
    expect(validateJsonSchemaValue(schema, { ...output, more: 1 }, 'wake')).not.toEqual([])
  })

  it.each(['output', 'steer'] as const)(
    'a job that has ended by the time of the read says nothing of %s',
    (wokenBy: 'output' | 'steer') => {
      const snapshot = { ...read.snapshot, status: 'completed', finishedAt: 1 } as const
      expect(wakeOf({ ...ended, wokenBy }, { ...read, snapshot }, DEFAULTS)).toBeUndefined()
    },
  )

  it('a job whose output another read has returned is not said to have printed', () => {
    expect(wakeOf(ended, { ...read, text: '' }, DEFAULTS)).toBeUndefined()
    expect(wakeOf({ ...ended, wokenBy: 'steer' }, { ...read, text: '' }, DEFAULTS)).toEqual(steer)
  })

  it('never has less than nothing left', () => {
    expect(wakeOf({ ...ended, waitedMs: 1_003, timeoutMs: 1_000 }, read, DEFAULTS)).toMatchObject({ remainingMs: 0 })
  })

  it.each<[string, Partial<EndedWait>, number | undefined, number | undefined]>([
    ['what is left of this one', {}, undefined, 29_600],
    ['5 s longer than until output may end it', { nextOutputWakeMs: 40_000.5 }, undefined, 45_000],
    ['what is left, though output may end it at once', { nextOutputWakeMs: 0 }, undefined, 29_600],
    ['at least 5 s, though less is left', { waitedMs: 29_990 }, undefined, 5_000],
    ['at most the longest of all waits', { nextOutputWakeMs: 40_000, maxTimeoutMs: 45_000 - 1 }, undefined, 44_999],
    ['another time than this call had', { nextOutputWakeMs: 120_000, timeoutMs: 125_000 }, undefined, 126_000],
    [
      'less than the longest of all waits, if this was one',
      { timeoutMs: 5e4, maxTimeoutMs: 5e4, nextOutputWakeMs: 9e4 },
      undefined,
      49_000,
    ],
    ['the configured time', {}, 20_000.5, 20_000],
    ['the configured time, longer than what is left', {}, 60_000, 60_000],
    ['the longest of all waits, if the configured time is longer', { maxTimeoutMs: 45_000 }, 60_000, 45_000],
    ['what is left after a call with the configured time', { timeoutMs: 20_000 }, 20_000, 19_599],
    ['nothing under a second', { maxTimeoutMs: 999 }, undefined, undefined],
    ['a second', { maxTimeoutMs: 1_000 }, undefined, 1_000],
    ['nothing under a second, if that is configured', {}, 999, undefined],
  ])('and suggests for the next wait %s', (_what, wait, resumeTimeoutMs, suggested) => {
    const settings = { ...DEFAULTS, ...(resumeTimeoutMs !== undefined && { resumeTimeoutMs }) }
    expect(wakeOf({ ...ended, ...wait }, read, settings)?.resumeTimeoutMs).toBe(suggested)
  })
})

describe('the lines after the text', () => {
  const unsuggested = { code: 'JOB_OUTPUT_RESUMED', waitedMs: 690, remainingMs: 29_310 } as const
  const output = { ...unsuggested, resumeTimeoutMs: 29_310 }
  const status = '[status: running]'

  it.each<[string, JobWake | undefined, string]>([
    ['no wake', undefined, status],
    ['a steer', { ...unsuggested, code: 'STEER_PREEMPTED' }, `${STEER_LINE}\n${status}`],
    ['output', output, `${OUTPUT_LINE}\n${status}`],
    ['output, without a suggestion', unsuggested, `${outputLine('')}\n${status}`],
  ])('%s', (_what, wake, lines) => {
    expect(resultEnding(wake, status)).toBe(lines)
  })

  it('under a limit: the wake line whole or not at all, the status line always', () => {
    const whole = `${OUTPUT_LINE}\n${status}`
    expect(resultEnding(output, status, whole.length)).toBe(whole)
    expect(resultEnding(output, status, whole.length - 1)).toBe(status)
    expect(resultEnding(output, status, 1)).toBe(status)
  })
})

describe('what the model is told beforehand', () => {
  it.each<[Partial<WakeSettings>, string]>([
    [{}, 'when the job prints output or the user sends a message'],
    [{ deliver: 'cut' }, 'when the job prints output or the user sends a message'],
    [{ deliver: 'off' }, 'when the user sends a message'],
    [{ wakeOnSteer: false }, 'when the job prints output,'],
  ])('%j', (settings, words) => {
    expect(earlyEndNote({ ...DEFAULTS, ...settings })).toContain(words)
  })

  it('nothing where no wait ends early', () => {
    expect(earlyEndNote({ ...DEFAULTS, deliver: 'off', wakeOnSteer: false })).toBe('')
  })

  it('when to ask for the end only, unless output never ends a wait', () => {
    const describeIt = (settings: Partial<WakeSettings>) =>
      wakeParameters({ ...DEFAULTS, ...settings }).wake_on_output?.description
    expect(describeIt({})).toMatch(/default true.*set false.*only completion, timeout or a message of the user/)
    expect(describeIt({ wakeOnSteer: false })).toMatch(/only completion or timeout/)
    expect(describeIt({ deliver: 'off' })).toBeUndefined()
  })
})

describe('the settings', () => {
  let ctx: Context
  let warnings: string[]

  beforeEach(() => {
    ctx = new Context()
    warnings = []
    ctx.logger.exporter({ levels: { default: 2 }, export: ({ args }) => warnings.push(args.join(' ')) })
  })

  afterEach(() => ctx.fiber.dispose())

  const settingsOver = async (registry: typeof LocalJobRegistry, config: WakeConfig) => {
    await ctx.plugin(registry, {})
    return wakeSettings(config, ctx)
  }

  it('are complete without a configuration', async () => {
    expect(await settingsOver(LocalJobRegistry, {})).toEqual(DEFAULTS)
    expect(warnings).toEqual([])
  })

  it('have no shorter longest interval than the first one', async () => {
    const outputIntervalMs = 200_000
    expect(await settingsOver(LocalJobRegistry, { outputIntervalMs })).toMatchObject({ maxOutputIntervalMs: 200_000 })
  })

  it.each<[WakeConfig, string]>([
    [{ graceMs: NaN }, 'tool-jobs: graceMs (NaN) must be a number of milliseconds'],
    [{ maxOutputIntervalMs: NaN }, 'tool-jobs: maxOutputIntervalMs (NaN) must be a number of milliseconds'],
    [{ maxOutputIntervalMs: 9_999 }, 'tool-jobs: maxOutputIntervalMs (9999) is less than outputIntervalMs (10000)'],
  ])('are not %j', async (config, message) => {
    await expect(settingsOver(LocalJobRegistry, config)).rejects.toThrow(message)
  })

  it('take a pollMs, and say once that it is no longer needed', async () => {
    expect(await settingsOver(LocalJobRegistry, { pollMs: 200 })).toMatchObject(DEFAULTS)
    expect(warnings).toEqual(['tool-jobs: pollMs is no longer needed: no job is polled'])
  })

  /** The registry without this contract's fifth parameter. */
  class WithoutWakes extends LocalJobRegistry {
    override wait(id: JobId, timeoutMs: number, caller?: Agent, signal?: AbortSignal) {
      return super.wait(id, timeoutMs, caller, signal)
    }
  }

  it('end no wait early over a registry without wakes, and say once which package is missing', async () => {
    expect(await settingsOver(WithoutWakes, {})).toMatchObject({ wakeOnSteer: false, deliver: 'off' })
    expect(warnings).toEqual([
      'tool-jobs: no wait of job_output ends at a message of the user or at output, since the waits of the loaded job registry'
        + ' take no wake options; what is missing is the @deepseek-ai/dsh-jobs-local of the same release',
    ])
  })

  it.each<[WakeConfig, number]>([
    [{ deliver: 'off' }, 1],
    [{ wakeOnSteer: false }, 1],
    [{ wakeOnSteer: false, deliver: 'off' }, 0],
  ])('miss nothing there that %j does not ask for', async (config, lines) => {
    await settingsOver(WithoutWakes, config)
    expect(warnings).toHaveLength(lines)
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

describe('job_output, on a job that tells of its output', () => {
  let ctx: Context
  let agent: Agent
  let id: JobId
  let unread: string
  let listeners: Set<() => void>
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

  const onOutput = (listener: () => void) => {
    listeners.add(listener)
    if (unread !== '') listener()
    return () => listeners.delete(listener)
  }

  const print = (text: string) => {
    unread += text
    for (const listener of listeners) listener()
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
    const hooks = { cancel: end, done: outcome.promise, readOutput, onOutput }
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
    listeners = new Set()
    waits = []
    afterWait = () => Promise.resolve()
  })

  afterEach(async () => {
    vi.useRealTimers()
    held.answer.resolve('ok')
    end()
    await ctx.fiber.dispose()
  })

  it('comes back with the first output, and says how to wait for more', async () => {
    await start()
    const call = wait()
    await vi.advanceTimersByTimeAsync(440)
    print('10%\n')
    await vi.advanceTimersByTimeAsync(250)

    expect(call.result?.isError).toBe(false)
    expect(call.result?.value).toEqual({
      text: '10%\n',
      job: expect.objectContaining({ status: 'running' }) as unknown,
      wake: { code: 'JOB_OUTPUT_RESUMED', waitedMs: 690, remainingMs: 29_310, resumeTimeoutMs: 29_310 },
    })
    expect(call.result && said(call.result)).toEqual([`10%\n${OUTPUT_LINE}\n[status: running]`])
  })

  it('says to one of two waits only that the job printed, if the other has returned the text', async () => {
    await start()
    const [first, second] = [wait(), wait()]
    print('10%\n')
    await vi.advanceTimersByTimeAsync(251)
    expect(first.result?.value).toMatchObject({ text: '10%\n', wake: { code: 'JOB_OUTPUT_RESUMED' } })
    expect(second.result && said(second.result)).toEqual(['(no new output)\n[status: running]'])
    expect(second.result?.value).not.toHaveProperty('wake')
  })

  it('says beforehand what ends a wait early, in its description and in the guidance', async () => {
    await start()
    const note = earlyEndNote(DEFAULTS)
    const { sections } = await ctx.systemPrompt.assemble()
    expect(ctx.tools.get('job_output')?.description).toContain(note)
    expect(sections.find(({ name }) => name === 'tool:jobs')?.text).toContain(note)
  })

  it('waits for the end only, if it is asked to', async () => {
    await start()
    const call = wait({ wake_on_output: false })
    print('10%\n')
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
    async (deliver: WakeSettings['deliver']) => {
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
    print('so far\n')
    agent.steer(user('how far is it?'))
    await vi.advanceTimersByTimeAsync(250)
    expect(call.result?.value).toMatchObject({ text: 'so far\n', wake: { code: 'STEER_PREEMPTED' } })
  })

  it('under cut, output ends the wait as an ordinary read', async () => {
    await start({ deliver: 'cut' })
    const call = wait()
    print('10%\n')
    await vi.advanceTimersByTimeAsync(250)
    expect(call.result?.value).toEqual({
      text: '10%\n',
      job: expect.objectContaining({ status: 'running' }) as unknown,
    })
    expect(call.result && said(call.result)).toEqual(['10%\n[status: running]'])
  })

  it('a job that ends in the window gives its result, and no wake', async () => {
    await start()
    const call = wait()
    print('done\n')
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
  const WAKE = `\n${outputLine(', timeout_ms: 29750')}`
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
    print(text)
    const call = wait()
    await vi.advanceTimersByTimeAsync(251)
    expect(call.result && said(call.result)).toEqual([rendered])
  })

  const windows = { graceMs: 250, maxHoldMs: 1_000, outputIntervalMs: 10_000, maxOutputIntervalMs: 120_000 }

  it.each<[WakeConfig, object, object | undefined]>([
    [{}, {}, { output: true, steer: true, ...windows }],
    [{}, { wake_on_output: true }, { output: true, steer: true, ...windows }],
    [{}, { wake_on_output: false }, { output: false, steer: true, ...windows }],
    [{ deliver: 'off' }, { wake_on_output: true }, { output: false, steer: true, ...windows }],
    [{ deliver: 'cut', wakeOnSteer: false }, {}, { output: true, steer: false, ...windows }],
    [{ wakeOnSteer: false }, { wake_on_output: false }, undefined],
    [{ deliver: 'off', wakeOnSteer: false }, {}, undefined],
    [
      { graceMs: 1, maxHoldMs: 2, outputIntervalMs: 3, maxOutputIntervalMs: 4 },
      {},
      { output: true, steer: true, graceMs: 1, maxHoldMs: 2, outputIntervalMs: 3, maxOutputIntervalMs: 4 },
    ],
  ])('with %j and %j asks the registry for %j', async (config, args, options) => {
    await start(config)
    wait(args)
    await vi.advanceTimersByTimeAsync(1)
    expect(waits).toEqual([[id, 30_000, agent, expect.any(AbortSignal), options]])
  })
})
