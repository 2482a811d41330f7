/**
 * The invariant companion of the question tool.
 * @module @deepseek-ai/dsh-tool-ask-user/invariant
 */
import type { Context } from '@deepseek-ai/cordis'
import type { InvariantInstaller } from '@deepseek-ai/dsh-invariants'

const PACKAGE_NAME = '@deepseek-ai/dsh-tool-ask-user'

/** Name of the companion plugin. */
export const name = 'tool-ask-user-invariant'

/** Services that must be there before the package can be registered. */
export const inject = ['invariants']

/** Checks nothing: the tool keeps no state between calls. */
const install: InvariantInstaller = () => undefined

/**
 * Register the companion.
 * @param ctx - context with the invariant registry.
 * @returns the registration's disposer, once the installation has succeeded.
 */
export const apply = (ctx: Context): Promise<() => void> =>
  Promise.resolve(ctx.invariants.register(PACKAGE_NAME, install))
