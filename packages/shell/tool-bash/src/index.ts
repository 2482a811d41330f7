/**
 * The model's `bash` over the executor `ctx.shell`: commands in the foreground, and, where a job registry is composed,
 * background jobs. What a command may touch is the executor's and the policy service's to decide.
 * @module @deepseek-ai/dsh-tool-bash
 */
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-system-prompt'
import z from '@deepseek-ai/schemastery'
import { bashTool } from './tool.ts'

/** Name of the plugin. */
export const name = 'tool-bash'

/** Services that must be there before the tool can be registered. */
export const inject = ['tools', 'shell', 'systemPrompt', 'shellEnv']

/** Configures the tool. */
export interface Config {
  /** Whether the model may start background jobs (default true). */
  enableRunInBackground?: boolean
}

/** The schema of the configuration, with its defaults. */
export const Config: z<Config> = z.object({ enableRunInBackground: z.boolean().default(true) })

const GUIDANCE =
  'Look for the [exit code: N] marker in every bash result. When there is one, find out why before you go on.'

/**
 * Register the tool and its guidance, as effects of the context.
 * @param ctx - context of the plugin.
 * @param config - the configuration; what it leaves out has its default.
 * @throws if the executor confines commands and nothing says under which policy.
 */
export function apply(ctx: Context, { enableRunInBackground: background = true }: Config = {}): void {
  const confines = ctx.shell.sandboxMode !== undefined
  const policies = confines ? ctx.get('sandboxPolicy') : undefined
  if (confines && policies === undefined) {
    throw new Error('tool-bash: the mounted bash executor confines but ctx.sandboxPolicy is missing')
  }
  ctx.systemPrompt.section({ name: 'tool:bash', order: 105, text: GUIDANCE })
  ctx.tools.register(bashTool(ctx, { background, policies }))
}
