import { afterEach, describe, expect, it, vi } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread'
import { CallId, type ContentBlock, type UserMessage } from '@deepseek-ai/dsh-llm'
import {
  defineTool,
  type PostToolDecision,
  type ToolExecutionInput,
  type ToolExecutionResult,
} from '@deepseek-ai/dsh-tools'
import { UserQuestionError, UserQuestionService, type AskUserQuestionAnswer } from '@deepseek-ai/dsh-user-questions'
import * as toolAskUser from '../src/index.ts'
import { WRITE_BACK_FIELDS, writeBackLimit, writeBackMessage } from '../src/write-back.ts'

const contexts: Context[] = []
afterEach(() => Promise.all(contexts.splice(0).map(ctx => ctx.fiber.dispose())))

const blue: AskUserQuestionAnswer = { answers: [{ id: 'colour', selected: ['Blue'] }] }
const program = 'await tools.ask_user_question({ questions: [{ id: "colour", question: "?" }] })'

/** Code Mode beside native calls, the question tool, and a person who answers so. */
async function start({
  answer = blue,
  ask = () => Promise.resolve(answer),
  config = {},
}: { answer?: AskUserQuestionAnswer; ask?: () => Promise<AskUserQuestionAnswer>; config?: toolAskUser.Config } = {}) {
  const ctx = new Context()
  contexts.push(ctx)
  await mountAgentLoopTestDependencies(ctx, { tools: { mode: 'both' } })
  await ctx.plugin(WorkerThreadCodeRuntime, {})
  await ctx.plugin(UserQuestionService)
  ctx.userQuestions.registerProvider({ ask })
  const fiber = await ctx.plugin(toolAskUser, config)
  const run = (code: string) =>
    ctx.tools.execute({
      callId: CallId('call'),
      name: 'run_code',
      arguments: { code, description: 'Ask' },
      signal: new AbortController().signal,
    })
  const onProgram = (decide: (decision: PostToolDecision) => PostToolDecision, prepend = false) =>
    ctx.on(
      'tools/post-execute',
      async (exec, _result, next) => {
        const decision = await next()
        return exec.name === 'run_code' ? decide(decision) : decision
      },
      { prepend },
    )
  return { ctx, fiber, run, onProgram }
}

/** The question, asked without a program. */
function directAsk(): ToolExecutionInput {
  return {
    callId: CallId('c'),
    name: 'ask_user_question',
    arguments: { questions: [{ id: 'colour', question: '?' }] },
    signal: new AbortController().signal,
  }
}

function textOf(content: readonly ContentBlock[]): string {
  return content.map(block => (block.type === 'text' ? block.text : '')).join('')
}

function textBlocks(text: string): ContentBlock[] {
  return [{ type: 'text', text }]
}

/** The texts that a result carries behind it. */
function written({ additionalContexts = [] }: ToolExecutionResult): string[] {
  return additionalContexts.map(({ content }: UserMessage) => textOf(content))
}

const told =
  '<user_answer call="call:code:1">\n{"answers":[{"question":"?","id":"colour","selected":["Blue"]}]}\n</user_answer>'

describe('what is attached', () => {
  it('an answer that the program throws away', async () => {
    const { run } = await start()
    const result = await run(`${program}; return "asked"`)

    expect(textOf(result.content)).toBe('asked')
    expect(written(result)).toEqual([told])
    expect(result.additionalContexts?.[0]?.source).toEqual({
      kind: 'plugin',
      plugin: 'tool-ask-user',
      form: 'notice',
      summary: 'User answered colour: Blue',
    })
  })

  it('one message an ask, in order', async () => {
    const { run } = await start()
    const result = await run(`${program}; ${program}; throw new Error("broken")`)

    expect(written(result)).toEqual([told, told.replace(':1', ':2')])
  })

  it('nothing to a call without questions, nor to a direct one', async () => {
    const { ctx, run } = await start()
    const warn = vi.spyOn(ctx.logger, 'warn').mockReturnValue(undefined)

    expect(await run('return 1')).not.toHaveProperty('additionalContexts')
    const direct = await ctx.tools.execute(directAsk())
    expect(direct.isError).toBe(false)
    expect(direct).not.toHaveProperty('additionalContexts')
    expect(warn).not.toHaveBeenCalled()
  })

  it('nothing of a call that failed', async () => {
    const { ctx, run } = await start()
    ctx.tools.guard(({ name }) => (name === 'ask_user_question' ? 'not now' : undefined))

    expect(written(await run(`try { ${program} } catch {} return "asked"`))).toEqual([])
  })

  it('no more than the configured limit', async () => {
    const answer = { answers: [{ id: 'colour', selected: [], custom: 'x'.repeat(100_000) }] }
    const { run } = await start({ answer, config: { writeBackLimitBytes: 2_000 } })
    const [text = ''] = written(await run(`${program}; return "asked"`))

    expect(Buffer.byteLength(text)).toBe(2_000)
  })

  it.each(['before', 'while'])('nothing, when the plugin goes %s a call is let through', async (when: string) => {
    const { ctx, fiber, run } = await start()
    ctx.on(
      'tools/pre-execute',
      async (_exec, next) => {
        const gone = fiber.dispose()
        if (when === 'before') await gone
        return next()
      },
      { prepend: true },
    )

    expect(await run('return "done"')).toMatchObject({ isError: false, content: textBlocks('done') })
    expect(await ctx.tools.execute(directAsk())).toMatchObject({ error: { info: { code: 'UNKNOWN_TOOL' } } })
  })
})

