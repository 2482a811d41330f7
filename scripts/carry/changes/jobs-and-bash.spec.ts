import { describe, expect, it } from 'vitest'
import { bash } from './bash.ts'
import { jobs } from './jobs.ts'
import { jobsLocal } from './jobs-local.ts'
import { added, describeCommits, refusal } from './testing/commits.ts'
import { carryOnto, edited, type Tree } from './testing/packages.ts'
import { smallHarness } from './testing/trees.ts'
import { toolJobs } from './tool-jobs.ts'

const JOBS = 'packages/jobs/jobs/src/index.ts'
const TYPES = 'packages/jobs/jobs/src/types.ts'
const LOCAL = 'packages/jobs/jobs-local/src/index.ts'
const TOOL = 'packages/jobs/tool-jobs/src/index.ts'
const SPINE = 'packages/examples/agent-spine-demo/tests/agent-core.spec.ts'
const BASH = 'packages/shell/bash-local/src/index.ts'
const TOOL_BASH = 'packages/shell/tool-bash/src/index.ts'
const SHELL = 'packages/shell/shell/src/types.ts'

const CHANGES = { jobs, jobsLocal, toolJobs, bash }

/** What a change is carried onto: those of bash come after those of jobs. */
function treeFor(name: keyof typeof CHANGES, prefix?: string): Tree {
  const tree = smallHarness(prefix)
  return name === 'bash' ? carryOnto(jobs, tree).files : tree
}

describeCommits(CHANGES, treeFor)

describe('the places of', () => {
  it('jobs: the hook, the fifth parameter, its comment and the result', () => {
    expect(added(jobs, TYPES, smallHarness()).at(-1)).toBe('onOutput?(listener: () => void): () => void')
    expect(added(jobs, JOBS, smallHarness())).toEqual([
      "import type { JobWaitResult, JobWakeOptions } from './wake-types.ts'",
      "export type { JobWaitResult, JobWakeOptions } from './wake-types.ts'",
      '* @param wake - what else ends the wait; nothing does if it is left out.',
      expect.stringMatching(/^abstract wait\(.*, wake\?: JobWakeOptions\): Promise<JobWaitResult>$/),
    ])
    for (const page of ['docs/subsystems/jobs.md', 'docs/subsystems/jobs.zh.md'])
      expect(added(jobs, page, smallHarness()).at(-1)).toBe('onOutput?(listener: () => void): () => void')
  })

  it('jobs-local: the wakes of each job, read through them, and a wait that they may end', () => {
    const text = carryOnto(jobsLocal, smallHarness()).files[LOCAL]
    expect(text).toContain('return job.wakes.read() ?? (job.output)')
    expect(text).toMatch(/interface Tracked \{\n {2}wakes: JobWakes\n/)
    expect(text).toMatch(/job\.finishedAt = .*\n {4}job\.wakes\.close\(\)\n/)
    expect(text).toMatch(/const settings = wake && wakeSettings\(wake\)\n {4}if \(isLive\(job\)\) \{/)
    expect(text).toMatch(/const woken = await new Promise<JobWaitResult \| void>/)
    expect(text).toMatch(/\n {6}\}\)\n {6}if \(woken\) return woken\n/)
  })

  it('tool-jobs: settings, guidance, ending and the wait itself', () => {
    const lines = added(toolJobs, TOOL, smallHarness())
    expect(lines).toContain('export interface Config extends WakeConfig {')
    expect(lines).toContain('wakeOnSteer: WAKE_FIELDS.wakeOnSteer,')
    expect(lines).toContain("text: 'Mind your jobs.' + earlyEndNote(wakes),")
    expect(lines).toContain('+ earlyEndNote(wakes),')
    expect(lines).toContain('...wakeParameters(wakes),')
    expect(lines).toContain('wake: WAKE_SCHEMA,')
    expect(lines).toContain('return { text: read.text, ...wake !== undefined ? { wake } : {} }')
    expect(added(toolJobs, SPINE, smallHarness())).toEqual([
      expect.stringContaining('signal, expect.objectContaining({'),
    ])
  })

  it('tool-jobs without the demo: the demo is not needed', () => {
    const { [SPINE]: demo, ...tree } = smallHarness()
    expect(demo).toBeDefined()
    expect(refusal(toolJobs, tree)).toBe('carried')
  })

  it('bash: the timer of the executor, the signal, settled first thing in both ends, and reads in whole characters', () => {
    const tree = treeFor('bash')
    const lines = added(bash, BASH, tree)
    expect(lines).toContain('private readonly lookTimer = new LookTimer()')
    expect(lines).toContain('timer: this.lookTimer,')
    expect(lines.filter(line => line === 'output.settle()')).toHaveLength(2)
    expect(lines).toContain('streams: [{ reader: out, offset: () => a }, { reader: err, offset: () => b }],')
    expect(lines).toContain('const second = readWhole(err, b, output.isSettled)')
    expect(lines).toContain('onOutput: listener => output.subscribe(listener),')
    expect(added(bash, TOOL_BASH, tree)).toContain('...outputHook(proc),')
    expect(added(bash, SHELL, tree).at(-1)).toBe('onOutput?: (listener: () => void) => () => void')
  })
})

