/**
 * The invariant companion of the job tools.
 * @module @deepseek-ai/dsh-tool-jobs/invariant
 */
import type { Context } from '@deepseek-ai/cordis'
import type { InvariantInstaller } from '@deepseek-ai/dsh-invariants'

const PACKAGE_NAME = '@deepseek-ai/dsh-tool-jobs'

/** Name of the companion plugin. */
export const name = 'tool-jobs-invariant'

/** Services that must be there before the package can be registered. */
export const inject = ['invariants']

/** Checks nothing: the registry owns every job, and what this package keeps goes with an agent or with one call. */
const install: InvariantInstaller = () => undefined

/**
 * Register the companion.
 * @param ctx - context with the invariant registry.
 * @returns the registration's disposer, once the installation has succeeded.
 */
export const apply = (ctx: Context): Promise<() => void> =>
  Promise.resolve(ctx.invariants.register(PACKAGE_NAME, install))
