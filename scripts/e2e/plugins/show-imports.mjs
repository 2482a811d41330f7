/** Prints what its imports are resolved to, a line each, and ends the process, for a test that puts it into a profile. */
export const name = 'e2e-show-imports'
export const inject = ['cmdlineArgs']

/**
 * @param {import('@deepseek-ai/cordis').Context} ctx
 * @param {{ names: readonly string[] }} config
 */
export function apply(ctx, { names }) {
  for (const name of names) console.log(import.meta.resolve(name))
  ctx.get('appExit')?.(7)
}
