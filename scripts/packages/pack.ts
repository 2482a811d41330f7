/** Packs every package that is published, as a distribution or the registry would get it. */
import { execFile } from 'node:child_process'
import { mkdir, readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** This repository. */
export const root = join(import.meta.dirname, '../..')

/** A package and the file it was packed into. */
export interface Tarball {
  readonly name: string
  readonly filename: string
}

interface WorkspaceManifest {
  readonly name: string
  readonly private?: boolean
}

/**
 * Pack the published packages of the workspace, as they are built now.
 * @param folder - where the tarballs go.
 * @returns the tarballs; private packages have none.
 */
export async function packAll(folder: string): Promise<Tarball[]> {
  return pack(await publishedNames(), folder)
}

/**
 * Pack some packages of the workspace, as they are built now.
 * @param names - the packages.
 * @param folder - where the tarballs go.
 * @returns the tarballs.
 */
export async function pack(names: readonly string[], folder: string): Promise<Tarball[]> {
  const { packageManager } = await readJson<{ packageManager: string }>(join(root, 'package.json'))
  const args = [...names.map(name => `--filter=${name}`), 'pack', '--json', '--pack-destination', folder]
  const { stdout } = await run('npx', ['--yes', packageManager, '--recursive', ...args], { cwd: root })
  return JSON.parse(stdout) as Tarball[]
}

/**
 * Unpack a tarball.
 * @param tarball - what to unpack.
 * @param folder - where to; it is created.
 * @returns the folder that holds its `package.json`.
 */
export async function unpack(tarball: Tarball, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  await run('tar', ['-xzf', tarball.filename, '-C', folder])
  return join(folder, 'package')
}

/**
 * Run the command-line tool of an installed package on plain Node.
 * @param bin - the tool's file below `node_modules`.
 * @param args - its arguments.
 * @returns what it printed, and whether it was content.
 */
export async function runTool(bin: string, args: readonly string[]): Promise<{ ok: boolean; output: string }> {
  try {
    const { stdout } = await run(process.execPath, [join(root, 'node_modules', bin), ...args], { cwd: root })
    return { ok: true, output: stdout }
  } catch (error) {
    const { stdout = '', stderr = String(error) } = error as { stdout?: string; stderr?: string }
    return { ok: false, output: stdout + stderr }
  }
}

export async function readJson<T>(file: string): Promise<T> {
  return JSON.parse(await readFile(file, 'utf8')) as T
}

async function publishedNames(): Promise<string[]> {
  const packages = join(root, 'packages')
  const files = await readdir(packages, { recursive: true })
  const manifests = await Promise.all(
    files
      .filter(file => /^[^/]+\/[^/]+\/package\.json$/.test(file))
      .map(file => readJson<WorkspaceManifest>(join(packages, file))),
  )
  return manifests.filter(manifest => manifest.private !== true).map(({ name }) => name)
}
