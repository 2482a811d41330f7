import { afterEach, describe, expect, it } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { createUserMessage, LlmAdapter, type GenerateOptions, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import { mountAgentLoopTestDependencies } from '../src/index.ts'

class EchoModel extends LlmAdapter {
  readonly requests: GenerateOptions[] = []

  async *stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    this.requests.push(options)
    await Promise.resolve()
    yield { type: 'text-delta', index: 0, text: 'done' }
    yield { type: 'finish', reason: { kind: 'stop' } }
  }
}

const contexts: Context[] = []

function newContext(): Context {
  const ctx = new Context()
  contexts.push(ctx)
  return ctx
}

afterEach(async () => {
  await Promise.all(contexts.splice(0).map(ctx => ctx.fiber.dispose()))
})

describe('mountAgentLoopTestDependencies', () => {
  it('mounts what an agent loop needs to run a turn', async () => {
    const ctx = newContext()
    await mountAgentLoopTestDependencies(ctx)
    const model = new EchoModel()
    ctx.llm.registerAdapter(['scripted'], model)
    await ctx.plugin(AgentLoop, { agents: [] })
    const { agent } = await ctx.agents.create({
      sessionId: SessionId('s1'),
      agentOptions: { provider: 'scripted', model: 'm' },
    })

    agent.followup(createUserMessage({ content: [{ type: 'text', text: 'hello' }], source: { kind: 'user' } }))
    await agent.whenIdle()

    expect(model.requests).toHaveLength(1)
    expect(agent.session.events.at(-1)).toMatchObject({ type: 'turn/end', data: { reason: { kind: 'completed' } } })
  })

  it('mounts the services in the order of their dependencies', async () => {
    const ctx = newContext()
    const mounted: string[] = []
    const record = (name: string) => {
      ctx.inject([name], () => void mounted.push(name))
    }
    for (const name of ['agents', 'tools', 'systemPrompt', 'sessions', 'llm']) record(name)
    await mountAgentLoopTestDependencies(ctx)

    expect(mounted).toEqual(['llm', 'sessions', 'systemPrompt', 'tools', 'agents'])
  })

  it('hands the tool configuration on', async () => {
    await expect(mountAgentLoopTestDependencies(newContext(), { tools: { maxParallelSubCalls: 0 } })).rejects.toThrow(
      'maxParallelSubCalls',
    )
  })

  it('hands the system-prompt configuration on', async () => {
    const ctx = newContext()
    await mountAgentLoopTestDependencies(ctx, { systemPrompt: { persona: 'You are a test.' } })

    const { sections } = await ctx.systemPrompt.assemble()
    expect(JSON.stringify(sections)).toContain('You are a test.')
  })
})
