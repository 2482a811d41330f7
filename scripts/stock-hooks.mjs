/**
 * Makes a Node process stock throughout: `node --import <this file> …` resolves every package that stands in this
 * repository to the published original, which is installed beside it under an npm alias (`stock-jobs` for
 * `@deepseek-ai/dsh-jobs`), for the process's own imports and for those of every harness package in it. Should one of
 * our own builds still be reached, by a path for instance, that import fails: a run is stock or it does not start.
 *
 * With `show-loaded.mjs` beside it, each package is shown as it was resolved.
 */
import { realpathSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { FORKED, forkedImport } from './forked.mjs'

const modules = join(dirname(import.meta.dirname), 'node_modules')

/**
 * @param {string} packageName a package that is installed at the root
 * @returns {string} the URL of its real folder, without hooks
 */
function folderUrl(packageName) {
  return `${pathToFileURL(realpathSync(join(modules, packageName))).href}/`
}

const forkUrls = FORKED.map(name => folderUrl(`@deepseek-ai/dsh-${name}`))

registerHooks({
  resolve(specifier, context, nextResolve) {
    const forked = forkedImport(specifier)
    if (forked === undefined) {
      const resolved = nextResolve(specifier, context)
      if (forkUrls.some(url => resolved.url.startsWith(url)))
        throw new Error(`stock-hooks: ${specifier} reaches our own build, ${resolved.url}`)
      return resolved
    }
    const resolved = nextResolve(`stock-${forked.name}${forked.entry}`, { ...context, parentURL: import.meta.url })
    if (!resolved.url.startsWith(folderUrl(`stock-${forked.name}`)))
      throw new Error(`stock-hooks: ${specifier} is not the published original, but ${resolved.url}`)
    return resolved
  },
})
