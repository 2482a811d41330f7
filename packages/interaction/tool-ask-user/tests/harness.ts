/** The real harness for these specs: only the model and the person at the UI are scripted. */
import { vi } from 'vitest'
import { Context, type Plugin } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread'
import {
  CallId,
  createUserMessage,
  LlmAdapter,
  type ContentBlock,
  type GenerateOptions,
  type StreamChunk,
  type UserMessage,
} from '@deepseek-ai/dsh-llm'
import { SessionId, type SessionEvent, type SessionEventMap } from '@deepseek-ai/dsh-session'
import { JsonlSessionPersistence } from '@deepseek-ai/dsh-session-persistence-jsonl'
import {
  UserQuestionService,
  type AskUserQuestionAnswer,
  type AskUserQuestionRequest,
} from '@deepseek-ai/dsh-user-questions'
import * as toolAskUser from '../src/index.ts'

/** What the model does with one request. */
export type Move = () => StreamChunk[]

let calls = 0

/** The model says something and ends its turn. */
export function say(text: string): Move {
  return () => [
    { type: 'text-delta', index: 0, text },
    { type: 'finish', reason: { kind: 'stop' } },
  ]
}

/** The model calls one tool directly. */
export function callTool(name: string, args: unknown): Move {
  return () => [
    {
      type: 'tool-call-delta',
      index: 0,
      id: CallId(`call-${++calls}`),
      name,
      argumentsDelta: JSON.stringify(args),
    },
    { type: 'finish', reason: { kind: 'tool-calls' } },
  ]
}

/** The model runs a Code Mode program. */
export function runCode(code: string): Move {
  return callTool('run_code', { code, description: 'Run the program' })
}

/** Program text that asks one question. */
export function ask(id = 'q', question = 'Which one?'): string {
  return `await tools.ask_user_question({ questions: [{ id: '${id}', question: '${question}' }] })`
}

/** Plays the moves of its script in order, then only says that it is done. */
export class ScriptedModel extends LlmAdapter {
  readonly requests: GenerateOptions[] = []
  readonly script: Move[] = []

  async *stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    this.requests.push(options)
    await Promise.resolve()
    yield* (this.script.shift() ?? say('done'))()
  }
}

/** How the person answers a request. */
export type Reply = (request: AskUserQuestionRequest) => Promise<AskUserQuestionAnswer>

/** Answers each question by its id, `Blue` where nothing else was scripted. */
export class ScriptedHuman {
  readonly requests: AskUserQuestionRequest[] = []
  readonly replies: Reply[] = []

  ask(request: AskUserQuestionRequest): Promise<AskUserQuestionAnswer> {
    this.requests.push(request)
    const reply = this.replies.shift() ?? select('Blue')
    return reply(request)
  }
}

/** A reply that picks these labels for every question. */
export function select(...labels: string[]): Reply {
  return ({ questions }) => Promise.resolve({ answers: questions.map(({ id }) => ({ id, selected: labels })) })
}

/** A reply that never comes: the UI closes its dialog when the request is aborted. */
export const noReply: Reply = ({ signal }) =>
  new Promise((_resolve, reject) =>
    signal?.addEventListener('abort', () => {
      reject(new Error('closed'))
    }),
  )

export interface HarnessOptions {
  /** How the model calls tools. */
  readonly mode?: 'native' | 'code'
  /** Which generation of answerer is there. */
  readonly answerer?: 'provider' | 'listener' | 'none'
  /** The question tool. */
  readonly tool?: Plugin
  /** Folder of the session logs; without it nothing is persisted. */
  readonly sessions?: string
  /** Wall-clock limit of a Code Mode program. */
  readonly maxWallMs?: number
}

export interface Harness {
  readonly ctx: Context
  readonly model: ScriptedModel
  readonly human: ScriptedHuman
  createAgent: (id: string, parent?: Agent) => Promise<Agent>
  resumeAgent: (id: string) => Promise<Agent>
  dispose: () => Promise<void>
}

/** Route of every agent in these specs. */
export const agentOptions = { provider: 'scripted', model: 'm' }

const contexts: Context[] = []

