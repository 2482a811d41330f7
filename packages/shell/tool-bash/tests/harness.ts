/** A real harness for the suites of this package: the model is scripted, and where a suite says so the executor. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, vi } from 'vitest'
import { Context, type Plugin } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import { LocalBashExecutor, type Config as BashConfig } from '@deepseek-ai/dsh-bash-local'
import { LocalJobRegistry } from '@deepseek-ai/dsh-jobs-local'
import { CallId, createUserMessage, LlmAdapter, type GenerateOptions, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import * as shellEnv from '@deepseek-ai/dsh-shell-env'
import { LocalSubprocessRuntime } from '@deepseek-ai/dsh-subprocess-local'
import * as toolJobs from '@deepseek-ai/dsh-tool-jobs'
import type { ToolDefinition, ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import * as toolBash from '../src/index.ts'

/** What the scripted model answers: a text, or one tool call. */
export type Reply = string | { readonly tool: string; readonly args: object }

/** A model that answers its nth request with the nth reply, then with `ok`. A reply may be awaited, to hold the turn. */
export class ScriptedModel extends LlmAdapter {
  readonly requests: GenerateOptions[] = []
  readonly replies: (Reply | Promise<Reply>)[] = []

  async *stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const reply = await (this.replies[this.requests.push(options) - 1] ?? 'ok')
    if (typeof reply === 'string') {
      yield { type: 'text-delta', index: 0, text: reply }
      yield { type: 'finish', reason: { kind: 'stop' } }
      return
    }
    const id = CallId(`call-${this.requests.length}`)
    yield { type: 'tool-call-delta', index: 0, id, name: reply.tool, argumentsDelta: JSON.stringify(reply.args) }
    yield { type: 'finish', reason: { kind: 'tool-calls' } }
  }
}

export interface WorldOptions {
  /** The tool under test. */
  readonly tool?: Plugin
  /** Its configuration. */
  readonly config?: object
  /** Mounts the executor, and what it stands on. */
  readonly shell?: (ctx: Context) => Promise<unknown>
  /** Whether there are background jobs (they are by default). */
  readonly jobs?: boolean
}

/**
 * The real executor.
 * @param config - its configuration.
 * @returns what mounts it.
 */
export function localBash(config: BashConfig = {}) {
  return async (ctx: Context) => {
    await ctx.plugin(LocalSubprocessRuntime)
    await ctx.plugin(LocalBashExecutor, config)
  }
}

/** One harness. */
export class World {
  readonly ctx = new Context()
  readonly model = new ScriptedModel()
  /** The managed home, which commands get as `$DSH_HOME`. */
  readonly home = tempFolder()
  /** Unloads the tool. */
  unloadTool = (): Promise<void> => Promise.resolve()

  static async create({
    tool = toolBash,
    config = {},
    shell = localBash(),
    jobs = true,
  }: WorldOptions): Promise<World> {
    const world = new World()
    const { ctx } = world
    await mountAgentLoopTestDependencies(ctx)
    ctx.llm.registerAdapter(['scripted'], world.model)
    await ctx.plugin(AgentLoop, { agents: [] })
    await ctx.plugin(shellEnv, { dshHome: world.home })
    await shell(ctx)
    if (jobs) {
      await ctx.plugin(LocalJobRegistry, {})
      await ctx.plugin(toolJobs, {})
    }
    const fiber = await ctx.plugin(tool, config)
    world.unloadTool = () => fiber.dispose()
    return world
  }

  /** The tool as it is registered. */
  get tool(): ToolDefinition {
    const tool = this.ctx.tools.get('bash')
    if (tool === undefined) throw new Error('the tool is not registered')
    return tool
  }

  /** The parameters that it advertises, in their order. */
  get parameters(): string[] {
    return Object.keys(this.tool.parameters.properties as object)
  }

  async agent(id = 's1', cwd?: string): Promise<Agent> {
    const { agent } = await this.ctx.agents.create({
      sessionId: SessionId(id),
      agentOptions: { provider: 'scripted', model: 'm' },
      ...(cwd !== undefined && { meta: { cwd } }),
    })
    return agent
  }

  /** Call a tool the way the agent loop and Code Mode do. */
  callTool(
    name: string,
    args: unknown,
    agent?: Agent,
    signal = new AbortController().signal,
  ): Promise<ToolExecutionResult> {
    return this.ctx.tools.execute({ callId: CallId('c1'), name, arguments: args, signal, ...(agent && { agent }) })
  }

  /** Call the tool; `description` need not be given. */
  call(args: object, agent?: Agent, signal?: AbortSignal): Promise<ToolExecutionResult> {
    return this.callTool('bash', { description: 'Run it', ...args }, agent, signal)
  }

  /** Do something while the agent is in a turn of its user: its model answers only when that is over. */
  async inTurn<T>(agent: Agent, action: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<Reply>()
    const turn = this.model.requests.length
    this.model.replies[turn] = promise
    agent.followup(userMessage('go'))
    await vi.waitFor(() => {
      expect(this.model.requests.length).toBe(turn + 1)
    })
    try {
      return await action()
    } finally {
      resolve('done')
      await agent.whenIdle()
    }
  }
}

const contexts: Context[] = []
const folders: string[] = []

afterEach(async () => {
  await Promise.all(contexts.splice(0).map(ctx => ctx.fiber.dispose()))
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** Mount a harness that is gone after the test. */
export async function newWorld(options: WorldOptions = {}): Promise<World> {
  const world = await World.create(options)
  contexts.push(world.ctx)
  return world
}

/** A new folder that is gone after the test, by its real path. */
export function tempFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'dsh-tool-bash-')))
  folders.push(folder)
  return folder
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
