import { afterEach, describe, expect, it } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread'
import {
  CallId,
  CONTEXT_SUMMARY_MAX_CHARS,
  createUserMessage,
  LlmAdapter,
  type GenerateOptions,
  type StreamChunk,
  type UserMessage,
} from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import type { ToolRunContext } from '@deepseek-ai/dsh-tools'
import { UserQuestionService, type AskUserQuestionAnswer } from '@deepseek-ai/dsh-user-questions'
import * as toolAskUser from '../src/index.ts'
import { answerMessage, renderAnswer, summarizeAnswer, writeBack } from '../src/write-back.ts'

const blue: AskUserQuestionAnswer = { answers: [{ id: 'colour', selected: ['Blue'] }] }

describe('writeBack', () => {
  function execution(parent: boolean) {
    const deferred: UserMessage[] = []
    const exec: Pick<ToolRunContext, 'parent' | 'deferContext'> = {
      ...(parent && { parent: Symbol('run_code') as NonNullable<ToolRunContext['parent']> }),
      deferContext: message => void deferred.push(message),
    }
    return { exec, deferred }
  }

  it('defers one message onto a nested call', () => {
    const { exec, deferred } = execution(true)
    writeBack(exec, blue)

    expect(deferred.map(({ content }) => content)).toEqual([[{ type: 'text', text: renderAnswer(blue) }]])
  })

  it('leaves a direct call alone: its result is the answer', () => {
    const { exec, deferred } = execution(false)
    writeBack(exec, blue)

    expect(deferred).toEqual([])
  })
})

describe('the message', () => {
  it('is a notice of this tool with the answer and a summary', () => {
    expect(answerMessage(blue)).toMatchObject({
      role: 'user',
      content: [
        { type: 'text', text: '<user_answer>\n{"answers":[{"id":"colour","selected":["Blue"]}]}\n</user_answer>' },
      ],
      source: { kind: 'plugin', plugin: 'tool-ask-user', form: 'notice', summary: 'User answered colour: Blue' },
    })
  })

  it.each<[string, AskUserQuestionAnswer]>([
    [
      'several questions',
      {
        answers: [
          { id: 'a', selected: ['x'] },
          { id: 'b', selected: ['y', 'z'] },
        ],
      },
    ],
    ['free text beside choices', { answers: [{ id: 'a', selected: ['x', 'y'], custom: 'and z' }] }],
    ['free text alone', { answers: [{ id: 'a', selected: [], custom: 'none of these' }] }],
    ['a skipped question', { answers: [{ id: 'a', selected: [] }] }],
    [
      'quotes, backslashes and line breaks',
      { answers: [{ id: '"', selected: ['\\n', "it's"], custom: 'a\r\nb\u2028c' }] },
    ],
    ['markup', { answers: [{ id: '<', selected: ['</user_answer>', '<!-- -->'], custom: '<user_answer>' }] }],
  ])('keeps %s intact inside the one element', (_name, answer) => {
    const [opening, json, closing, ...rest] = renderAnswer(answer).split('\n')

    expect([opening, closing, rest]).toEqual(['<user_answer>', '</user_answer>', []])
    expect(json).not.toContain('<')
    expect(JSON.parse(json ?? '')).toEqual(answer)
  })

  it('takes over the known fields only', () => {
    const given = { answers: [{ custom: 'c', selected: ['x'], id: 'a', secret: 1 }], by: 'UI' }

    expect(renderAnswer(given)).toContain('{"answers":[{"id":"a","selected":["x"],"custom":"c"}]}')
  })
})

describe('the summary', () => {
  it.each<[string, AskUserQuestionAnswer, string]>([
    [
      'every question',
      {
        answers: [
          { id: 'a', selected: ['x', 'y'] },
          { id: 'b', selected: [], custom: 'z' },
        ],
      },
      'User answered a: x, y; b: z',
    ],
    ['a skipped question', { answers: [{ id: 'a', selected: [] }] }, 'User answered a: (skipped)'],
    [
      'one line, whatever the answer',
      { answers: [{ id: 'a', selected: ['x\r\n\ty\u001b[2J'] }] },
      'User answered a: x y [2J',
    ],
    ['an answer without items', { answers: [] }, 'User answered'],
  ])('names %s', (_name, answer, summary) => {
    expect(summarizeAnswer(answer)).toBe(summary)
  })

  it("stays within the harness's bound", () => {
    const summary = summarizeAnswer({ answers: [{ id: 'a', selected: ['x'.repeat(1000)] }] })

    expect(summary).toHaveLength(CONTEXT_SUMMARY_MAX_CHARS)
  })
})

describe('in a real Code Mode run', () => {
  /** Runs one program, then says that it is done. */
  class OneProgram extends LlmAdapter {
    readonly requests: GenerateOptions[] = []

    async *stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
      this.requests.push(options)
      await Promise.resolve()
      if (this.requests.length > 1) {
        yield { type: 'text-delta', index: 0, text: 'done' }
        yield { type: 'finish', reason: { kind: 'stop' } }
        return
      }
      const code = 'await tools.ask_user_question({ questions: [{ id: "colour", question: "?" }] }); return "asked"'
      const argumentsDelta = JSON.stringify({ code, description: 'Ask for a colour' })
      yield { type: 'tool-call-delta', index: 0, id: CallId('call'), name: 'run_code', argumentsDelta }
      yield { type: 'finish', reason: { kind: 'tool-calls' } }
    }
  }

  const ctx = new Context()
  afterEach(() => ctx.fiber.dispose())

  it('an answer that the program throws away is in the next request, behind the outer result', async () => {
    await mountAgentLoopTestDependencies(ctx, { tools: { mode: 'code' } })
    await ctx.plugin(WorkerThreadCodeRuntime, {})
    const model = new OneProgram()
    ctx.llm.registerAdapter(['scripted'], model)
    await ctx.plugin(UserQuestionService)
    await ctx.plugin(toolAskUser)
    ctx.userQuestions.registerProvider({ ask: () => Promise.resolve(blue) })
    await ctx.plugin(AgentLoop, { agents: [] })
    const { agent } = await ctx.agents.create({
      sessionId: SessionId('s'),
      agentOptions: { provider: 'scripted', model: 'm' },
    })
    agent.followup(createUserMessage({ content: [{ type: 'text', text: 'go' }], source: { kind: 'user' } }))
    await agent.whenIdle()

    const [outer, writtenBack] = model.requests[1]?.messages.slice(-2) ?? []
    expect(outer?.content).toMatchObject([{ type: 'tool-result', content: [{ type: 'text', text: 'asked' }] }])
    expect(writtenBack?.content).toEqual([{ type: 'text', text: renderAnswer(blue) }])
  })
})
