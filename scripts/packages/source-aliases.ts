/** Where tests find the sources of the packages that stand here. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

interface Manifest {
  readonly name?: string
  readonly exports?: Record<string, unknown>
}

/**
 * One alias an export entry: `.` is `src/index.ts`, `./x` is `src/x.ts`.
 * @param root - the folder that holds `packages/<group>/<name>`.
 * @returns what `resolve.alias` of vitest takes.
 * @throws Error naming the manifest that has no `name` or no `exports`.
 */
export function sourceAliases(root: string): { find: RegExp; replacement: string }[] {
  return packageFolders(root).flatMap(folder => {
    const file = join(root, folder, 'package.json')
    const { name, exports } = JSON.parse(readFileSync(file, 'utf8')) as Manifest
    if (name === undefined || exports === undefined) {
      const missing = name === undefined ? 'name' : 'exports'
      throw new Error(
        `${folder}/package.json has no "${missing}"; CONTRIBUTING.md, "A new package", tells what it needs`,
      )
    }
    return Object.keys(exports)
      .filter(entry => !entry.includes('*') && !entry.endsWith('.json'))
      .map(entry => ({
        find: new RegExp(`^${name}${entry.slice(1)}$`),
        replacement: join(root, folder, 'src', entry === '.' ? 'index.ts' : `${entry.slice(2)}.ts`),
      }))
  })
}

/** Folders without a manifest are none: what a branch left behind, say. */
function packageFolders(root: string): string[] {
  return readdirSync(join(root, 'packages'))
    .flatMap(group => readdirSync(join(root, 'packages', group)).map(name => `packages/${group}/${name}`))
    .filter(folder => existsSync(join(root, folder, 'package.json')))
}
