/**
 * The installed `dsh`: where it is, which version it has, and how it is run here.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { Problem } from './problem.ts'

/** The CLI of an installed `dsh`, and a pnpm for it, which `dsh plugin` looks for on the PATH. */
export class Cli {
  readonly path: string
  private readonly cwd: string
  private readonly env: NodeJS.ProcessEnv

  /**
   * @param path - the CLI.
   * @param home - its `$DSH_HOME`.
   * @param packageManager - the pnpm to bring, as npx takes it.
   * @param folder - an empty folder: the CLI runs there, and reads no `.env` of the user's project.
   */
  constructor(path: string, home: string, packageManager: string, folder: string) {
    this.path = path
    this.cwd = folder
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'pnpm'), `#!/bin/sh\nexec npx --yes ${packageManager} "$@"\n`, { mode: 0o755 })
    const PATH = [bin, process.env.PATH ?? ''].join(delimiter)
    // CI: pnpm asks nothing.
    this.env = { ...process.env, PATH, DSH_HOME: home, DSH_TELEMETRY_DISABLED: '1', CI: 'true' }
  }

  /**
   * Run the CLI to its end.
   * @param args - its arguments.
   * @returns its stdout.
   * @throws Problem with all that it said when it fails.
   */
  run(...args: string[]): string {
    // A module needs no executable bit here, and the Node of this repository fits.
    const [command, own] = /\.[cm]?js$/.test(this.path) ? [process.execPath, [this.path]] : [this.path, []]
    const ended = spawnSync(command, [...own, ...args], { cwd: this.cwd, env: this.env, encoding: 'utf8' })
    if (ended.error !== undefined) throw new Problem(`${this.path} cannot be run: ${ended.error.message}`)
    if (ended.status !== 0)
      throw new Problem(`this failed: ${[this.path, ...args].join(' ')}\n${ended.stdout}${ended.stderr}`)
    return ended.stdout
  }

  /**
   * @returns the version of the installed `dsh`.
   * @throws Problem when it is none, or has these packages without any profile.
   */
  version(): string {
    const version = this.run('--version').trim()
    if (version.includes(' with the packages ')) throw new Problem(`${this.path} has the packages already: ${version}`)
    if (!/^\d+\.\d+\.\d+\S*$/.test(version)) throw new Problem(`${this.path} is no dsh: its version is "${version}"`)
    return version
  }
}

/**
 * Find the CLI.
 * @param given - what `--dsh` names, if anything.
 * @returns its absolute path; the first `dsh` on the PATH if nothing is given.
 * @throws Problem when there is none.
 */
export function findCli(given: string | undefined): string {
  if (given === undefined) {
    const onPath = (process.env.PATH ?? '').split(delimiter).map(folder => resolve(folder, 'dsh'))
    const found = onPath.find(isFile)
    if (found === undefined) throw new Problem('there is no dsh on the PATH: name its CLI with --dsh <path>')
    return found
  }
  if (isFile(given)) return resolve(given)
  throw new Problem(
    existsSync(given)
      ? `--dsh: ${given} is a folder: name the CLI in it, for instance ${join(given, 'node_modules/.bin/dsh')}`
      : `--dsh: there is no file ${given}`,
  )
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}
