/**
 * The executor's invariant companion.
 * @module @deepseek-ai/dsh-bash-local/invariant
 */
import type { Context } from '@deepseek-ai/cordis'
import type { InvariantInstaller } from '@deepseek-ai/dsh-invariants'

const PACKAGE_NAME = '@deepseek-ai/dsh-bash-local'

/** Name of the companion plugin. */
export const name = 'bash-local-invariant'

/** Services that must be there before the package can be registered. */
export const inject = ['invariants']

/** Checks nothing: the executor keeps no state of its own. A process is the subprocess service's, a job is the registry's. */
const install: InvariantInstaller = () => undefined

/**
 * Register the companion.
 * @param ctx - context with the invariant registry.
 * @returns the registration's disposer, once the installation has succeeded.
 */
export const apply = (ctx: Context): Promise<() => void> =>
  Promise.resolve(ctx.invariants.register(PACKAGE_NAME, install))
