/** The real harness in this process, with a scripted model. Which packages it is made of, the module hooks decide. */
import { Context } from '@deepseek-ai/cordis'
import { AgentRegistry, type Agent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import {
  CallId,
  LlmAdapter,
  LlmRuntime,
  type ContentBlock,
  type GenerateOptions,
  type StreamChunk,
} from '@deepseek-ai/dsh-llm'
import { SessionId, SessionStore, type SessionEvent } from '@deepseek-ai/dsh-session'
import { SystemPrompt } from '@deepseek-ai/dsh-system-prompt'
import { ToolRuntime, type ToolPresentationMode } from '@deepseek-ai/dsh-tools'

/** One tool call of the model. */
export interface Call {
  readonly name: string
  readonly args: unknown
}

/** What the model answers: a text, one tool call, or several in one step. */
export type Reply = string | Call | readonly Call[]

/** Decides the next answer from the request alone, as a model does. */
export type Script = (request: GenerateOptions) => Reply | Promise<Reply>

/** A model that answers from a script and keeps its requests, each with the time of its arrival. */
export class ScriptedModel extends LlmAdapter {
  readonly requests: { readonly at: number; readonly request: GenerateOptions }[] = []
  private readonly script: Script

  constructor(script: Script) {
    super()
    this.script = script
  }

  override async *stream(request: GenerateOptions): AsyncIterable<StreamChunk> {
    const index = this.requests.push({ at: performance.now(), request })
    const reply = await this.script(request)
    if (typeof reply === 'string') yield { type: 'text-delta', index: 0, text: reply }
    else {
      for (const [call, { name, args }] of [reply].flat().entries()) {
        const id = CallId(`call-${index}-${call}`)
        yield { type: 'tool-call-delta', index: call, id, name, argumentsDelta: JSON.stringify(args) }
      }
    }
    yield { type: 'finish', reason: { kind: typeof reply === 'string' ? 'stop' : 'tool-calls' } }
  }
}

/**
 * Mount what an agent needs.
 * @param script - the model.
 * @param mode - how the tools are presented to it.
 * @returns the context, the model, and functions that create an agent on it.
 */
export async function mountRuntime(script: Script, mode: ToolPresentationMode) {
  const ctx = new Context()
  await ctx.plugin(LlmRuntime)
  await ctx.plugin(SessionStore)
  await ctx.plugin(SystemPrompt, {})
  await ctx.plugin(ToolRuntime, { mode })
  await ctx.plugin(AgentRegistry)
  const model = new ScriptedModel(script)
  ctx.llm.registerAdapter(['scripted'], model)
  await ctx.plugin(AgentLoop, { agents: [] })
  const createHandle = (id: string) =>
    ctx.agents.create({
      sessionId: SessionId(id),
      meta: { cwd: process.cwd() },
      agentOptions: { provider: 'scripted', model: 'scripted' },
    })
  const createAgent = async (id = 'demo') => (await createHandle(id)).agent
  return { ctx, model, createAgent, createHandle }
}

/** The text of some content, tool results included. */
export function textOf(content: readonly ContentBlock[]): string {
  return content
    .map(block => {
      if (block.type === 'tool-result') return textOf(block.content)
      return block.type === 'text' ? block.text : ''
    })
    .join('\n')
}

/** The text of a request's last message. */
export function lastText(request: GenerateOptions): string {
  return textOf(request.messages.at(-1)?.content ?? [])
}

/** The events of one type in an agent's log. */
export function eventsOf<T extends SessionEvent['type']>(agent: Agent, type: T): SessionEvent<T>[] {
  return agent.session.events.filter((event): event is SessionEvent<T> => event.type === type)
}

/** Resolves once the condition holds, looked at with every event of the agent's log. */
export function until(ctx: Context, agent: Agent, condition: () => boolean): Promise<void> {
  const { promise, resolve }: PromiseWithResolvers<void> = Promise.withResolvers()
  const look = () => {
    if (condition()) resolve()
  }
  const stop = ctx.on('session/event', session => {
    // A listener of a session event must not touch the session: look when the event is over.
    if (session === agent.session) queueMicrotask(look)
  })
  look()
  return promise.finally(stop)
}
