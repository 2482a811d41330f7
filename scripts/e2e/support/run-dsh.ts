/**
 * Runs the real `dsh` CLI as a process, as a user has it: built packages, plain Node, and a home of its own that is
 * gone afterwards. Nothing of the developer's own environment, settings or keys reaches it.
 */
import { spawn } from 'node:child_process'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { startModelServer, type ModelRequest, type ModelScript } from '@deepseek-ai/dsh-test-model-server'
import { inject } from 'vitest'
import { makeHome, type Home } from './home.ts'
import { readSession } from './session-log.ts'
import { stockDsh } from './stock-tree.ts'

const root = join(import.meta.dirname, '../../..')

/**
 * Which packages the process runs on: ours, as they stand here; the published originals; or ours again, in a profile of a
 * stock installation, where `scripts/install-into-dsh` has put them.
 */
export type Side = 'fork' | 'stock' | 'installed'

/** A row of the composition, or a change to one, as `--patch` takes it. */
export type Row = Readonly<Record<string, unknown>>

export interface DshScenario {
  readonly side: Side
  readonly task: string
  /** What the model says. */
  readonly model: ModelScript
  readonly codeMode?: boolean
  /** What commands and file tools may do; everything by default. */
  readonly permissionMode?: 'danger-full-access' | 'workspace-write'
  /** Rows to add to the headless profile, and settings for rows that it has. */
  readonly insert?: readonly Row[]
  readonly change?: readonly Row[]
}

export interface DshRun {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  /** Every request that reached the model, and the milliseconds from the process's start to its arrival. */
  readonly requests: readonly ModelRequest[]
  readonly arrivals: readonly number[]
  /** The session log on disk, read back after the process has ended. */
  readonly events: readonly SessionEvent[]
  /** Where each forked package was loaded from, by its import. */
  readonly loaded: Readonly<Record<string, string>>
  /** Questions that a human was asked (see `plugins/human.ts`). */
  readonly asked: readonly string[]
}

/** A run that has not ended by then is stopped, and its exit code is null. */
const LONGEST_RUN_MS = 50_000

/** A script that is asked more often than this is going round in circles. */
const MOST_REQUESTS = 40

/** A plugin of `scripts/e2e/plugins` as a row of the composition. */
export function testPlugin(name: string, config: Row): Row {
  return { id: `e2e-${name}`, name: pathToFileURL(join(root, 'scripts/e2e/plugins', `${name}.ts`)).href, config }
}

/** The human of a scenario; what is asked is found in {@link DshRun.asked}. */
export function human(answer: string): Row {
  return testPlugin('human', { answer, record: ASKED_PLACEHOLDER })
}

/** Stands for the run's own file, which is not known before the run. */
const ASKED_PLACEHOLDER = '<asked>'

/** Everything the model was shown in all requests of a run, leaving out what it said itself. */
export function textsSeenBy({ requests }: DshRun): string[] {
  return requests.flatMap(({ messages }) =>
    messages.filter(({ role }) => role !== 'assistant').map(({ content }) => content),
  )
}

export async function runDsh(scenario: DshScenario): Promise<DshRun> {
  await using home = await makeHome()
  const inHome = (name: string) => join(home.folder, name)
  const arrivals: number[] = []
  const started = performance.now()
  await using model = await startModelServer((request, index) => {
    if (index >= MOST_REQUESTS) throw new Error(`the model was asked more than ${MOST_REQUESTS} times`)
    arrivals.push(performance.now() - started)
    return scenario.model(request, index)
  })
  const profile = join('profiles', 'headless')
  if (scenario.side === 'installed')
    await cp(join(inject('installedHome'), profile), join(home.dsh, profile), { recursive: true })
  const patch = [...(scenario.change ?? []), { insert: scenario.insert ?? [] }]
  await writeFile(inHome('patch.yml'), JSON.stringify(patch).replaceAll(ASKED_PLACEHOLDER, inHome('asked')))
  const ended = await run(
    [...cliOf(scenario.side), '--profile', 'headless', '--patch', inHome('patch.yml'), scenario.task],
    home,
    {
      ...home.env(model),
      ...(scenario.permissionMode === undefined ? {} : { DSH_PERMISSION_MODE: scenario.permissionMode }),
      ...(scenario.codeMode === true ? { DSH_TOOLS_MODE: 'code' } : {}),
    },
  )
  if (model.failures.length > 0) throw new AggregateError(model.failures, `the model's script failed\n${ended.stderr}`)
  return {
    ...ended,
    ...splitLoaded(ended.stderr),
    arrivals,
    requests: model.requests,
    events: await readSession(join(home.dsh, 'sessions')),
    asked: (await linesOf(inHome('asked'))).map(line => JSON.parse(line) as string),
  }
}

/** The arguments of Node that start the CLI of one side. */
function cliOf(side: Side): string[] {
  const hooks = side === 'stock' ? ['stock-hooks.mjs', 'show-loaded.mjs'] : ['show-loaded.mjs']
  return [
    ...hooks.flatMap(hook => ['--import', join(root, 'scripts', hook)]),
    side === 'installed' ? stockDsh : join(root, 'node_modules/@deepseek-ai/dsh/lib/bin.js'),
  ]
}

interface Ended {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

function run(args: string[], home: Home, env: NodeJS.ProcessEnv): Promise<Ended> {
  const child = spawn(process.execPath, args, {
    cwd: home.workspace,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LONGEST_RUN_MS,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', exitCode => {
      resolve({ exitCode, stdout, stderr })
    })
  })
}

/** Takes the lines of `scripts/show-loaded.mjs` out of what a process said. */
export function splitLoaded(stderr: string): Pick<DshRun, 'loaded' | 'stderr'> {
  const line = /^loaded (\S+) \S+ (.+)\n/gm
  const loaded = Object.fromEntries(
    [...stderr.matchAll(line)].map(([, specifier = '', path = '']) => [specifier, path]),
  )
  return { loaded, stderr: stderr.replaceAll(line, '') }
}

/** A file that was never written has no lines. */
async function linesOf(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  })
  return text.split('\n').filter(line => line !== '')
}
