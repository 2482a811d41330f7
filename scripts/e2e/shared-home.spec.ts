/**
 * Two installations of dsh on one `DSH_HOME`. Each links its packages into `profiles/node_modules` when it starts, and
 * re-points what another one has put there.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startModelServer } from '@deepseek-ai/dsh-test-model-server'
import { describe, expect, it } from 'vitest'
import { noBrowser, openPage } from './support/browser.ts'
import { makeHome, type Home } from './support/home.ts'
import { installIntoDsh } from './support/installer.ts'
import { call } from './support/models.ts'
import { testPlugin } from './support/run-dsh.ts'
import { stockDsh } from './support/stock-tree.ts'
import { seen, startSession, startWeb } from './support/web.ts'

const root = join(import.meta.dirname, '../..')
const script = join(root, 'scripts/dsh')
const stock = [process.execPath, stockDsh]
/** Another installation than the stock one, which re-points its links: the one `scripts/dsh` runs on, taken plainly. */
const another = [process.execPath, join(root, 'node_modules/@deepseek-ai/dsh/lib/bin.js')]

interface Ended {
  readonly exitCode: number | null
  readonly output: string
}

/** Runs a command to its end. */
async function run(home: Home, [command = '', ...args]: readonly string[]): Promise<Ended> {
  await using model = await startModelServer(() => ({ text: 'unused' }))
  const child = spawn(command, args, { cwd: home.workspace, env: home.env(model), stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [exitCode] = (await once(child, 'close')) as [number | null]
  return { exitCode, output }
}

/** A patch with which the headless profile loads all its packages and ends with exit code 7. */
function showLaunch(home: Home): string {
  const patch = join(home.folder, 'launch.yml')
  writeFileSync(
    patch,
    JSON.stringify([{ id: 'headless-runner', disabled: true }, { insert: [testPlugin('show-launch', {})] }]),
  )
  return patch
}

/** Where the links of the home lead to, by package. */
function linksOf(home: Home): Record<string, string> {
  const folder = join(home.dsh, 'profiles/node_modules/@deepseek-ai')
  return Object.fromEntries(readdirSync(folder).map(name => [name, readlinkSync(join(folder, name))]))
}

describe('scripts/dsh and a stock dsh on one home', { timeout: 180_000 }, () => {
  it('scripts/dsh leaves the links of the stock dsh alone, and makes none where there are none', async () => {
    await using home = await makeHome()
    const start = ['--profile', 'headless', '--patch', showLaunch(home)]
    expect(await run(home, [script, ...start])).toMatchObject({ exitCode: 7 })
    expect(existsSync(join(home.dsh, 'profiles/node_modules'))).toBe(false)

    expect(await run(home, [...stock, ...start])).toMatchObject({ exitCode: 7 })
    const links = linksOf(home)
    expect(links['dsh-jobs']).toContain('/stock-dsh-')
    expect(await run(home, [script, ...start])).toMatchObject({ exitCode: 7 })
    expect(linksOf(home)).toEqual(links)
  })

  it('both can be started at the same time', async () => {
    await using home = await makeHome()
    const start = ['--profile', 'headless', '--patch', showLaunch(home)]
    expect(await run(home, [...stock, ...start])).toMatchObject({ exitCode: 7 })

    const commands = [0, 1, 2].flatMap(() => [[script], stock])
    const runs = await Promise.all(commands.map(command => run(home, [...command, ...start])))

    // Among stock starts, one that reads the root of the profile while another writes it fails, on one installation too.
    const failed = runs.filter(({ exitCode, output }, index) => {
      const ownFault = commands[index] === stock && output.includes('config file must be a top-level array')
      return exitCode !== 7 && !ownFault
    })
    expect(failed).toEqual([])
  })

  it('scripts/dsh takes the packages from here, also where a profile has others', async () => {
    await using home = await makeHome()
    expect(installIntoDsh(home, ['--profile', 'headless', '--dsh', stockDsh])).toMatchObject({ exitCode: 0 })
    const patch = showLaunch(home)

    const { output } = await run(home, ['env', 'DSH_SHOW_LOADED=1', script, '--profile', 'headless', '--patch', patch])

    const loaded = output.split('\n').filter(line => line.startsWith('loaded '))
    expect(loaded.length).toBeGreaterThan(0)
    expect(loaded.filter(line => !line.includes(` ${root}/packages/`))).toEqual([])
  })

  it('a plugin in a profile imports what the profile has, and else the installation that runs it', async () => {
    await using home = await makeHome()
    expect(await run(home, [...stock, '--profile', 'headless', '--help'])).toMatchObject({ exitCode: 0 })
    const profile = join(home.dsh, 'profiles/headless')
    const own = join(profile, 'node_modules/own')
    mkdirSync(own, { recursive: true })
    writeFileSync(join(own, 'package.json'), '{ "name": "own", "exports": "./index.js" }')
    writeFileSync(join(own, 'index.js'), '')
    cpSync(join(root, 'scripts/e2e/plugins/show-imports.mjs'), join(profile, 'show-imports.mjs'))
    const patch = join(home.folder, 'plugin.yml')
    const names = ['own', '@deepseek-ai/dsh-tools', '@deepseek-ai/dsh-jobs']
    const insert = [{ id: 'show-imports', name: './show-imports.mjs', config: { names } }]
    writeFileSync(patch, JSON.stringify([{ id: 'headless-runner', disabled: true }, { insert }]))
    const importsBy = async (command: readonly string[]) =>
      (await run(home, [...command, '--profile', 'headless', '--patch', patch])).output.trim().split('\n')

    const ownUrl = pathToFileURL(join(own, 'index.js')).href
    const fromStock = expect.stringContaining('/stock-dsh-') as string
    expect(await importsBy(stock)).toEqual([ownUrl, fromStock, fromStock])
    expect(await importsBy([script])).toEqual([
      ownUrl,
      pathToFileURL(join(root, 'node_modules/@deepseek-ai/dsh-tools/lib/index.js')).href,
      pathToFileURL(join(root, 'packages/jobs/jobs/lib/index.js')).href,
    ])
  })
})

describe.skipIf(noBrowser)(
  'a session opened after another installation was started on the same home',
  { timeout: 180_000 },
  () => {
    it.each([
      ['scripts/dsh', [script], () => undefined, stock, `${root}/packages/`, []],
      [
        'a stock dsh with the packages in its profile',
        [process.execPath, '--import', join(root, 'scripts/show-loaded.mjs'), stockDsh],
        (home: Home) => installIntoDsh(home, ['--profile', 'web', '--dsh', stockDsh]),
        another,
        '/profiles/web/node_modules/',
        ['@deepseek-ai/dsh-user-questions'],
      ],
    ])('%s: has the packages', async (_name, command, prepare, other, place, elsewhereExpected) => {
      await using home = await makeHome()
      prepare(home)
      await using model = await startModelServer((_request, index) =>
        index === 0 ? call('job_list') : { text: 'The end.' },
      )
      await using web = await startWeb(command, home, model, { DSH_SHOW_LOADED: '1' })
      expect(Object.keys(web.loaded())).not.toContain('@deepseek-ai/dsh-tool-jobs')

      expect(await run(home, [...other, '--profile', 'web', '--help'])).toMatchObject({ exitCode: 0 })
      await using browser = await openPage()
      await startSession(browser.page, web, home, 'Which jobs are there?')
      await seen(browser.page, 'The end.')

      expect(model.failures).toEqual([])
      const loaded = web.loaded()
      expect(Object.keys(loaded)).toContain('@deepseek-ai/dsh-tool-jobs')
      const elsewhere = Object.keys(loaded).filter(name => loaded[name]?.includes(place) !== true)
      expect(elsewhere).toEqual(elsewhereExpected)
    })
  },
)
