import { spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testPlugin } from './support/run-dsh.ts'

const root = join(import.meta.dirname, '../..')
const script = join(root, 'scripts/dsh')
const key = { DEEPSEEK_API_KEY: 'sk-scripted' }

let home: string
let workspace: string
let patch: string

beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'dsh-script-')))
  workspace = join(home, 'a workspace')
  patch = join(home, 'patch.yml')
  mkdirSync(workspace)
  const rows = [{ id: 'headless-runner', disabled: true }, { insert: [testPlugin('show-launch', {})] }]
  writeFileSync(patch, JSON.stringify(rows))
})

afterAll(() => {
  rmSync(home, { recursive: true, force: true })
})

/** Runs a command in the workspace, with the developer's own environment, save for what concerns dsh and its model. */
function run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const own = Object.entries(process.env).filter(([name]) => !/^(DSH|DEEPSEEK)_/.test(name))
  const ended = spawnSync(command, args, {
    cwd: workspace,
    env: { ...Object.fromEntries(own), DSH_HOME: join(home, 'dsh'), DSH_TELEMETRY_DISABLED: '1', ...env },
    encoding: 'utf8',
  })
  return { exitCode: ended.status, stdout: ended.stdout, stderr: ended.stderr }
}

/** A start of the plugin that shows how it was started. */
function launch(args: readonly string[], env: Readonly<Record<string, string>> = key) {
  return run(script, ['--profile', 'headless', '--patch', patch, ...args], env)
}

