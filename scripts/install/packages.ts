/**
 * What goes into a profile: which packages, for which versions of `dsh`, and their tarballs.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, renameSync } from 'node:fs'
import { basename, join } from 'node:path'
import { satisfies } from 'semver'
import { FOR_PROFILES, forkedImport, REACHED_THROUGH } from '../forked.mjs'
import { pack, root } from '../packages/pack.ts'
import { Problem } from './problem.ts'

/** The fields of a `package.json` that are read here. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** The full names of the packages of this repository that a profile gets. */
export const OWN_NAMES = FOR_PROFILES.map(fullName)

/** The full names of the published packages that stand beside them, unchanged. */
export const COMPANION_NAMES = FOR_PROFILES.flatMap(name => REACHED_THROUGH[name] ?? []).map(fullName)

/** @returns the npm name of the harness package that a short name stands for. */
export function fullName(short: string): string {
  return `@deepseek-ai/dsh-${short}`
}

/** @returns the manifests of {@link OWN_NAMES}, as they stand in this repository. */
export function ownManifests(): Manifest[] {
  const packages = join(root, 'packages')
  return readdirSync(packages)
    .flatMap(group => readdirSync(join(packages, group)).map(name => join(packages, group, name, 'package.json')))
    .map(file => JSON.parse(readFileSync(file, 'utf8')) as Manifest)
    .filter(({ name }) => OWN_NAMES.includes(name))
}

/**
 * Hold the version of a `dsh` against the peer ranges of packages.
 * @param version - what the CLI's `--version` says.
 * @param manifests - the packages.
 * @throws Problem when they are not made for it.
 */
export function admit(version: string, manifests: readonly Manifest[]): void {
  const ranges = manifests
    .flatMap(({ peerDependencies = {} }) => Object.entries(peerDependencies))
    .filter(([name]) => name.startsWith(fullName('')) && forkedImport(name) === undefined)
    .map(([, range]) => range)
  const against = [...new Set(ranges)].filter(range => !satisfies(version, range))
  if (against.length > 0)
    throw new Problem(`dsh ${version} is not supported: the packages are made for ${against.join(' and ')}`)
}

/**
 * Pack {@link OWN_NAMES}, as they are built now.
 * @param folder - where the tarballs go.
 * @returns the tarballs.
 */
export async function packOwn(folder: string): Promise<string[]> {
  const tarballs = await pack(OWN_NAMES, folder)
  return tarballs.map(({ filename }) => namedForContent(filename))
}

/**
 * Pack an installed package, unchanged.
 * @param source - its folder.
 * @param folder - where the tarball goes.
 * @returns the tarball.
 */
export function packInstalled(source: string, folder: string): string {
  const args = ['pack', source, '--pack-destination', folder, '--ignore-scripts', '--json']
  const { status, stdout, stderr } = spawnSync('npm', args, { encoding: 'utf8' })
  if (status !== 0) throw new Problem(`npm could not pack ${source}:\n${stderr}`)
  const [packed] = JSON.parse(stdout) as [{ filename: string }]
  return namedForContent(join(folder, packed.filename))
}

/** pnpm does not read a tarball again whose path it knows, and a version here can have many builds. */
function namedForContent(file: string): string {
  const hash = createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 8)
  const named = join(file, '..', `${basename(file, '.tgz')}-${hash}.tgz`)
  renameSync(file, named)
  return named
}
