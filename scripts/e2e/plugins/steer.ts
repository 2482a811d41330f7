/**
 * A user who writes while the model waits, for a test: once, some time after the model calls the given tool.
 */
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-agent'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type {} from '@deepseek-ai/dsh-session'

export const name = 'e2e-steer'
export const inject = ['agents', 'sessions']

interface Config {
  /** The tool in whose call the user gets impatient. */
  readonly tool: string
  readonly afterMs: number
  readonly text: string
}

export function apply(ctx: Context, config: Config): void {
  const stop = ctx.on('session/event', (session, event) => {
    if (event.type !== 'tool/call' || event.data.name !== config.tool) return
    stop()
    const timer = setTimeout(() => {
      const content = [{ type: 'text' as const, text: config.text }]
      ctx.agents.get(session.id)?.steer(createUserMessage({ content, source: { kind: 'user' } }))
    }, config.afterMs)
    ctx.effect(() => () => {
      clearTimeout(timer)
    })
  })
}
