/**
 * A plugin that loads packages as the rows of its profile do, prints where each comes from, and ends the process.
 */
import { readFileSync, realpathSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname } from 'node:path'

export const name = 'dsh-fixes-probe'
export const inject = ['loader']

/**
 * @param {import('@deepseek-ai/cordis').Context & { loader: import('@deepseek-ai/cordis-plugin-loader').default }} ctx
 * @param {{ names: readonly string[] }} config
 */
export async function apply(ctx, config) {
  try {
    const loaded = await Promise.all(
      config.names.map(async name => {
        await ctx.loader.import(name)
        const manifest = findPackageJSON(name, ctx.baseUrl) ?? ''
        /** @type {unknown} */
        const parsed = JSON.parse(readFileSync(manifest, 'utf8'))
        const { version } = /** @type {{ version: string }} */ (parsed)
        return { name, version, folder: dirname(realpathSync(manifest)) }
      }),
    )
    process.stdout.write(`\nloaded: ${JSON.stringify(loaded)}\n`, () => process.exit(0))
  } catch (error) {
    console.error(error)
    process.exit(1)
  }
}
