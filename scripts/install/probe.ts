/**
 * What an installed `dsh` loads in a profile, found out by running it there. All rows of the profile are disabled, so that
 * nothing is served, asked or connected to, and one plugin loads the packages in question.
 * @module
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Cli } from './cli.ts'
import { Problem } from './problem.ts'

/** A package as a process loaded it. */
export interface Loaded {
  readonly name: string
  readonly version: string
  /** Where it really is, without symlinks. */
  readonly folder: string
  /** Where it finds each of its peers. */
  readonly peers: readonly { readonly name: string; readonly folder: string }[]
}

/**
 * Run the CLI and see what it loads.
 * @param cli - the CLI.
 * @param profile - the profile's name.
 * @param names - full names of packages.
 * @returns what was loaded, in that order.
 * @throws Problem when the CLI does not start, or a package cannot be loaded.
 */
export function probe(cli: Cli, profile: string, names: readonly string[]): Loaded[] {
  const off = rowIds(cli.run('--profile', profile, '--dump-config')).map(id => ({ id, disabled: true }))
  const plugin = pathToFileURL(join(import.meta.dirname, 'probe-plugin.mjs')).href
  const insert = [{ id: 'dsh-fixes-probe', name: plugin, config: { names } }]
  const folder = mkdtempSync(join(tmpdir(), 'dsh-probe-'))
  try {
    const patch = join(folder, 'patch.yml')
    writeFileSync(patch, JSON.stringify([...off, { insert }]))
    const output = cli.run('--profile', profile, '--patch', patch)
    const line = /^loaded: (.*)$/m.exec(output)?.[1]
    if (line === undefined) throw new Problem(`${cli.path} does not load the packages in ${profile}:\n${output}`)
    return JSON.parse(line) as Loaded[]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The ids of the rows that a config dump shows; what is in a group goes with its group. */
function rowIds(dump: string): string[] {
  return [...dump.matchAll(/^- id: (['"]?)(.*)\1$/gm)].map(([, , id = '']) => id)
}
