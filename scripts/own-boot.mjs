/**
 * The harness's own boot, as the launcher imports it in the process of `scripts/dsh` (`own-modules.mjs`). A profile is
 * read from `$DSH_HOME/profiles` as ever, but its rows are resolved through a link to it that stands in this
 * installation's `node_modules`: what the profile's own modules lack is found there, and needs no links.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readlinkSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { loadProfile as load } from '@deepseek-ai/dsh-app-boot'

export * from '@deepseek-ai/dsh-app-boot'

const links = join(dirname(import.meta.dirname), 'node_modules/.dsh-profiles')

export function healProfilesModuleFallback() {}

/** @type {typeof load} */
export const loadProfile = (...args) => {
  const profile = load(...args)
  return { ...profile, dir: linkTo(profile.dir) }
}

/**
 * @param {string} folder a profile's folder
 * @returns {string} the link to it
 */
function linkTo(folder) {
  const hash = createHash('sha256').update(folder).digest('hex').slice(0, 16)
  const link = join(links, `${basename(folder)}-${hash}`)
  mkdirSync(links, { recursive: true })
  try {
    symlinkSync(folder, link)
  } catch (error) {
    if (readlinkSync(link) !== folder) throw error
  }
  return link
}
