/**
 * Brings what the end-to-end tests run up to date before them: the built packages, which are what a user gets, by
 * `scripts/dsh`, as a user does; the stock installation; and a home whose headless profile has the packages in it, for
 * the tests to copy.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { installStockTree, stockDsh } from './stock-tree.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A `DSH_HOME` that `scripts/install-into-dsh` has worked on. */
    installedHome: string
  }
}

const scripts = join(import.meta.dirname, '../..')

export function setup({ provide }: TestProject): () => void {
  run('dsh', ['--version'])
  installStockTree()
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'dsh-installed-')))
  run('install-into-dsh', ['--profile', 'headless', '--dsh', stockDsh], { DSH_HOME: home })
  provide('installedHome', home)
  return () => {
    rmSync(home, { recursive: true, force: true })
  }
}

function run(script: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  execFileSync(join(scripts, script), args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