describe('is refused, by the file and what is not there,', () => {
  it.each<[keyof typeof CHANGES, string, string, string, RegExp]>([
    ['jobs', TYPES, 'interface JobHooks', 'interface Hooks', /interface JobHooks is there not at all/],
    ['jobs', TYPES, '  readOutput?(): string\n', '', /member readOutput of JobHooks is there not at all/],
    ['jobs', JOBS, ', signal?: AbortSignal', '', /method wait with four parameters is there not at all/],
    ['jobs', JOBS, "export type { JobSnapshot } from './types.ts'\n", '', /export of types/],
    ['jobs', JOBS, 'Promise<JobSnapshot>', 'Promise<Job>', /JobSnapshot as what wait returns/],
    ['jobs', JOBS, '@returns the job.', 'Returns it.', /@returns of a comment/],
    ['jobs', 'docs/subsystems/jobs.zh.md', 'interface JobHooks', 'interface Hooks', /0 blocks of code/],
    ['jobsLocal', LOCAL, 'import type { JobSnapshot }', 'import { JobSnapshot }', /import of types from/],
    ['jobsLocal', LOCAL, 'hooks.readOutput,', 'readText,', /hooks that readOutput is taken from/],
    ['jobsLocal', LOCAL, '      id,\n', '', /property id of the record/],
    ['jobsLocal', LOCAL, '    this.selfCtx = ctx\n', '', /assignment of selfCtx/],
    ['jobsLocal', LOCAL, 'job.readOutput ? job.readOutput() : job.output', 'job.text()', /choice by readOutput/],
    ['jobsLocal', LOCAL, 'await new Promise<void>', 'await promise<void>', /promise that wait awaits/],
    ['jobsLocal', LOCAL, '    job.finishedAt = Date.now()\n', '', /assignment to \.finishedAt/],
    ['jobsLocal', LOCAL, 'waitResolvers: Set<', 'waits: Set<', /interface of the record/],
    ['toolJobs', TOOL, 'interface Config', 'interface Settings', /interface Config/],
    ['toolJobs', TOOL, "name: 'job_output'", "name: 'job_text'", /object with name: 'job_output'/],
    ['toolJobs', TOOL, "name: 'tool:jobs'", "name: 'jobs'", /object with name: 'tool:jobs'/],
    ['toolJobs', TOOL, 'await ctx.jobs.wait(', 'await ctx.jobs.join(', /call of wait/],
    ['toolJobs', TOOL, 'finalizeTaskContent', 'finalize', /variable finalizeTaskContent/],
    ['toolJobs', SPINE, 'expect(wait)', 'expect(join)', /expectation of the arguments/],
    ['bash', SHELL, 'interface ShellProcess ', 'interface Process ', /interface ShellProcess/],
    ['bash', BASH, 'startArgv', 'startAny', /function startArgv/],
    ['bash', BASH, 'private source', 'private configured', /member source of LocalBashExecutor/],
    ['bash', BASH, 'out.readFrom(a)', 'out.text(a)', /pair of reads/],
    [
      'bash',
      BASH,
      '(error: unknown) => {\n        spawnFailureNote = String(error)\n      }',
      'fail',
      /pair of functions/,
    ],
    ['bash', TOOL_BASH, "kind: 'bash'", "kind: 'shell'", /object with kind: 'bash'/],
  ])('%s: %s without %j', (name, path, from, to, reason) => {
    const message = refusal(CHANGES[name], edited(treeFor(name), path, from, to))
    expect(message).toMatch(reason)
    expect(message).toContain(path)
  })

  it.each<[keyof typeof CHANGES, string, string]>([
    ['jobs', TYPES, 'export interface JobHooks {\n  readOutput?(): string\n}\n'],
    ['jobsLocal', LOCAL, 'export class LocalJobRegistry {}\n'],
    ['toolJobs', TOOL, "const other = { name: 'job_output' }\n"],
    ['bash', TOOL_BASH, "const other = { kind: 'bash' }\n"],
  ])('%s with a second one in %s', (name, path, more) => {
    const tree = treeFor(name)
    const message = refusal(CHANGES[name], { ...tree, [path]: (tree[path] ?? '') + more })
    expect(message).toMatch(/is there 2 times$/)
    expect(message).toContain(path)
  })

  it('bash without the commits on jobs', () => {
    expect(refusal(bash, smallHarness())).toMatch(/types\.ts: the member onOutput of JobHooks is there not at all$/)
  })
})

it('places that have moved are found all the same', () => {
  const tree = smallHarness()
  const moved = `// Many\n// lines\n// more.\n\n${tree[TYPES] ?? ''}`
  expect(added(jobs, TYPES, { ...tree, [TYPES]: moved })).toEqual(added(jobs, TYPES, smallHarness()))
})
