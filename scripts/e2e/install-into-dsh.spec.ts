import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { basename, delimiter, join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { FOR_PROFILES } from '../forked.mjs'
import { makeHome, type Home } from './support/home.ts'
import { installIntoDsh } from './support/installer.ts'
import { stockDsh } from './support/stock-tree.ts'

const root = join(import.meta.dirname, '../..')
const names = FOR_PROFILES.map(name => `@deepseek-ai/dsh-${name}`)

function manifestOf(home: Home, profile: string) {
  return JSON.parse(readFileSync(join(home.dsh, 'profiles', profile, 'package.json'), 'utf8')) as {
    dependencies?: Record<string, string>
    dsh: unknown
  }
}

/** Every file of a profile with its content, save for the root that each start of the CLI writes anew. */
function contentOf(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(path => path !== 'cordis.yml')
  const files = paths.filter(path => statSync(join(folder, path)).isFile()).sort()
  return Object.fromEntries(files.map(file => [file, readFileSync(join(folder, file), 'latin1')]))
}

/** A stand-in for a CLI, of which some commands end otherwise than those of the stock one. */
function standIn(home: Home, cases: string): string {
  const file = join(home.folder, 'stand-in')
  writeFileSync(file, `#!/bin/sh\ncase "$1" in ${cases} esac\nexec '${process.execPath}' '${stockDsh}' "$@"\n`, {
    mode: 0o755,
  })
  return file
}

/** Makes a profile, as the stock CLI does at its first start. */
async function makeProfile(home: Home, name: string): Promise<string> {
  const folder = join(home.dsh, 'profiles', name)
  await mkdir(folder, { recursive: true })
  const bundles = ['@deepseek-ai/dsh-base']
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, private: true, dsh: { profile: { bundles } } }))
  writeFileSync(join(folder, 'cordis.patch.yml'), '# mine\n[]\n')
  return folder
}

