/**
 * A profile of `dsh` on disk: which there are, what its manifest says, and how it is put back after a failure.
 * @module
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/** Where the tarballs lie in a profile: its manifest names them, and pnpm reads them at each later change. */
export const TARBALLS = 'fixed-packages'

/** What a change of packages writes in a profile. The user's patch layer is not among it. */
const WRITTEN = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'node_modules', TARBALLS]

/**
 * @param home - a `$DSH_HOME`.
 * @returns the names of the profiles in it.
 */
export function profilesOf(home: string): string[] {
  const folder = join(home, 'profiles')
  if (!existsSync(folder)) return []
  return readdirSync(folder).filter(name => existsSync(join(folder, name, 'package.json')))
}

/**
 * @param folder - a profile.
 * @returns what its manifest has from {@link TARBALLS}: the specifier by package name.
 */
export function installedIn(folder: string): Readonly<Record<string, string>> {
  const file = join(folder, 'package.json')
  if (!existsSync(file)) return {}
  const { dependencies = {} } = JSON.parse(readFileSync(file, 'utf8')) as { dependencies?: Record<string, string> }
  return Object.fromEntries(Object.entries(dependencies).filter(([, spec]) => spec.startsWith(`file:${TARBALLS}/`)))
}

/**
 * Lay tarballs into a profile.
 * @param folder - the profile.
 * @param files - the tarballs.
 * @returns their specifiers, for a package manager that runs in the profile.
 */
export function addTarballs(folder: string, files: readonly string[]): string[] {
  mkdirSync(join(folder, TARBALLS), { recursive: true })
  return files.map(file => {
    const name = `${TARBALLS}/${basename(file)}`
    cpSync(file, join(folder, name))
    return `file:${name}`
  })
}

/**
 * Delete the tarballs that the manifest does not name.
 * @param folder - a profile.
 */
export function dropUnusedTarballs(folder: string): void {
  const used = Object.values(installedIn(folder))
  const tarballs = join(folder, TARBALLS)
  if (used.length === 0) rmSync(tarballs, { recursive: true, force: true })
  else
    for (const file of readdirSync(tarballs))
      if (!used.includes(`file:${TARBALLS}/${file}`)) rmSync(join(tarballs, file))
}

/**
 * Change a profile, or leave it as it was.
 * @param folder - the profile; it need not be there.
 * @param change - the change.
 * @returns what the change returns. When it throws, the profile has been put back.
 */
export function changing<T>(folder: string, change: () => T): T {
  const before = mkdtempSync(join(tmpdir(), 'dsh-profile-'))
  const existed = existsSync(folder)
  copy(folder, before)
  try {
    return change()
  } catch (error) {
    for (const name of existed ? WRITTEN : ['']) rmSync(join(folder, name), { recursive: true, force: true })
    copy(before, folder)
    throw error
  } finally {
    rmSync(before, { recursive: true, force: true })
  }
}

function copy(from: string, to: string): void {
  for (const name of WRITTEN)
    if (existsSync(join(from, name)))
      cpSync(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })
}
