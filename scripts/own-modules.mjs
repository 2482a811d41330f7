/**
 * Keeps the process of `scripts/dsh` to this installation while another one runs on the same `$DSH_HOME`. The launcher
 * of the harness links every package of its installation into `$DSH_HOME/profiles/node_modules`, at each start anew,
 * and reads through these links for as long as it runs: of two installations, the one that started last serves both.
 *
 * With `node --import <this file> …` these links are neither written nor read: the rows of a profile are resolved from
 * within this installation (`own-boot.mjs`). What is left for these hooks is what a plugin in a profile imports, and the
 * packages that a profile has as well as this repository:
 *
 * | import                                  | comes from                                      |
 * | --------------------------------------- | ----------------------------------------------- |
 * | a package that stands here              | here, whoever imports it                        |
 * | any other, by a plugin in a profile     | the profile's own modules, or this installation |
 * | `dsh-app-boot`, by the launcher         | `own-boot.mjs`                                  |
 */
import { existsSync, realpathSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { resolveDshHome } from '@deepseek-ai/dsh-home-paths'
import { forkedImport } from './forked.mjs'

const root = dirname(import.meta.dirname)
const installation = pathToFileURL(join(root, 'package.json')).href
const launcher = pathToFileURL(join(root, 'node_modules/@deepseek-ai/dsh/lib/')).href
const boot = new URL('own-boot.mjs', import.meta.url).href

registerHooks({
  resolve(specifier, context, nextResolve) {
    const { parentURL = '' } = context
    if (specifier === '@deepseek-ai/dsh-app-boot' && parentURL.startsWith(launcher)) return nextResolve(boot, context)
    const here = forkedImport(specifier) !== undefined || leftToInstallation(specifier, parentURL)
    return nextResolve(specifier, here ? { ...context, parentURL: installation } : context)
  },
})

/**
 * @param {string} specifier what is imported
 * @param {string} parentURL the importing module
 * @returns {boolean} whether a plugin in a profile imports a package that the profile itself does not have
 */
function leftToInstallation(specifier, parentURL) {
  const name = /^(?:@[^/]+\/)?[^./#:][^/:]*(?=\/|$)/.exec(specifier)?.[0]
  if (name === undefined || !parentURL.startsWith('file:')) return false
  const profiles = join(resolveDshHome(), 'profiles')
  if (!existsSync(profiles)) return false
  // The URL of a module has no symlinks in it.
  const top = realpathSync(profiles)
  const parent = fileURLToPath(parentURL)
  if (!parent.startsWith(`${top}/`)) return false
  for (let folder = dirname(parent); folder !== top; folder = dirname(folder))
    if (existsSync(join(folder, 'node_modules', name))) return false
  return true
}