describe('scripts/install-into-dsh', { timeout: 180_000 }, () => {
  it('puts the packages into every profile with a pnpm of its own, and takes them out again', async () => {
    await using home = await makeHome()
    await mkdir(join(home.folder, 'bin'))
    writeFileSync(join(home.folder, 'bin/pnpm'), '#!/bin/sh\nexit 9\n', { mode: 0o755 })
    const PATH = [join(home.folder, 'bin'), process.env.PATH ?? ''].join(delimiter)
    const profiles = [await makeProfile(home, 'one'), await makeProfile(home, 'two')]
    const before = manifestOf(home, 'one')

    const { exitCode, stdout, stderr } = installIntoDsh(home, ['--dsh', stockDsh], { PATH })
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    for (const folder of profiles) {
      expect(stdout).toContain(`in ${folder}, ${stockDsh} now loads:\n`)
      const { dependencies = {}, dsh } = manifestOf(home, basename(folder))
      expect(dsh).toEqual(before.dsh)
      expect(Object.keys(dependencies)).toEqual(expect.arrayContaining(names))
      expect(Object.keys(dependencies)).not.toContain('@deepseek-ai/dsh-user-questions')
      const tarballs = readdirSync(join(folder, 'fixed-packages'))
      expect(Object.values(dependencies).sort()).toEqual(tarballs.map(file => `file:fixed-packages/${file}`).sort())
      expect(readFileSync(join(folder, 'cordis.patch.yml'), 'utf8')).toBe('# mine\n[]\n')
    }
    for (const name of names) expect(stdout).toContain(`${name} 0.1.0-rc.8.fix.1, before 0.1.0-rc.8\n`)

    const undo = [...stdout.matchAll(/^undo: \S+ (.+)$/gm)].map(([, args = '']) => args.split(' '))
    expect(undo).toEqual(['one', 'two'].map(name => ['--profile', name, '--dsh', stockDsh, '--remove']))
    const undone = installIntoDsh(home, undo[0] ?? [], { PATH })
    expect(undone).toMatchObject({ exitCode: 0, stderr: '' })
    for (const name of names) expect(undone.stdout).toContain(`${name} 0.1.0-rc.8\n`)
    expect({ dependencies: {}, ...manifestOf(home, 'one') }).toEqual({ dependencies: {}, ...before })
    expect(readdirSync(profiles[0] ?? '')).not.toContain('fixed-packages')
    expect(Object.keys(manifestOf(home, 'two').dependencies ?? {})).toEqual(expect.arrayContaining(names))
    expect(installIntoDsh(home, undo[0] ?? []).stdout).toContain('has none of the packages')
  })

  it('a second run brings what has changed, and leaves no tarball behind', async () => {
    await using home = await makeHome()
    const folder = join(home.dsh, 'profiles/headless')
    const tarballs = join(folder, 'fixed-packages')
    await cp(join(inject('installedHome'), 'profiles/headless'), folder, { recursive: true })
    const files = readdirSync(tarballs)
    // As if an earlier build had been installed.
    const manifest = readFileSync(join(folder, 'package.json'), 'utf8')
    const [file = ''] = files
    const old = file.replace(/-\w{8}\.tgz$/, '-00000000.tgz')
    renameSync(join(tarballs, file), join(tarballs, old))
    writeFileSync(join(folder, 'package.json'), manifest.replace(file, old))

    expect(installIntoDsh(home, ['--dsh', stockDsh])).toMatchObject({ exitCode: 0, stderr: '' })

    expect(readdirSync(tarballs)).toEqual(files)
    expect(readFileSync(join(folder, 'package.json'), 'utf8')).toBe(manifest)
  })

  it.each([
    ['the change of the profile', 'plugin)'],
    ['the change of the profile, interrupted,', 'plugin) kill -INT $PPID;'],
    [
      'the look at what is loaded',
      '--profile) [ "$3" != --patch ] || [ ! -e "$DSH_HOME/profiles/one/fixed-packages" ] ||',
    ],
  ])('leaves a profile as it was when %s fails, and says what failed', async (_what, cases) => {
    await using home = await makeHome()
    const folder = await makeProfile(home, 'one')
    await mkdir(join(folder, 'node_modules/mine'), { recursive: true })
    writeFileSync(join(folder, 'node_modules/mine/index.js'), 'mine')
    const dsh = standIn(home, `${cases} { '${process.execPath}' '${stockDsh}' "$@"; echo 'no luck' >&2; exit 3; };;`)
    const before = contentOf(folder)

    const { exitCode, stderr } = installIntoDsh(home, ['--profile', 'one', '--dsh', dsh])

    expect(exitCode).toBe(2)
    expect(stderr).toMatch(/^install-into-dsh: this failed: [^]*no luck\n$/)
    expect(contentOf(folder)).toEqual(before)
  })

  it('makes no profile when the change of a new one fails', async () => {
    await using home = await makeHome()
    const dsh = standIn(home, 'plugin) exit 3;;')
    expect(installIntoDsh(home, ['--profile', 'headless', '--dsh', dsh])).toMatchObject({ exitCode: 2 })
    expect(readdirSync(join(home.dsh, 'profiles'))).not.toContain('headless')
  })

  it('refuses a profile with a copy of user-questions, of which there must be one', async () => {
    await using home = await makeHome()
    const folder = await makeProfile(home, 'one')
    const copy = join(folder, 'node_modules/@deepseek-ai/dsh-user-questions')
    await mkdir(copy, { recursive: true })
    writeFileSync(join(copy, 'package.json'), '{ "version": "0.1.0-rc.8", "type": "module", "exports": "./index.js" }')
    writeFileSync(join(copy, 'index.js'), 'export class UserQuestionAbortedError {}')
    const before = contentOf(folder)

    const { exitCode, stderr } = installIntoDsh(home, ['--profile', 'one', '--dsh', stockDsh])

    expect(exitCode).toBe(2)
    expect(stderr).toContain(`${folder} has a copy of @deepseek-ai/dsh-user-questions`)
    expect(contentOf(folder)).toEqual(before)
  })

  it('refuses a profile whose settings make pnpm bring a copy of every peer', async () => {
    await using home = await makeHome()
    const folder = await makeProfile(home, 'one')
    writeFileSync(join(folder, 'pnpm-workspace.yaml'), 'autoInstallPeers: true\n')
    const before = contentOf(folder)

    const { exitCode, stderr } = installIntoDsh(home, ['--profile', 'one', '--dsh', stockDsh])

    expect(exitCode).toBe(2)
    expect(stderr).toMatch(
      /has a copy of @deepseek-ai\/[^]*write `autoInstallPeers: false` into the pnpm-workspace.yaml/,
    )
    expect(contentOf(folder)).toEqual(before)
  })

  it.each<[string, (home: Home) => readonly string[], string]>([
    ['an unknown option', () => ['--prefix', 'x'], "Unknown option '--prefix'"],
    ['a home without profiles', () => [], 'has no profile yet: name one'],
    ['a profile without a name', () => ['--profile', '../x'], '--profile: "../x" is not the name of a profile'],
    ['a profile that there is not', () => ['--profile', 'tui', '--dsh', stockDsh], 'profile "tui" does not exist'],
    ['a CLI that there is not', () => ['--profile', 'web', '--dsh', 'none'], '--dsh: there is no file none'],
    ['a folder', () => ['--profile', 'web', '--dsh', '.'], '--dsh: . is a folder: name the CLI in it'],
    [
      'no dsh',
      home => ['--profile', 'web', '--dsh', standIn(home, '--version) echo hello; exit;;')],
      'is no dsh: its version is "hello"',
    ],
    [
      'another version',
      home => ['--profile', 'web', '--dsh', standIn(home, '--version) echo 0.1.5-rc.2; exit;;')],
      'dsh 0.1.5-rc.2 is not supported: the packages are made for ^0.1.0-rc.8',
    ],
    ['scripts/dsh', () => ['--profile', 'web', '--dsh', join(root, 'scripts/dsh')], 'has the packages already'],
  ])('refuses %s, and writes nothing', async (_name, args, message) => {
    await using home = await makeHome()
    const { exitCode, stdout, stderr } = installIntoDsh(home, args(home))
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(readdirSync(home.dsh, { recursive: true }).filter(file => String(file).endsWith('.tgz'))).toEqual([])
  })
})
