/**
 * `pnpm demo`: plays the reports on the real harness, once with the published packages and once with ours, and prints
 * what happened side by side. `--json` prints the same as data. Exits 1 if something does not hold for ours.
 *
 * Each run is a process of its own, so that it is made of one set of packages throughout.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { presentGoalRoundQuestion } from './goal-round-question.ts'
import { presentIgnoredDenial } from './ignored-denial.ts'
import { presentOutputDuringWait, presentSteerDuringWait } from './job-waits.ts'
import { renderEnd, renderSection, type Section } from './section.ts'
import { presentThrownAwayAnswer } from './thrown-away-answer.ts'

const run = promisify(execFile)

const RUNNER = join(import.meta.dirname, 'run.ts')
const STOCK_HOOKS = pathToFileURL(join(import.meta.dirname, '..', 'stock-hooks.mjs')).href

/** Play one scenario. Whatever the harness keeps at home, it keeps in a temporary folder. */
async function play<T>(scenario: string, plane: 'stock' | 'fork', home: string): Promise<T> {
  const hooks = plane === 'stock' ? ['--import', STOCK_HOOKS] : []
  const { stdout } = await run(process.execPath, ['--no-warnings', ...hooks, RUNNER, scenario], {
    cwd: home,
    env: { ...process.env, HOME: home, DSH_HOME: join(home, 'dsh') },
    maxBuffer: 2 ** 26,
  })
  return JSON.parse(stdout) as T
}

function compare<T>(scenario: string, present: (stock: T, fork: T) => Section) {
  return async (home: string, number: number) => {
    say(`${number} of ${SCENARIOS.length}, with the published packages …`)
    const stock = await play<T>(scenario, 'stock', home)
    say(`${number} of ${SCENARIOS.length}, with the packages of this repository …`)
    const fork = await play<T>(scenario, 'fork', home)
    return { scenario, stock, fork, section: present(stock, fork) }
  }
}

/** Progress is no result: it goes to stderr. */
function say(line: string): void {
  console.error(`demo: ${line}`)
}

const SCENARIOS = [
  compare('goal-round-question', presentGoalRoundQuestion),
  compare('ignored-denial', presentIgnoredDenial),
  compare('thrown-away-answer', presentThrownAwayAnswer),
  compare('steer-during-wait', presentSteerDuringWait),
  compare('output-during-wait', presentOutputDuringWait),
]

async function main(json: boolean): Promise<boolean> {
  const home = await mkdtemp(join(tmpdir(), 'dsh-demo-'))
  const results = []
  try {
    for (const [index, scenario] of SCENARIOS.entries()) {
      const result = await scenario(home, index + 1)
      results.push(result)
      if (!json) console.log(renderSection(result.section))
    }
  } finally {
    await rm(home, { recursive: true, force: true })
  }
  const checks = results.flatMap(({ section }) => section.checks)
  if (json) {
    const data = results.map(({ scenario, stock, fork, section }) => ({
      scenario,
      stock,
      fork,
      checks: section.checks,
    }))
    console.log(JSON.stringify(data, null, 2))
  } else {
    console.log(renderEnd(checks))
  }
  return checks.every(({ holds }) => holds)
}

const unknown = process.argv.slice(2).filter(argument => argument !== '--json')
if (unknown.length > 0) {
  console.error(`demo: unknown argument ${unknown.join(' ')}: only --json is known`)
  process.exitCode = 2
} else {
  process.exitCode = (await main(process.argv.includes('--json'))) ? 0 : 1
}