describe('an answer that nobody asked for', () => {
  it.each<[string, string[], string]>([
    ['one', ['other'], '"other"'],
    ['several', ['other', 'third'], '"other" and 1 more'],
    ['one with an endless id', ['x'.repeat(1_000)], JSON.stringify('x'.repeat(100))],
  ])('is left out, and logged once: %s', async (_name, ids, named) => {
    const answer = { answers: [...blue.answers, ...ids.map(id => ({ id, selected: ['Red'] }))] }
    const { ctx, run } = await start({ answer })
    const warn = vi.spyOn(ctx.logger, 'warn').mockReturnValue(undefined)

    expect(written(await run(`${program}; return "asked"`))).toEqual([told])
    expect(warn.mock.calls).toEqual([
      [`tool-ask-user: not written back: no question was asked for the answer with id ${named}`],
    ])
  })
})

describe('what a policy took out of the enclosing result', () => {
  const answer = { answers: [{ id: 'colour', selected: ['"Blue"\n'] }] }
  const policies: Record<string, (decision: PostToolDecision) => PostToolDecision> = {
    block: ({ additionalContexts = [] }) => ({ kind: 'block', feedback: textBlocks('no'), additionalContexts }),
    content: () => ({ kind: 'accept', content: textBlocks('hidden') }),
    value: () => ({ kind: 'accept', value: { logs: [], result: 'hidden' } }),
  }

  it.each(Object.entries(policies))('stays out: a %s', async (_name, policy) => {
    const { run, onProgram } = await start({ answer })
    onProgram(policy, true)

    expect(written(await run(`return ${program}`))).toEqual([])
    expect(written(await run(`return (${program}).answers[0].selected[0]`))).toEqual([])
  })

  it.each(Object.entries(policies))('was not the answer: a %s', async (_name, policy) => {
    const { run, onProgram } = await start({ answer })
    onProgram(policy, true)

    expect(written(await run(`${program}; return "asked"`))).toHaveLength(1)
  })

  it('is not what it left in', async () => {
    const { run, onProgram } = await start()
    onProgram(() => ({ kind: 'accept', value: { logs: [], result: 'They like Blue.' } }))

    expect(written(await run(`return ${program}`))).toEqual([told])
  })

  it('counts for a replacement of the answer, too, and not for a withdrawn question', async () => {
    const { ctx, run, onProgram } = await start()
    ctx.on('tools/post-execute', (exec, _result, next) =>
      exec.name === 'ask_user_question' ? Promise.resolve({ kind: 'accept', content: textBlocks('a colour') }) : next(),
    )

    expect(written(await run(`${program}; return "a colour"`))).toEqual([
      '<user_answer call="call:code:1">\n"a colour"\n</user_answer>',
    ])
    onProgram(() => ({ kind: 'accept', content: textBlocks('hidden') }))
    expect(written(await run(`${program}; return "a colour"`))).toEqual([])
  })

  it('is compared with the own result of the body, before any wrapper', async () => {
    const { ctx, run } = await start()
    ctx.on('tools/execute', async (exec, next) => {
      const result = await next()
      return exec.name === 'run_code' ? { isError: false, value: { logs: [] }, content: [] } : result
    })

    expect(written(await run(`return ${program}`))).toEqual([])
  })

  it('never is that a question was withdrawn', async () => {
    const outer = new AbortController()
    const { ctx, run } = await start({
      ask: () => {
        outer.abort('run_code settled')
        return Promise.reject(new UserQuestionError('closed', 'ASK_ABORTED'))
      },
    })
    ctx.tools.register(
      defineTool({
        name: 'compose',
        description: 'Ask as a program does.',
        parameters: {},
        output: { schema: { type: 'string' }, render: (_args, value) => [{ type: 'text', text: value }] },
        async execute(_args, exec) {
          const questions = [{ id: 'colour', question: '?' }]
          const call = { callId: CallId('inner'), name: 'ask_user_question', arguments: { questions } }
          await ctx.tools.execute({ ...call, parent: exec.token, signal: outer.signal })
          return 'colour'
        },
      }),
    )
    ctx.on('tools/post-execute', () => Promise.resolve({ kind: 'accept', content: textBlocks('hidden') }))

    expect(written(await run('await tools.compose({})'))).toEqual([
      expect.stringContaining('<user_question_withdrawn call="inner">') as string,
    ])
  })
})

describe('the setting', () => {
  it('has its default', () => {
    expect(writeBackLimit({})).toBe(16_384)
    expect(writeBackLimit({ writeBackLimitBytes: 1_024 })).toBe(1_024)
  })

  it.each([1_023, 0, -1, 1_024.5, 2 ** 53, Infinity, NaN, '2kB'])('refuses %j by its name', (value: unknown) => {
    const config = { writeBackLimitBytes: value as number }

    expect(() => writeBackLimit(config)).toThrow('writeBackLimitBytes')
    expect(() => WRITE_BACK_FIELDS.writeBackLimitBytes(config.writeBackLimitBytes)).toThrow()
  })

  it('refuses a name that there is not', () => {
    expect(() => writeBackLimit({ writeBackLimit: 1 } as never)).toThrow(
      'tool-ask-user: there is no setting "writeBackLimit"; there is only writeBackLimitBytes',
    )
  })
})

it('the message is a notice of the tool', () => {
  const message = writeBackMessage('c', { kind: 'replaced', text: 'x' }, 1_024)

  expect(message).toMatchObject({ role: 'user', source: { form: 'notice', summary: 'User answered: x' } })
  expect(textOf(message.content)).toBe('<user_answer call="c">\n"x"\n</user_answer>')
})
