/**
 * A plugin that loads packages as the rows of its profile do, prints where each and its peers come from, and ends the
 * process.
 */
import { readFileSync, realpathSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'

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
        const manifest = realpathSync(findPackageJSON(name, ctx.baseUrl) ?? '')
        /** @type {unknown} */
        const parsed = JSON.parse(readFileSync(manifest, 'utf8'))
        const { version, peerDependencies = {} } =
          /** @type {{ version: string, peerDependencies?: Record<string, string> }} */ (parsed)
        const peers = Object.keys(peerDependencies).map(peer => ({ name: peer, folder: folderOf(peer, manifest) }))
        return { name, version, folder: dirname(manifest), peers }
      }),
    )
    process.stdout.write(`\nloaded: ${JSON.stringify(loaded)}\n`, () => process.exit(0))
  } catch (error) {
    console.error(error)
    process.exit(1)
  }
}

/**
 * @param {string} name
 * @param {string} file
 */
function folderOf(name, file) {
  return dirname(realpathSync(findPackageJSON(name, pathToFileURL(file)) ?? ''))
}
