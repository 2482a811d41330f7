/** The real runtime around the driver: agent loop, tools, goals, questions and Code Mode. Only the model is scripted. */
import { vi } from 'vitest'
import { Context, type Fiber, type Plugin } from '@deepseek-ai/cordis'
import type { Agent, AgentHandle } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread'
import { GoalService, type GoalView } from '@deepseek-ai/dsh-goal'
import {
  CallId,
  createUserMessage,
  LlmAdapter,
  type GenerateOptions,
  type MessageSource,
  type StreamChunk,
  type UserMessage,
} from '@deepseek-ai/dsh-llm'
import { SessionId, type Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import * as toolAskUser from '@deepseek-ai/dsh-tool-ask-user'
import * as toolGoal from '@deepseek-ai/dsh-tool-goal'
import { UserQuestionService } from '@deepseek-ai/dsh-user-questions'

/** What the scripted model answers: a text, or tool calls. */
export type Reply = string | readonly ToolCall[]

export interface ToolCall {
  readonly name: string
  readonly args: unknown
}

export type Script = (request: GenerateOptions, index: number) => Reply | Promise<Reply>

/** A model that answers from a script and keeps what it was asked. */
export class ScriptedModel extends LlmAdapter {
  readonly requests: GenerateOptions[] = []
  script: Script

  constructor(script: Script) {
    super()
    this.script = script
  }

  override async *stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const index = this.requests.push(options) - 1
    const reply = await this.script(options, index)
    if (typeof reply === 'string') {
      yield { type: 'text-delta', index: 0, text: reply }
      yield { type: 'finish', reason: { kind: 'stop' } }
      return
    }
    for (const [position, call] of reply.entries()) {
      const id = CallId(`call-${index}-${position}`)
      const argumentsDelta = JSON.stringify(call.args)
      yield { type: 'tool-call-delta', index: position, id, name: call.name, argumentsDelta }
    }
    yield { type: 'finish', reason: { kind: 'tool-calls' } }
  }
}

export interface RuntimeOptions {
  readonly driver: Plugin
  readonly script: Script
  readonly mode?: 'native' | 'code'
  readonly blockedAfterConsecutiveRounds?: number
}

export interface Runtime {
  readonly ctx: Context
  readonly model: ScriptedModel
  /** The questions that reached the human, by question id. */
  readonly asked: string[]
  /** Warnings and errors of every logger, as text. */
  readonly warnings: string[]
  readonly driver: Fiber
  /** Load the same driver once more. */
  reload: () => Promise<Fiber>
  createAgent: (id?: string) => Promise<Pick<AgentHandle, 'agent'> & { dispose: () => Promise<void> }>
}

const runtimes: Context[] = []

/** Dispose every runtime of the test. */
export async function disposeRuntimes(): Promise<void> {
  await Promise.all(runtimes.splice(0).map(ctx => ctx.fiber.dispose()))
}

/** A context that the end of the test disposes. */
export function createContext(): Context {
  const ctx = new Context()
  runtimes.push(ctx)
  return ctx
}

/** Mount the runtime with one driver. A human answers every question with `yes`. */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const ctx = createContext()
  const warnings = captureWarnings(ctx)
  const mode = options.mode ?? 'native'
  await mountAgentLoopTestDependencies(ctx, { tools: { mode } })
  if (mode === 'code') await ctx.plugin(WorkerThreadCodeRuntime)
  const model = new ScriptedModel(options.script)
  ctx.llm.registerAdapter(['scripted'], model)
  await ctx.plugin(AgentLoop, { agents: [] })
  await ctx.plugin(GoalService)
  await ctx.plugin(toolGoal, { blockedAfterConsecutiveRounds: options.blockedAfterConsecutiveRounds ?? 3 })
  await ctx.plugin(UserQuestionService)
  const asked: string[] = []
  ctx.userQuestions.registerProvider({
    ask: request => {
      asked.push(...request.questions.map(question => question.id))
      return Promise.resolve({ answers: request.questions.map(({ id }) => ({ id, selected: ['yes'] })) })
    },
  })
  await ctx.plugin(toolAskUser)
  const driver = await ctx.plugin(options.driver)
  return {
    ctx,
    model,
    asked,
    warnings,
    driver,
    reload: async () => await ctx.plugin(options.driver),
    createAgent: async (id = 'agent') => {
      const handle = await ctx.agents.create({
        sessionId: SessionId(id),
        agentOptions: { provider: 'scripted', model: 'm' },
      })
      return { agent: handle.agent, dispose: () => handle.dispose() }
    },
  }
}

function captureWarnings(ctx: Context): string[] {
  const warnings: string[] = []
  ctx.logger.exporter({
    levels: { default: 3 },
    export: ({ type, args }) => {
      if (type === 'warn' || type === 'error') warnings.push(args.map(String).join(' '))
    },
  })
  return warnings
}

export function message(text: string, source: MessageSource = { kind: 'user' }): UserMessage {
  return createUserMessage({ content: [{ type: 'text', text }], source })
}

export function notice(text = 'a job has finished'): UserMessage {
  return message(text, { kind: 'plugin', plugin: 'test', form: 'notice', summary: text })
}

export const ASK_ARGS = {
  questions: [{ id: 'q1', question: 'Which database?', options: [{ label: 'yes' }, { label: 'no' }] }],
}

export const askCall: ToolCall = { name: 'ask_user_question', args: ASK_ARGS }

/** Wait for a condition, however slow the machine is. */
export function eventually(assertion: () => void): Promise<void> {
  return vi.waitFor(assertion, { timeout: 25_000, interval: 1 })
}

/** Whether the driver has come to rest: the agent is idle and stays so for some turns of the event loop. */
export async function settled(agent: Agent): Promise<void> {
  for (let quiet = 0; quiet < 5;) {
    await agent.whenIdle()
    const { seq } = agent.session
    await new Promise(resolve => setImmediate(resolve))
    quiet = agent.status === 'idle' && agent.session.seq === seq ? quiet + 1 : 0
  }
}

/** Run the driver until its agent's goal is decided, or it has come to rest. */
export async function goalOf(runtime: Runtime, agent: Agent): Promise<GoalView | undefined> {
  await settled(agent)
  return runtime.ctx.goals.get(agent)
}

export function eventsOf<T extends SessionEvent['type']>(session: Session, type: T) {
  return session.events.filter((event): event is SessionEvent<T> => event.type === type)
}

/** The numbers of the goal rounds that entered a step. */
export function rounds(session: Session): number[] {
  return eventsOf(session, 'user/message').flatMap(({ data: { source } }) =>
    source.kind === 'goal' && source.round > 0 ? [source.round] : [],
  )
}
