/**
 * The packages as a distribution takes them: the tarballs, installed by plain npm into a project of its own beside the
 * published packages of the harness. The scenario that runs there is the demo's, which is plain Node and imports
 * packages by name only.
 */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { GOAL_ROUND_ASK_DENIAL } from '@deepseek-ai/dsh-goal-round-driver'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packAll, root } from '../packages/pack.ts'

const run = promisify(execFile)

/** What the project has of the published harness; peers bring the rest. */
const PUBLISHED = ['agent-loop', 'code-runtime-worker-thread', 'goal', 'tool-goal']

const ENTRY = `
import { runGoalRoundQuestion } from './demo/goal-round-question.ts'
process.stdout.write(JSON.stringify(await runGoalRoundQuestion()))
`

let project: string
let names: string[]

beforeAll(async () => {
  project = await realpath(await mkdtemp(join(tmpdir(), 'dsh-tarballs-')))
  const tarballs = await packAll(project)
  names = tarballs.map(({ name }) => name)
  const manifest = {
    private: true,
    type: 'module',
    dependencies: {
      '@deepseek-ai/cordis': '4.0.1',
      ...Object.fromEntries(PUBLISHED.map(name => [`@deepseek-ai/dsh-${name}`, '0.1.0-rc.8'])),
      ...Object.fromEntries(tarballs.map(({ name, filename }) => [name, `file:${filename}`])),
    },
  }
  await writeFile(join(project, 'package.json'), JSON.stringify(manifest))
  await npm('install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline')
  await cp(join(root, 'scripts/demo'), join(project, 'demo'), { recursive: true })
  await writeFile(join(project, 'scenario.ts'), ENTRY)
})

afterAll(() => rm(project, { recursive: true, force: true }))

async function npm(...args: string[]): Promise<string> {
  return (await run('npm', args, { cwd: project })).stdout
}

describe('the tarballs in a project of stock packages', () => {
  it('satisfy every peer, and there is one copy of each', async () => {
    interface Tree {
      readonly version?: string
      readonly dependencies?: Readonly<Record<string, Tree>>
    }
    // `npm ls` fails when a peer is missing or has a version outside its range.
    const tree = JSON.parse(await npm('ls', '--all', '--json')) as Tree
    const versions = new Map<string, Set<string>>()
    const collect = ({ dependencies = {} }: Tree) => {
      for (const [name, dependency] of Object.entries(dependencies)) {
        if (dependency.version !== undefined)
          versions.set(name, (versions.get(name) ?? new Set<string>()).add(dependency.version))
        collect(dependency)
      }
    }
    collect(tree)

    for (const name of names) expect([name, versions.get(name)]).toEqual([name, new Set(['0.1.0-rc.8.fix.1'])])
    expect(versions.get('@deepseek-ai/dsh-tools')).toEqual(new Set(['0.1.0-rc.8']))
    expect([...versions].filter(([name, found]) => name.startsWith('@deepseek-ai/') && found.size > 1)).toEqual([])
  })

  it('play the report to a good end (#6074)', async () => {
    const hook = join(root, 'scripts/show-loaded.mjs')
    const { stdout, stderr } = await run(process.execPath, ['--import', hook, 'scenario.ts'], { cwd: project })

    expect(stderr).toContain(
      `loaded @deepseek-ai/dsh-goal-round-driver 0.1.0-rc.8.fix.1`
        + ` ${project}/node_modules/@deepseek-ai/dsh-goal-round-driver/lib/index.js\n`,
    )
    expect(JSON.parse(stdout)).toMatchObject({
      rounds: 3,
      questionsPutToAHuman: 0,
      goal: { phase: 'blocked', code: 'model-reported' },
      firstQuestion: { nextRequest: expect.stringContaining(GOAL_ROUND_ASK_DENIAL) as string },
    })
  })
})
