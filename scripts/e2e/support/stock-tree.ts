/**
 * A stock installation of the harness, as somebody already has it: the published CLI in a folder of its own, without any
 * package of this repository. It is installed once, and kept below `node_modules/.cache`.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../../..')

const manifest = JSON.stringify({ private: true, dependencies: { '@deepseek-ai/dsh': '0.1.0-rc.8' } })

/** The Cordis versions with which the CLI boots, as this repository has them. */
const overrides = readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8').match(/^ {2}'[^']+': \d.*$/gm) ?? []
const workspace = ['nodeLinker: hoisted', 'overrides:', ...overrides, ''].join('\n')

const key = createHash('sha256').update(manifest).update(workspace).digest('hex').slice(0, 16)
const tree = join(root, 'node_modules/.cache', `stock-dsh-${key}`)

/** The CLI of the stock installation. */
export const stockDsh = join(tree, 'node_modules/@deepseek-ai/dsh/lib/bin.js')

/** Install the stock tree, if that has not been done. */
export function installStockTree(): void {
  if (existsSync(tree)) return
  const unfinished = `${tree}.${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  try {
    writeFileSync(join(unfinished, 'package.json'), manifest)
    writeFileSync(join(unfinished, 'pnpm-workspace.yaml'), workspace)
    // pnpm prefers the versions it finds here, so that both sides have the same third-party packages.
    copyFileSync(join(root, 'pnpm-lock.yaml'), join(unfinished, 'pnpm-lock.yaml'))
    pnpm(unfinished, 'install', '--no-frozen-lockfile', '--prefer-offline', '--ignore-scripts', '--loglevel=error')
    renameSync(unfinished, tree)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}

/** Runs pnpm in a folder. */
function pnpm(cwd: string, ...args: string[]): void {
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { packageManager: string }
  execFileSync('npx', ['--yes', packageManager, ...args], { cwd, env: { ...process.env, CI: 'true' }, stdio: 'pipe' })
}
