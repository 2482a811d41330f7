/**
 * `pnpm bench`: what the fixes bring and cost, measured in one run: the published packages, a model of the community
 * plugin, ours, and the limit where there is one. Prints Markdown tables; `--json` prints the same as data. Names of
 * groups choose some: `pnpm bench wakes trace`.
 */
import { parseArgs } from 'node:util'
import { GROUPS } from './groups.ts'
import { renderGroup, type Group } from './table.ts'

async function main(names: readonly string[], json: boolean): Promise<void> {
  const chosen = GROUPS.filter(({ name }) => names.length === 0 || names.includes(name))
  const results: Group[] = []
  for (const measureGroup of chosen) {
    const group = await measureGroup()
    results.push(group)
    if (!json) console.log(renderGroup(group))
  }
  if (json) console.log(JSON.stringify({ node: process.version, groups: results }, null, 2))
}

function usage(problem: string): void {
  console.error(`bench: ${problem}; known are --json and ${GROUPS.map(({ name }) => name).join(', ')}`)
  process.exitCode = 2
}

try {
  const { values, positionals } = parseArgs({ options: { json: { type: 'boolean' } }, allowPositionals: true })
  const unknown = positionals.filter(name => !GROUPS.some(group => group.name === name))
  if (unknown.length > 0) usage(`no group ${unknown.join(', ')}`)
  else await main(positionals, values.json === true)
} catch (error) {
  if (!(error instanceof TypeError && 'code' in error && error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION')) throw error
  usage(error.message)
}
