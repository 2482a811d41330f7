/** Builders for the registry's tests: the real agent loop with a model that never answers, and producers by hand. */
import { Context, type Fiber } from '@deepseek-ai/cordis'
import type { AgentHandle as OwnedAgent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import type { JobHooks, JobOutcome, JobStart } from '@deepseek-ai/dsh-jobs'
import { LlmAdapter, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import { LocalJobRegistry, type Config } from '../src/index.ts'

/** A model whose answer never comes: an agent with a turn stays in its first step until it is cancelled. */
class SilentModel extends LlmAdapter {
  async *stream({ signal }: { signal?: AbortSignal }): AsyncIterable<StreamChunk> {
    await new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => {
        reject(new Error('cancelled'))
      })
    })
    yield { type: 'finish', reason: { kind: 'stop' } }
  }
}

/**
 * Mount what agents need, without a registry.
 * @returns the context; its disposal unwinds everything.
 */
export async function mountAgents(): Promise<Context> {
  const ctx = new Context()
  await mountAgentLoopTestDependencies(ctx)
  ctx.llm.registerAdapter(['silent'], new SilentModel())
  await ctx.plugin(AgentLoop, { agents: [] })
  return ctx
}

/**
 * Mount agents and a registry that serves everyone.
 * @returns the context, and the registry's own fiber.
 */
export async function mountJobs(
  config: Config = {},
  Registry: typeof LocalJobRegistry = LocalJobRegistry,
): Promise<{ ctx: Context; registryFiber: Fiber }> {
  const ctx = await mountAgents()
  const registryFiber = await ctx.plugin(Registry, config)
  ctx.jobs.attachController('test')
  return { ctx, registryFiber }
}

/** Create a real agent, with the handle that disposes it. */
export function createAgent(ctx: Context, id: string): Promise<OwnedAgent> {
  return ctx.agents.create({ sessionId: SessionId(id), agentOptions: { provider: 'silent', model: 'm' } })
}

/** Collect what reaches `ctx.logger.warn`. */
export function collectWarnings(ctx: Context): unknown[][] {
  const warnings: unknown[][] = []
  ctx.logger.exporter({
    levels: { default: 3 },
    export: ({ type, args }) => {
      if (type === 'warn') warnings.push(args)
    },
  })
  return warnings
}

/** A producer driven by hand. */
export class Producer implements JobHooks {
  readonly cancels: (string | undefined)[] = []
  readonly done: Promise<JobOutcome>
  readonly settle: (outcome: JobOutcome) => void
  readonly fail: (error: unknown) => void
  /** What a cancel does besides being noted. */
  onCancel: () => void = () => {}

  constructor() {
    const { promise, resolve, reject } = Promise.withResolvers<JobOutcome>()
    this.done = promise
    this.settle = resolve
    this.fail = reject
  }

  cancel(reason?: string): void {
    this.cancels.push(reason)
    this.onCancel()
  }

  /** The declaration that starts this producer. */
  spec(changes: Partial<JobStart> = {}): JobStart {
    return { kind: 'bash', label: 'pnpm test', run: () => this, ...changes }
  }
}

/** A producer with running output, of which it tells. */
export class StreamProducer extends Producer {
  reads = 0
  readonly listeners = new Set<() => void>()
  private pending = ''

  print(text: string): void {
    this.pending += text
    if (text !== '') for (const listener of [...this.listeners]) listener()
  }

  readOutput(): string {
    this.reads += 1
    const text = this.pending
    this.pending = ''
    return text
  }

  onOutput(listener: () => void): () => void {
    this.listeners.add(listener)
    if (this.pending !== '') listener()
    return () => this.listeners.delete(listener)
  }
}

/** Let every promise that is ready run its course, without the clock. */
export async function settleMicrotasks(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve()
}
