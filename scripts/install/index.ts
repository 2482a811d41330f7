/**
 * `scripts/install-into-dsh`: puts the packages of this repository into the profiles of an installed `dsh`, or takes them
 * out, by `dsh plugin`, and looks at what is loaded then. A profile in which that fails is left as it was.
 * @module
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { initProfile } from '@deepseek-ai/dsh-app-boot'
import { resolveDshHome } from '@deepseek-ai/dsh-home-paths'
import { readJson, root } from '../packages/pack.ts'
import { Cli, findCli } from './cli.ts'
import { readOptions, USAGE } from './options.ts'
import { admit, COMPANION_NAMES, OWN_NAMES, ownManifests, packInstalled, packOwn } from './packages.ts'
import { probe, type Loaded } from './probe.ts'
import { Problem } from './problem.ts'
import { addTarballs, changing, dropUnusedTarballs, installedIn, profilesOf, TARBALLS } from './profile.ts'

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  if (options.help) {
    process.stdout.write(USAGE)
    return
  }
  const home = resolveDshHome()
  const names = options.profiles.length > 0 ? options.profiles : profilesOf(home)
  if (names.length === 0) throw new Problem(`${home} has no profile yet: name one, for instance --profile web`)
  const folder = mkdtempSync(join(tmpdir(), 'dsh-install-'))
  try {
    const { packageManager } = await readJson<{ packageManager: string }>(join(root, 'package.json'))
    const cli = new Cli(findCli(options.dsh), home, packageManager, folder)
    const version = cli.version()
    if (options.remove) for (const name of names) remove(cli, name, home)
    else {
      admit(version, ownManifests())
      const tarballs = join(folder, 'tarballs')
      mkdirSync(tarballs)
      const own = await packOwn(tarballs)
      for (const name of names) {
        install(cli, name, home, tarballs, own)
        const dsh = options.dsh === undefined ? '' : ` --dsh ${cli.path}`
        say(`undo: ${join(root, 'scripts/install-into-dsh')} --profile ${name}${dsh} --remove`)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Puts the packages into one profile. */
function install(cli: Cli, profile: string, home: string, tarballs: string, own: readonly string[]): void {
  const folder = join(home, 'profiles', profile)
  const [before, now] = changing(folder, () => {
    const before = probe(cli, profile, OWN_NAMES)
    // The settings that the CLI gives a new profile: a profile made by hand would get a copy of every peer.
    initProfile(folder, [])
    const specs = addTarballs(folder, [...own, ...packCompanions(home, tarballs)])
    plugin(cli, profile, 'add', '--prefer-offline', ...specs)
    dropUnusedTarballs(folder)
    const now = probe(cli, profile, [...OWN_NAMES, ...COMPANION_NAMES])
    assertInstalled(now, folder)
    return [before, now]
  })
  say(`in ${folder}, ${cli.path} now loads:`)
  for (const { name, version } of now) {
    const was = before.find(loaded => loaded.name === name)?.version
    say(`  ${name} ${version}${was === undefined || was === version ? '' : `, before ${was}`}`)
  }
  say(`written there: package.json, pnpm-lock.yaml, pnpm-workspace.yaml, node_modules and ${TARBALLS}`)
}

/** Takes the packages out of one profile. */
function remove(cli: Cli, profile: string, home: string): void {
  const folder = join(home, 'profiles', profile)
  const names = Object.keys(installedIn(folder))
  if (names.length === 0) {
    say(`${folder} has none of the packages`)
    return
  }
  const now = changing(folder, () => {
    plugin(cli, profile, 'remove', ...names)
    dropUnusedTarballs(folder)
    const now = probe(cli, profile, names)
    const left = now.filter(loaded => isIn(loaded.folder, folder))
    if (left.length > 0) throw new Problem(`the CLI still loads ${left.map(({ folder }) => folder).join(', ')}`)
    return now
  })
  say(`in ${folder}, ${cli.path} now loads:`)
  for (const { name, version } of now) say(`  ${name} ${version}`)
}

/** The published packages that stand beside ours, from the installation that the CLI just ran from. */
function packCompanions(home: string, tarballs: string): string[] {
  const linked = COMPANION_NAMES.map(name => realpathSync(join(home, 'profiles/node_modules', name)))
  return linked.map(source => packInstalled(source, tarballs))
}

/** `dsh plugin`, without pnpm's list of peers: those are found in the installation of the CLI. */
function plugin(cli: Cli, profile: string, command: string, ...args: string[]): void {
  cli.run('plugin', '--profile', profile, command, '--loglevel=error', ...args)
}

function assertInstalled(loaded: readonly Loaded[], folder: string): void {
  const names = loaded.map(({ name }) => name)
  for (const { name, folder: found, peers } of loaded) {
    if (!isIn(found, folder)) throw new Problem(`the CLI loads ${name} from ${found}, not from ${folder}`)
    const copy = peers.find(peer => !names.includes(peer.name) && isIn(peer.folder, folder))
    if (copy !== undefined)
      throw new Problem(
        `${folder} has a copy of ${copy.name}, of which there must be one in a process: take it out;`
          + ' if pnpm brought it, write `autoInstallPeers: false` into the pnpm-workspace.yaml there',
      )
  }
}

/** Whether a package's folder is in a profile's own modules. */
function isIn(folder: string, profile: string): boolean {
  return folder.startsWith(join(realpathSync(profile), 'node_modules', sep))
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

// An interrupted child fails, and the profile is put back: this process sees that through.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined)
try {
  await main()
} catch (error) {
  if (!(error instanceof Problem)) throw error
  process.stderr.write(`install-into-dsh: ${error.message.trimEnd()}\n`)
  process.exitCode = 2
}
