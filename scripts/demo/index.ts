/**
 * `pnpm demo`: plays the reports on the real harness, once with the published packages and once with ours, and prints
 * what happened side by side. `--json` prints the same as data. Exits 1 if something does not hold for ours.
 *
 * Each run is a process of its own, so that it is made of one set of packages throughout.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { type GoalRoundQuestion, presentGoalRoundQuestion } from './goal-round-question.ts'
import { renderSection, type Section } from './section.ts'

const run = promisify(execFile)

const STOCK_HOOKS = pathToFileURL(join(import.meta.dirname, '..', 'stock-hooks.mjs')).href

async function play<T>(scenario: string, plane: 'stock' | 'fork'): Promise<T> {
  const hooks = plane === 'stock' ? ['--import', STOCK_HOOKS] : []
  const runner = join(import.meta.dirname, 'run.ts')
  const { stdout } = await run(process.execPath, ['--no-warnings', ...hooks, runner, scenario], { maxBuffer: 2 ** 26 })
  return JSON.parse(stdout) as T
}

async function compare<T>(scenario: string, present: (stock: T, fork: T) => Section) {
  const [stock, fork] = [await play<T>(scenario, 'stock'), await play<T>(scenario, 'fork')]
  return { scenario, stock, fork, section: present(stock, fork) }
}

const json = process.argv.includes('--json')
const unknown = process.argv.slice(2).filter(argument => argument !== '--json')
if (unknown.length > 0) {
  console.error(`demo: unknown argument ${unknown.join(' ')}: only --json is known`)
  process.exit(2)
}

const results = []
for (const next of [() => compare<GoalRoundQuestion>('goal-round-question', presentGoalRoundQuestion)]) {
  const result = await next()
  results.push(result)
  if (!json) console.log(renderSection(result.section))
}
const failed = results.flatMap(({ section }) => section.checks).filter(({ holds }) => !holds)
if (json) {
  const data = results.map(({ scenario, stock, fork, section: { checks } }) => ({ scenario, stock, fork, checks }))
  console.log(JSON.stringify(data, null, 2))
}
process.exitCode = failed.length === 0 ? 0 : 1
