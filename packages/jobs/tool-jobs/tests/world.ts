/** A real harness for the suites of this package: only the model is scripted, and each job's output and end are given. */
import { expect, vi } from 'vitest'
import { Context, type Plugin } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import type { JobHooks, JobId, JobOutcome, JobStart } from '@deepseek-ai/dsh-jobs'
import {
  CallId,
  createUserMessage,
  LlmAdapter,
  type ContentBlock,
  type GenerateOptions,
  type StreamChunk,
} from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import type { Config as ToolRuntimeConfig, ToolExecutionResult } from '@deepseek-ai/dsh-tools'

/** One tool call of the scripted model. */
export interface Call {
  readonly tool: string
  readonly args: object
}

/** What the scripted model answers: a text, or the tool calls of one step. */
export type Reply = string | Call | readonly Call[]

/** A model that answers its nth request with the nth reply, then with `ok`. A reply may be awaited, to hold the turn. */
export class ScriptedModel extends LlmAdapter {
  readonly requests: GenerateOptions[] = []
  readonly replies: (Reply | PromiseLike<Reply> | (() => Reply))[]

  constructor(...replies: ScriptedModel['replies']) {
    super()
    this.replies = replies
  }

  async *stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const next = this.replies[this.requests.push(options) - 1] ?? 'ok'
    const reply = await (typeof next === 'function' ? next() : next)
    if (typeof reply === 'string') {
      yield { type: 'text-delta', index: 0, text: reply }
      yield { type: 'finish', reason: { kind: 'stop' } }
      return
    }
    for (const [index, { tool, args }] of [reply].flat().entries()) {
      const id = CallId(`call-${this.requests.length}-${index}`)
      yield { type: 'tool-call-delta', index, id, name: tool, argumentsDelta: JSON.stringify(args) }
    }
    yield { type: 'finish', reason: { kind: 'tool-calls' } }
  }
}

/** Which registry and which job tools run. */
export interface Packages {
  readonly registry: Plugin
  readonly tools: Plugin
}

export interface WorldOptions extends Packages {
  /** Configuration of the job tools. */
  readonly config?: object
  readonly model?: ScriptedModel
  readonly toolRuntime?: ToolRuntimeConfig
  /** Runs before the job tools are loaded. */
  readonly before?: (world: World) => void
}

/** One harness. */
export class World {
  readonly ctx = new Context()
  readonly model: ScriptedModel
  /** Unloads the job tools. */
  unloadTools = (): Promise<void> => Promise.resolve()
  private readonly jobs: TestJob[] = []

  private constructor(model: ScriptedModel) {
    this.model = model
  }

  static async create({ registry, tools, config, model, toolRuntime, before }: WorldOptions): Promise<World> {
    const world = new World(model ?? new ScriptedModel())
    await mountAgentLoopTestDependencies(world.ctx, { ...(toolRuntime && { tools: toolRuntime }) })
    world.ctx.llm.registerAdapter(['scripted'], world.model)
    await world.ctx.plugin(AgentLoop, { agents: [] })
    await world.ctx.plugin(registry, {})
    before?.(world)
    const fiber = await world.ctx.plugin(tools, config)
    world.unloadTools = () => fiber.dispose()
    return world
  }

  async agent(id = 's1'): Promise<Agent> {
    const { agent } = await this.ctx.agents.create({
      sessionId: SessionId(id),
      agentOptions: { provider: 'scripted', model: 'm' },
    })
    return agent
  }

  /** Call a tool the way the agent loop and Code Mode do. */
  call(
    tool: string,
    args: unknown,
    agent?: Agent,
    signal = new AbortController().signal,
  ): Promise<ToolExecutionResult> {
    return this.ctx.tools.execute({
      callId: CallId('c1'),
      name: tool,
      arguments: args,
      signal,
      ...(agent && { agent }),
    })
  }

  job(spec: Partial<JobStart> & { final?: boolean } = {}): TestJob {
    const job = new TestJob(this.ctx, spec)
    this.jobs.push(job)
    return job
  }

  /** Resolves once somebody waits for a job. */
  async waitedFor({ id }: Pick<TestJob, 'id'>): Promise<void> {
    const { store } = this.ctx.jobs as unknown as { store: Map<JobId, { waitResolvers: Set<unknown> }> }
    await vi.waitFor(
      () => {
        expect(store.get(id)?.waitResolvers.size).toBe(1)
      },
      { interval: 1, timeout: 20_000 },
    )
  }

  /** Unload everything; a job that is still alive ends first, since its owner's disposal waits for it. */
  async dispose(): Promise<void> {
    for (const job of this.jobs) await job.end()
    await this.ctx.fiber.dispose()
  }
}

/** A job whose output and end the test gives. It tells of its output. */
export class TestJob {
  readonly id: JobId
  readonly cancel = vi.fn<JobHooks['cancel']>()
  private readonly outcome = Promise.withResolvers<JobOutcome>()
  private readonly listeners = new Set<() => void>()
  private unread = ''

  constructor(ctx: Context, { final = false, ...spec }: Partial<JobStart> & { final?: boolean }) {
    const readOutput = () => {
      const text = this.unread
      this.unread = ''
      return text
    }
    const onOutput = (listener: () => void) => {
      this.listeners.add(listener)
      if (this.unread !== '') listener()
      return () => void this.listeners.delete(listener)
    }
    this.id = ctx.jobs.start({
      kind: 'bash',
      label: 'make',
      run: () => ({ cancel: this.cancel, done: this.outcome.promise, ...(final ? {} : { readOutput, onOutput }) }),
      ...spec,
    })
  }

  print(text: string): void {
    this.unread += text
    for (const listener of [...this.listeners]) listener()
  }

  /** End the job, and let every listener hear of it. */
  async end(outcome: JobOutcome = { status: 'completed', detail: 'exit code: 0' }): Promise<void> {
    this.outcome.resolve(outcome)
    await this.outcome.promise
    await Promise.resolve()
  }
}

/** A message as the user sends it. */
export function userMessage(text: string) {
  return createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })
}

/** The one text of a result. */
export function textOf({ content }: Pick<ToolExecutionResult, 'content'>): string {
  const [block, ...others] = content
  expect(others).toEqual([])
  expect(block?.type).toBe('text')
  return block?.type === 'text' ? block.text : ''
}

/** What a model request has that the one before it had not: the tool's result, and the messages of others. */
export function newsOf({ requests }: Pick<ScriptedModel, 'requests'>, request: number) {
  const known = requests[request - 1]?.messages.length ?? 0
  const news = requests[request]?.messages.slice(known).filter(({ role }) => role === 'user') ?? []
  const blocks = news.flatMap(({ content }) => content)
  const textsOf = (content: readonly ContentBlock[]) =>
    content.flatMap(block => (block.type === 'text' ? block.text : []))
  return {
    results: blocks.flatMap(block => (block.type === 'tool-result' ? textsOf(block.content) : [])),
    messages: textsOf(blocks),
  }
}

/** The completion notices that reached an agent's inbox, and whether each opened a turn. */
export function noticesOf(agent: Agent) {
  return agent.session.events.flatMap(event =>
    event.type === 'agent/inbox/spliced'
      ? event.data.inserted
          .filter(({ source }) => source.kind === 'plugin')
          .map(message => ({ message, wakes: event.data.target === 'next-turn' }))
      : [],
  )
}
