/**
 * The services that the concrete agent loop needs, mounted for a test. The caller keeps the context, the loop, the
 * model adapters, every optional plugin and the teardown.
 * @module @deepseek-ai/dsh-agent-loop-testkit
 */
import type { Context } from '@deepseek-ai/cordis'
import { AgentRegistry } from '@deepseek-ai/dsh-agent'
import { LlmRuntime } from '@deepseek-ai/dsh-llm'
import { SessionStore } from '@deepseek-ai/dsh-session'
import { SystemPrompt, type Config as SystemPromptConfig } from '@deepseek-ai/dsh-system-prompt'
import { ToolRuntime, type Config as ToolRuntimeConfig } from '@deepseek-ai/dsh-tools'

/** Configuration handed on to the mounted services. */
export interface AgentLoopTestDependenciesOptions {
  /** Configuration of the system-prompt registry. */
  readonly systemPrompt?: SystemPromptConfig
  /** Configuration of the tool registry. */
  readonly tools?: ToolRuntimeConfig
}

/**
 * Mount the services below an agent loop, in the order in which they depend on each other.
 * @param ctx - the test's context; it owns every mounted service and unwinds them on its disposal.
 * @param options - service configuration, handed on as it is.
 * @returns once every service is active; a service that fails to load rejects, and those before it stay mounted.
 */
export async function mountAgentLoopTestDependencies(
  ctx: Context,
  options: AgentLoopTestDependenciesOptions = {},
): Promise<void> {
  await ctx.plugin(LlmRuntime)
  await ctx.plugin(SessionStore)
  await ctx.plugin(SystemPrompt, options.systemPrompt)
  await ctx.plugin(ToolRuntime, options.tools)
  await ctx.plugin(AgentRegistry)
}