/** Mount everything; disposed by {@link disposeHarnesses}. */
export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const { mode = 'native', answerer = 'provider', tool = toolAskUser, sessions, maxWallMs } = options
  const ctx = new Context()
  contexts.push(ctx)
  await mountAgentLoopTestDependencies(ctx, { tools: { mode } })
  if (mode === 'code') await ctx.plugin(WorkerThreadCodeRuntime, maxWallMs === undefined ? {} : { maxWallMs })
  if (sessions !== undefined) await ctx.plugin(JsonlSessionPersistence, { root: sessions })
  const model = new ScriptedModel()
  ctx.llm.registerAdapter(['scripted'], model)
  await ctx.plugin(UserQuestionService)
  await ctx.plugin(tool)
  const human = new ScriptedHuman()
  if (answerer === 'provider') ctx.userQuestions.registerProvider(human)
  if (answerer === 'listener') ctx.on('user-questions/request', request => human.ask(request))
  await ctx.plugin(AgentLoop, { agents: [] })
  return {
    ctx,
    model,
    human,
    createAgent: async (id, parent) =>
      (await (parent?.ctx ?? ctx).agents.create({ sessionId: SessionId(id), agentOptions })).agent,
    resumeAgent: async id => (await ctx.agents.resume({ resumeSessionId: SessionId(id), agentOptions })).agent,
    dispose: () => ctx.fiber.dispose(),
  }
}

/** Dispose every context a test has mounted. */
export async function disposeHarnesses(): Promise<void> {
  await Promise.all(contexts.splice(0).map(ctx => ctx.fiber.dispose()))
}

/** A message from the user. */
export function userSays(text: string): UserMessage {
  return createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })
}

/** One ordinary turn with this message, to its end. */
export async function runTurn(agent: Agent, text = 'go'): Promise<void> {
  agent.followup(userSays(text))
  await agent.whenIdle()
}

/** Wait for a condition of the running harness. */
export function until(condition: () => boolean): Promise<void> {
  return vi.waitUntil(condition, { timeout: 10_000, interval: 5 }).then(() => undefined)
}

export function eventsOf<T extends keyof SessionEventMap>(agent: Agent, type: T): SessionEventMap[T][] {
  return agent.session.events.flatMap(event => (event.type === type ? [event.data as SessionEventMap[T]] : []))
}

export function textOf(content: readonly ContentBlock[]): string {
  return content.map(block => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n')
}

/** The inner layer: what the nested calls of this agent were answered with. */
export function receipts(agent: Agent): { isError: boolean; text: string }[] {
  return eventsOf(agent, 'tool/code-dispatch').map(({ isError, content }) => ({ isError, text: textOf(content) }))
}

/** The outer layer: what the model's own calls were answered with. */
export function results(agent: Agent): { isError: boolean; text: string; code: string | undefined }[] {
  return eventsOf(agent, 'tool/result').map(({ message, error }) => ({
    isError: message.content[0].isError === true,
    text: textOf(message.content[0].content),
    code: error?.code,
  }))
}

/** The messages that the question tool wrote back into a log. */
export function writtenBack(agent: Agent): UserMessage[] {
  return eventsOf(agent, 'user/message').filter(isWriteBack)
}

export function isWriteBack({ source }: Pick<UserMessage, 'source'>): boolean {
  return source.kind === 'plugin' && source.plugin === 'tool-ask-user'
}

/** The context layer: every text of one model request. */
export function requestTexts(request: GenerateOptions | undefined): string[] {
  return (request?.messages ?? []).flatMap(({ content }) =>
    content.map(block => textOf(block.type === 'tool-result' ? block.content : [block])),
  )
}

/** One element that was written back. */
export interface Element {
  readonly name: string
  readonly call: unknown
  readonly body: unknown
}

/** The element that a written-back text is; `undefined` for any other text. */
export function parseWriteBack(text: string | undefined): Element | undefined {
  const [, name, call, body] =
    /^<(user_answer|user_question_withdrawn) call=("[^"<>&]*")>\n([^\n<]*)\n<\/\1>$/.exec(text ?? '') ?? []
  if (name === undefined || call === undefined || body === undefined) return undefined
  return { name, call: JSON.parse(call), body: JSON.parse(body) }
}

/** The bodies of the elements among these texts, in order. */
export function answersIn(texts: readonly string[]): unknown[] {
  return texts.flatMap(text => parseWriteBack(text)?.body ?? [])
}

/** Types of the events of a turn, in order, without the chunks. */
export function eventTypes(events: readonly SessionEvent[]): string[] {
  return events.map(({ type }) => type).filter(type => type !== 'assistant/chunk')
}
