import { describe, expect, it } from 'vitest'
import { goalRoundDriver } from './goal-round-driver.ts'
import { added, describeCommits, refusal } from './testing/commits.ts'
import { carryOnto, edited } from './testing/packages.ts'
import { smallHarness } from './testing/trees.ts'
import { toolAskUser } from './tool-ask-user.ts'

const DRIVER = 'packages/goal/goal-round-driver'
const ASK = 'packages/interaction/tool-ask-user'
const INDEX = `${DRIVER}/src/index.ts`

const CHANGES = { goalRoundDriver, toolAskUser }

describeCommits(CHANGES, (_name, prefix) => smallHarness(prefix))

describe('the places of', () => {
  it('the driver: the guard goes at every refusal of the fence, and from every state in the end', () => {
    const text = carryOnto(goalRoundDriver, smallHarness()).files[INDEX] ?? ''
    expect(text.match(/\{\n {8}clearAskGuard\(state\)\n/g)).toHaveLength(5)
    expect(text).toMatch(/allSettled\(waits\)\n {6}for \(const state of states\.values\(\)\) clearAskGuard\(state\)\n/)
  })

  it('the driver: settings, state, the listeners first, and the checks before a round and at the idle', () => {
    const text = carryOnto(goalRoundDriver, smallHarness()).files[INDEX] ?? ''
    expect(text).toContain('export function apply(ctx: Context, config: Config = {}): void {\n  const settings = ')
    expect(text).toContain('interface DriverState extends RoundsState {')
    expect(text).toContain('      agent,\n      askGuardDispose: undefined,\n      roundCounts: undefined,\n    }')
    expect(text).toMatch(
      /ctx\.effect\(function\* \(\) \{\n {4}\/\/ First.*\n {4}const isDriving.*\n {4}yield\* watchRounds\(/,
    )
    expect(text).toContain('    if (blockUnanswered(ctx, state, goal)) return\n    if (goal.roundsStarted')
    expect(text).toContain('      blockOverrun(ctx, state, currentGoal, disarm)\n      const attempt')
  })

  it('the driver: what it imports and exports more', () => {
    const lines = added(goalRoundDriver, INDEX, smallHarness())
    expect(lines.filter(line => /^(import|export) \{/.test(line))).toEqual([
      "import { clearAskGuard } from './ask-guard.ts'",
      "import { type Config, roundSettings } from './round-settings.ts'",
      "import { blockOverrun, blockUnanswered, type RoundsState, watchRounds } from './stuck-rounds.ts'",
      "export { GOAL_ROUND_ASK_DENIAL, GOAL_ROUND_DENIAL_PREFIX, isGoalRoundDenial } from './denial-text.ts'",
      "export { Config } from './round-settings.ts'",
    ])
  })

  it('the question tool: the config before the comment of apply, and the write-back first thing in it', () => {
    const text = carryOnto(toolAskUser, smallHarness()).files[`${ASK}/src/index.ts`]
    expect(text).toContain(
      `z.object({ writeBackLimitBytes: WRITE_BACK_FIELDS.writeBackLimitBytes })

/** Mounts it. */
export function apply(ctx: Context, config: Config = {}): void {
  writeBack(ctx, config)
`,
    )
  })

  it.each([
    [goalRoundDriver, DRIVER, { 'dsh-system-prompt': 'peerDependencies', 'dsh-tool-goal': 'devDependencies' }],
    [toolAskUser, ASK, { 'dsh-llm': 'peerDependencies', 'dsh-agent-loop-testkit': 'devDependencies' }],
  ])('the manifest, the project and the lock file, with what is imported: %#', (change, folder, names) => {
    const { files } = carryOnto(change, smallHarness())
    const manifest = JSON.parse(files[`${folder}/package.json`] ?? '') as Record<string, object>
    expect(manifest.dependencies).toEqual({ '@deepseek-ai/schemastery': 'workspace:^' })
    for (const [name, section] of Object.entries(names))
      expect(manifest[section]).toHaveProperty([`@deepseek-ai/${name}`], 'workspace:^')
    expect(Object.keys(manifest)).toEqual(['name', 'dependencies', 'peerDependencies', 'devDependencies'])
    expect(files[`${folder}/tsconfig.json`]).toContain('"path": "../../../vendor/schemastery"')
    const [, importer = ''] = files['pnpm-lock.yaml']?.split(`  ${folder}:\n`) ?? []
    expect(importer).toMatch(
      /^ {4}dependencies:\n {6}'@deepseek-ai\/schemastery':\n {8}specifier: workspace:\^\n {8}version: link:/,
    )
  })

  it.each([
    [goalRoundDriver, DRIVER, 'bug-fix/2026-08-24-questions-in-goal-rounds'],
    [toolAskUser, ASK, 'bug-fix/2026-08-24-write-back-of-answers'],
  ])('the READMEs and the note, in both languages, with their records: %#', (change, folder, note) => {
    const tree = smallHarness()
    const { files } = carryOnto(change, tree)
    for (const path of [`${folder}/README`, `.agents/notes/implemented/${note}`]) {
      expect(files[`${path}.i18n.yaml`]).toMatch(/^(#.*\n)?\S+\.md: [0-9a-f]{40}\n\S+\.zh\.md: [0-9a-f]{40}\n$/)
      for (const language of ['.md', '.zh.md']) expect(files[path + language]).not.toBe(tree[path + language])
    }
  })
})

describe('is refused, by the file and what is not there,', () => {
  it.each<[keyof typeof CHANGES, string, string, string, RegExp]>([
    ['goalRoundDriver', INDEX, "import { renderGoalRoundPrompt } from './prompt.ts'\n", '', /import or export of/],
    ['goalRoundDriver', INDEX, "export { renderGoalRoundPrompt } from './prompt.ts'\n", '', /import or export of/],
    ['goalRoundDriver', INDEX, 'interface DriverState', 'interface State', /interface DriverState/],
    ['goalRoundDriver', INDEX, 'function stateFor', 'function of', /function stateFor/],
    ['goalRoundDriver', INDEX, '      agent,\n    }', '      agent }', /object with a property a line/],
    ['goalRoundDriver', INDEX, 'export function apply', 'export function mount', /function apply/],
    ['goalRoundDriver', INDEX, 'function drive', 'function go', /function drive/],
    ['goalRoundDriver', INDEX, 'goal.maxGoalRounds', 'goal.cap', /check of maxGoalRounds/],
    ['goalRoundDriver', INDEX, "'agent/status'", "'agent/state'", /listener of agent\/status/],
    ['goalRoundDriver', INDEX, 'const attempt', 'const tried', /variable attempt/],
    ['goalRoundDriver', INDEX, 'ctx.effect', 'ctx.run', /call of effect/],
    ['goalRoundDriver', INDEX, 'allSettled', 'all', /call of allSettled/],
    ['goalRoundDriver', INDEX, "'agent/pre-step'", "'agent/step'", /listener of agent\/pre-step/],
    ['goalRoundDriver', INDEX, 'await next()', 'await go()', /try around next/],
    ['goalRoundDriver', INDEX, 'signal.aborted', 'signal.gone', /has 3 refusals and not 4/],
    ['goalRoundDriver', `${DRIVER}/README.md`, '## Composition', '## Parts', /0 sections are called Composition/],
    ['goalRoundDriver', `${DRIVER}/README.zh.md`, '## Composition', 'Composition', /it has not the sections/],
    [
      'goalRoundDriver',
      `${DRIVER}/package.json`,
      '"devDependencies": {}',
      '"devDependencies":{}',
      /as a package manager/,
    ],
    ['goalRoundDriver', `${DRIVER}/tsconfig.json`, '{', '// why\n{', /not plain JSON/],
    ['goalRoundDriver', 'pnpm-lock.yaml', `  ${DRIVER}:`, '  packages/goal/other:', /there is no importer/],
    ['toolAskUser', `${ASK}/src/index.ts`, 'function apply', 'function mount', /function apply/],
    ['toolAskUser', `${ASK}/src/index.ts`, 'ctx: Context', '', /parameter of apply/],
    [
      'toolAskUser',
      `${ASK}/src/index.ts`,
      "  ctx.tools.register(defineTool({ name: 'ask' }))\n",
      '',
      /first statement/,
    ],
  ])('%s: %s without %j', (name, path, from, to, reason) => {
    const message = refusal(CHANGES[name], edited(smallHarness(), path, from, to))
    expect(message).toMatch(reason)
    expect(message).toContain(path)
  })

  it.each<[keyof typeof CHANGES, string, string]>([
    ['goalRoundDriver', INDEX, 'interface DriverState {}\n'],
    ['goalRoundDriver', INDEX, "export { other } from './prompt.ts'\n"],
    ['toolAskUser', `${ASK}/src/index.ts`, 'export function apply(): void {}\n'],
  ])('%s with a second one in %s', (name, path, more) => {
    const tree = smallHarness()
    const message = refusal(CHANGES[name], { ...tree, [path]: (tree[path] ?? '') + more })
    expect(message).toMatch(/is there 2 times$/)
    expect(message).toContain(path)
  })

  it('a package that is not there', () => {
    const path = 'packages/goal/tool-goal/package.json'
    const tree = Object.fromEntries(Object.entries(smallHarness()).filter(([file]) => file !== path))
    expect(refusal(goalRoundDriver, tree)).toBe(`${path}: there is no such file`)
  })
})

it('places that have moved are found all the same', () => {
  const tree = smallHarness()
  const moved = {
    ...tree,
    [INDEX]: (tree[INDEX] ?? '').replace('interface', '// Many\n// lines\n// more.\n\ninterface'),
  }
  expect(added(goalRoundDriver, INDEX, moved)).toEqual(added(goalRoundDriver, INDEX, tree))
})
