/** The tree that docs/distribution.md tells to make with pnpm, made from the page's own text, and brought back to stock. */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { FORKED } from '../forked.mjs'
import { packAll, readJson, root } from '../packages/pack.ts'
import { makeHome } from './support/home.ts'
import { splitLoaded } from './support/run-dsh.ts'

const run = promisify(execFile)

/** The fenced blocks of one section of the page: what stands behind the fence, and the text. */
async function blocksOf(heading: string): Promise<{ language: string; text: string }[]> {
  const page = await readFile(join(root, 'docs/distribution.md'), 'utf8')
  const section = page.split(/^#+ /m).find(text => text.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = '', text = '']) => ({ language, text }))
}

it('the tree of the page has every package, and the way back leads to stock', { timeout: 240_000 }, async () => {
  await using home = await makeHome()
  const tree = home.workspace
  const inTree = (name: string) => join(tree, name)
  const [manifest, workspace, install, back, ...others] = await blocksOf('pnpm')
  expect(others).toEqual([])
  const { packageManager } = await readJson<{ packageManager: string }>(join(root, 'package.json'))
  const pnpmInstall = `npx --yes ${packageManager} install`
  expect(install?.text).toContain(`${pnpmInstall}\n`)
  expect(back?.text).toContain(`${pnpmInstall}\n`)
  const pnpm = () =>
    run('npx', ['--yes', packageManager, 'install', '--no-frozen-lockfile', '--prefer-offline'], { cwd: tree })
  /** The version of each forked package that a start of the CLI loads, and whether it is the tree's own copy. */
  const loaded = async () => {
    const hook = join(root, 'scripts/show-loaded.mjs')
    const cli = inTree('node_modules/@deepseek-ai/dsh/lib/bin.js')
    const env = { PATH: process.env.PATH, HOME: home.folder, DSH_HOME: home.dsh, DSH_TELEMETRY_DISABLED: '1' }
    const { stderr } = await run(process.execPath, ['--import', hook, cli, '--profile', 'headless', '--help'], { env })
    const { loaded } = splitLoaded(stderr)
    expect(Object.keys(loaded)).toContain('@deepseek-ai/dsh-jobs-local')
    expect(Object.values(loaded).filter(path => !path.startsWith(inTree('node_modules/')))).toEqual([])
    return new Set([...stderr.matchAll(/^loaded \S+ (\S+) /gm)].map(([, version]) => version))
  }

  await mkdir(inTree('vendor'))
  await packAll(inTree('vendor'))
  await writeFile(inTree('package.json'), manifest?.text ?? '')
  await writeFile(inTree('pnpm-workspace.yaml'), workspace?.text ?? '')
  const tarballs = FORKED.map(name => `file:vendor/deepseek-ai-dsh-${name}-0.1.0-rc.8.fix.1.tgz`)
  for (const text of [manifest?.text, workspace?.text])
    expect(text?.match(/file:[^"\n]*/g)?.sort()).toEqual(tarballs.sort())
  // pnpm prefers the versions it finds here.
  await copyFile(join(root, 'pnpm-lock.yaml'), inTree('pnpm-lock.yaml'))
  await pnpm()
  expect(await loaded()).toEqual(new Set(['0.1.0-rc.8.fix.1']))

  const [edit = ''] = back?.text.split('\n') ?? []
  await run('sh', ['-c', edit], { cwd: tree })
  await pnpm()
  expect(await loaded()).toEqual(new Set(['0.1.0-rc.8']))
  expect(await readFile(inTree('pnpm-lock.yaml'), 'utf8')).not.toContain('fix.1')
})
