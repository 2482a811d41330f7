/**
 * The harness's own boot, as the launcher imports it in the process of `scripts/dsh` (`own-modules.mjs`). A profile is
 * read from `$DSH_HOME/profiles` as ever, but its rows are resolved through a link to it that stands in this
 * installation's `node_modules`: what the profile's own modules lack is found there, and needs no links.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readlinkSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { boot as bootOnce, loadProfile as load } from '@deepseek-ai/dsh-app-boot'

export * from '@deepseek-ai/dsh-app-boot'

const links = join(dirname(import.meta.dirname), 'node_modules/.dsh-profiles')

export function healProfilesModuleFallback() {}

/** @type {typeof load} */
export const loadProfile = (...args) => {
  const profile = load(...args)
  return { ...profile, dir: linkTo(profile.dir) }
}

/**
 * Each start writes the root of its profile anew, an empty list, and for a moment there is nothing in the file. A start
 * that reads it just then, before it has mounted anything, reads it again, after a moment.
 * @type {typeof bootOnce}
 */
export const boot = async (...args) => {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await bootOnce(...args)
    } catch (error) {
      if (attempt === 5 || !isInvalidFile(error)) throw error
      await pause(100)
    }
}

/**
 * @param {unknown} error
 * @returns {boolean} whether it was caused by a file that is no list
 */
function isInvalidFile(error) {
  if (!(error instanceof Error)) return false
  return (
    (error.name === 'ConfigFileError' && 'stage' in error && error.stage === 'validate') || isInvalidFile(error.cause)
  )
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
