/**
 * Says on stderr, once for each entry of a forked package, which version of it the process loads and from where:
 * `DSH_SHOW_LOADED=1 scripts/dsh …`, or `node --import <this file> …` for any other process (Node 22.19 or newer).
 */
import { readFileSync } from 'node:fs'
import { findPackageJSON, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { forkedImport } from './forked.mjs'

const seen = new Set()

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context)
    // Node 24 shows the look for a manifest too, which loads nothing.
    const isCode = !resolved.url.endsWith('/package.json')
    if (forkedImport(specifier) !== undefined && isCode && !seen.has(resolved.url)) {
      seen.add(resolved.url)
      process.stderr.write(`loaded ${specifier} ${versionOf(resolved.url)} ${fileURLToPath(resolved.url)}\n`)
    }
    return resolved
  },
})

/**
 * @param {string} url a module of some package
 * @returns {string} the package's version
 */
function versionOf(url) {
  /** @type {unknown} */
  const manifest = JSON.parse(readFileSync(findPackageJSON(url) ?? '', 'utf8'))
  return /** @type {{ version: string }} */ (manifest).version
}
