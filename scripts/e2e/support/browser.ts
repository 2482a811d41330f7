/**
 * A page in a real browser, for a test: Chromium or Chrome as it is installed on this machine (nothing is downloaded),
 * headless, with a home and a user-data folder of its own that are gone afterwards. `.ci/run` installs one where it can.
 * @module
 */
import { constants, accessSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { chromium, type Page } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const MAC = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const executablePath = findBrowser()

/** For `describe.skipIf`: there is no browser on this machine, which importing this module says in one line. */
export const noBrowser = executablePath === undefined
if (noBrowser) console.warn(`no browser, so its tests are skipped: install one of ${NAMES.join(', ')}`)

/** A page, and what ends its browser; `await using` does. */
export interface BrowserPage extends AsyncDisposable {
  readonly page: Page
  /** What the page reported: uncaught errors, and console messages of the level `error`. */
  readonly errors: readonly string[]
}

/**
 * Start a browser.
 * @returns its one page, blank.
 */
export async function openPage(): Promise<BrowserPage> {
  if (executablePath === undefined) throw new Error('there is no browser: guard the test with `noBrowser`')
  const home = await mkdtemp(join(tmpdir(), 'dsh-browser-'))
  const removeHome = () => rm(home, { recursive: true, force: true, maxRetries: 5 })
  try {
    const env = { PATH: process.env.PATH ?? '', HOME: home, TMPDIR: home }
    const browser = await chromium.launchPersistentContext(join(home, 'user-data'), {
      executablePath,
      args: FLAGS,
      env,
    })
    const page = browser.pages()[0] ?? (await browser.newPage())
    // The limit is for what hangs, on a busy machine too.
    page.setDefaultTimeout(90_000)
    const errors: string[] = []
    page.on('pageerror', error => errors.push(String(error)))
    page.on('console', message => {
      if (message.type() === 'error') errors.push(message.text())
    })
    const close = async () => {
      await browser.close()
      await removeHome()
    }
    return { page, errors, [Symbol.asyncDispose]: close }
  } catch (error) {
    await removeHome()
    throw error
  }
}

/** @returns the first browser on the PATH, or where macOS keeps it. */
function findBrowser(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return [...NAMES.flatMap(name => folders.map(folder => join(folder, name))), MAC].find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
