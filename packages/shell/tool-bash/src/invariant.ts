/**
 * The invariant companion of the bash tool.
 * @module @deepseek-ai/dsh-tool-bash/invariant
 */
import type { Context } from '@deepseek-ai/cordis'
import type { InvariantInstaller } from '@deepseek-ai/dsh-invariants'

const PACKAGE_NAME = '@deepseek-ai/dsh-tool-bash'

/** Name of the companion plugin. */
export const name = 'tool-bash-invariant'

/** Services that must be there before the package can be registered. */
export const inject = ['invariants']

/** Checks nothing: a call keeps no state here; the executor owns its processes, and the job registry its jobs. */
const install: InvariantInstaller = () => undefined

/**
 * Register the companion.
 * @param ctx - context with the invariant registry.
 * @returns the registration's disposer, once the installation has succeeded.
 */
export const apply = (ctx: Context): Promise<() => void> =>
  Promise.resolve(ctx.invariants.register(PACKAGE_NAME, install))