describe('scripts/dsh', () => {
  const args = ['two words', '', `"quoted" $HOME it's`]

  it("runs in the caller's working directory, with the arguments and the exit code untouched", () => {
    const { exitCode, stdout, stderr } = launch(args)
    expect({ exitCode, stderr }).toEqual({ exitCode: 7, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({ cwd: workspace, args })
  })

  it('does so through pnpm, from any folder', { timeout: 180_000 }, () => {
    const pnpm = ['--yes', 'pnpm@10.34.9', '--silent', '--dir', root, 'dsh', '--profile', 'headless', '--patch', patch]
    const { exitCode, stdout } = run('npx', [...pnpm, ...args], key)
    expect(exitCode).toBe(7)
    expect(JSON.parse(stdout)).toEqual({ cwd: workspace, args })
  })

  it('does so through a symlink', () => {
    const link = join(home, 'dsh-link')
    symlinkSync(script, link)
    expect(JSON.parse(run(link, ['--profile', 'headless', '--patch', patch, ...args], key).stdout)).toEqual({
      cwd: workspace,
      args,
    })
  })

  it.each(['--version', '-V'])('%s tells it from a stock dsh', flag => {
    const { version } = JSON.parse(readFileSync(join(root, 'packages/jobs/jobs/package.json'), 'utf8')) as {
      version: string
    }
    const stdout = `0.1.0-rc.8 with the packages ${version} of ${root}\n`
    expect(run(script, [flag])).toEqual({ exitCode: 0, stdout, stderr: '' })
  })

  it('says which version of each forked package it loads, and from where', () => {
    const { stderr } = launch([], { ...key, DSH_SHOW_LOADED: '1' })
    expect(stderr).toContain(
      `loaded @deepseek-ai/dsh-goal-round-driver 0.1.0-rc.8.fix.1 ${root}/packages/goal/goal-round-driver/lib/index.js\n`,
    )
  })

  it.each([
    [['--profile', 'headless', 'a task'], 'set DEEPSEEK_API_KEY'],
    [['--profile=headless', 'a task'], 'set DEEPSEEK_API_KEY'],
    [['--profile', 'headless', '--patch', 'none.yml', 'a task'], '--patch: there is no file none.yml'],
    [['--profile', 'web', '--patch=none.yml'], '--patch: there is no file none.yml'],
  ])('refuses %j in one line with exit code 2, and writes nothing', (launchArgs, message) => {
    const empty = join(home, 'refused')
    const { exitCode, stdout, stderr } = run(script, launchArgs, { DSH_HOME: join(empty, 'dsh') })
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toMatch(/^dsh: .+\n$/)
    expect(stderr).toContain(message)
    expect(readdirSync(home)).not.toContain('refused')
  })

  it.each([
    ['the project', () => join(workspace, '.env'), 'DEEPSEEK_API_KEY=sk-from-file\n'],
    ['the home', () => join(home, 'dsh/.env'), 'DEEPSEEK_API_KEY=sk-from-file\n'],
    ['the settings of another model', () => join(home, 'dsh/settings.yaml'), 'llm-pi-ai: {}\n'],
  ])('needs no key in the environment when %s has one', (_where, file, text) => {
    mkdirSync(dirname(file()), { recursive: true })
    writeFileSync(file(), text)
    try {
      expect(launch(['a task'], {}).exitCode).toBe(7)
    } finally {
      rmSync(file())
    }
  })

  it.each([['--dump-config'], ['--help'], ['-h']])('needs no key for %s', flag => {
    expect(run(script, ['--profile', 'headless', flag])).toMatchObject({ exitCode: 0, stderr: '' })
  })
})

describe('scripts/dsh in a fresh clone', () => {
  /**
   * A clone in which the downloads are stand-ins: `npx` lays down a Node, a compiler that writes each package's `lib`,
   * and a CLI that prints its arguments.
   */
  function makeClone(): string {
    const clone = mkdtempSync(join(home, 'clone-'))
    const put = (file: string, text: string) => {
      mkdirSync(dirname(join(clone, file)), { recursive: true })
      writeFileSync(join(clone, file), text, { mode: 0o755 })
    }
    for (const file of ['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml', 'tsconfig.json']) put(file, '{}')
    for (const file of ['tsconfig.json', 'src/index.ts']) put(`packages/jobs/jobs/${file}`, '{}')
    put('packages/jobs/jobs/package.json', '{ "version": "1.2.3" }')
    put('scripts/own-modules.mjs', '')
    put('stand-ins/tsc', "require('fs').cpSync('packages/jobs/jobs/src/index.ts', 'packages/jobs/jobs/lib/index.js')")
    put('stand-ins/bin.js', "console.log('the CLI', ...process.argv.slice(2))")
    put(
      'stand-ins/npx',
      `#!/usr/bin/env bash
      set -e
      echo "$PWD: npx $*" >>calls
      mkdir -p node_modules/node/bin node_modules/typescript/bin node_modules/@deepseek-ai/dsh/lib
      ln -sf '${process.execPath}' node_modules/node/bin/node
      cp stand-ins/tsc node_modules/typescript/bin/tsc
      cp stand-ins/bin.js node_modules/@deepseek-ai/dsh/lib/bin.js`,
    )
    for (const file of ['dsh', 'prepare.sh']) cpSync(join(root, 'scripts', file), join(clone, 'scripts', file))
    return clone
  }

  function start(clone: string, env: Readonly<Record<string, string>> = {}) {
    const PATH = `${join(clone, 'stand-ins')}:${process.env.PATH ?? ''}`
    return run(join(clone, 'scripts/dsh'), ['--help'], { PATH, ...env })
  }

  const started = { exitCode: 0, stdout: 'the CLI --help\n' }

  function age(file: string, seconds: number) {
    const time = new Date(Date.now() + seconds * 1_000)
    utimesSync(file, time, time)
  }

  it('installs and builds, says so on stderr, and starts; the second time it only starts', () => {
    const clone = makeClone()
    expect(start(clone)).toEqual({ ...started, stderr: 'dsh: installing …\ndsh: building …\n' })
    expect(start(clone)).toEqual({ ...started, stderr: '' })
    expect(readFileSync(join(clone, 'calls'), 'utf8')).toBe(
      `${clone}: npx --yes pnpm@10.34.9 install --frozen-lockfile\n`,
    )
  })

  it.each([
    ['builds again when a source is newer', 'packages/jobs/jobs/src/index.ts', 'dsh: building …\n'],
    ['installs again when the lockfile is newer', 'pnpm-lock.yaml', 'dsh: installing …\n'],
    ['installs again when a manifest is newer', 'packages/jobs/jobs/package.json', 'dsh: installing …\n'],
  ])('%s', (_name, file, stderr) => {
    const clone = makeClone()
    start(clone)
    age(join(clone, file), 5)
    expect(start(clone)).toEqual({ ...started, stderr })
  })

  it('builds again when a build is missing', () => {
    const clone = makeClone()
    start(clone)
    rmSync(join(clone, 'packages/jobs/jobs/lib'), { recursive: true })
    expect(start(clone)).toEqual({ ...started, stderr: 'dsh: building …\n' })
  })

  it('does not install again what pnpm itself has installed since', () => {
    const clone = makeClone()
    start(clone)
    age(join(clone, 'pnpm-lock.yaml'), 5)
    writeFileSync(join(clone, 'node_modules/.pnpm-workspace-state-v1.json'), '{}')
    age(join(clone, 'node_modules/.pnpm-workspace-state-v1.json'), 10)
    expect(start(clone)).toEqual({ ...started, stderr: '' })
  })

  it('shows what a failed build said, does not start, and builds the next time', () => {
    const clone = makeClone()
    writeFileSync(join(clone, 'stand-ins/tsc'), "console.log('a type error'); process.exit(2)")
    const failed = start(clone)
    expect(failed).toMatchObject({ exitCode: 1, stdout: '' })
    expect(failed.stderr).toContain('dsh: building …\na type error\ndsh: failed: ')
    expect(start(clone)).toMatchObject({ exitCode: 1 })
  })
})
