/**
 * Some packages of the fix in place of the published ones. What each set does is seen in the real loop: how long after a
 * message of the user, or a line of the job, the model's next request follows in a wait of 2 s.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { JobRegistry } from '@deepseek-ai/dsh-jobs'
import type { World } from './world.ts'

type Name = 'jobs' | 'jobs-local' | 'tool-jobs'

/** Which packages are ours, and whether the others import our `jobs`, too, or keep the published one beside it. */
interface PackageSet {
  readonly ours: readonly Name[]
  readonly copies: 1 | 2
}

const WAIT_MS = 2_000
const GRACE_MS = 250

/** What is imported in `load` imports this `jobs`, until the next call. */
function importJobs(ours: boolean): void {
  if (ours) vi.doUnmock('@deepseek-ai/dsh-jobs')
  else vi.doMock('@deepseek-ai/dsh-jobs', () => vi.importActual('stock-jobs'))
}

/** The harness anew, with one copy of every module but `jobs`. */
async function load({ ours, copies }: PackageSet) {
  vi.resetModules()
  const hasOurJobs = (name: Name) => ours.includes('jobs') && (copies === 1 || ours.includes(name))
  importJobs(hasOurJobs('jobs-local'))
  const { LocalJobRegistry: registry } = await (ours.includes('jobs-local')
    ? import('@deepseek-ai/dsh-jobs-local')
    : import('stock-jobs-local'))
  const { JobRegistry: base } = await vi.importActual<{ JobRegistry: typeof JobRegistry }>(
    hasOurJobs('jobs-local') ? '@deepseek-ai/dsh-jobs' : 'stock-jobs',
  )
  expect(Object.getPrototypeOf(registry)).toBe(base)
  importJobs(hasOurJobs('tool-jobs'))
  const tools = await (ours.includes('tool-jobs') ? import('../src/index.ts') : import('stock-tool-jobs'))
  return { ...(await import('./world.ts')), registry, tools }
}

let modules: Awaited<ReturnType<typeof load>>
const worlds: World[] = []

afterEach(async () => {
  vi.useRealTimers()
  await Promise.all(worlds.splice(0).map(world => world.dispose()))
})

/** A model that waits for its job, and what the log says. */
async function begin() {
  const { registry, tools } = modules
  const model = new modules.ScriptedModel({
    tool: 'job_output',
    args: { job_id: 'bash-1', wait: true, timeout_ms: WAIT_MS },
  })
  const warnings: string[] = []
  const world = await modules.World.create({
    registry,
    tools,
    model,
    before: ({ ctx }) => {
      ctx.logger.exporter({ levels: { default: 2 }, export: ({ args }) => warnings.push(args.join(' ')) })
    },
  })
  worlds.push(world)
  const agent = await world.agent()
  const job = world.job({ owner: agent })
  vi.useFakeTimers()
  agent.followup(modules.userMessage('wait for it'))
  await vi.advanceTimersByTimeAsync(0)
  expect(model.requests).toHaveLength(1)
  return { world, model, agent, job, warnings }
}

type Run = Awaited<ReturnType<typeof begin>>

/** How long after an event the model is asked again. */
async function answered({ model }: Run): Promise<number> {
  const since = performance.now()
  while (model.requests.length < 2) await vi.advanceTimersToNextTimerAsync()
  return performance.now() - since
}

/** What is promised to the model. */
async function promisesOf({ world: { ctx }, model }: Run) {
  const [tool] = ctx.tools.schemas().filter(({ name }) => name === 'job_output')
  const { sections } = await ctx.systemPrompt.assemble()
  const told = JSON.stringify([tool, sections, model.requests[0]?.system])
  return ['come back early', 'wake_on_output'].filter(words => told.includes(words))
}

describe.each<PackageSet & { ends?: boolean; says?: number }>([
  { ours: [], copies: 1 },
  { ours: ['jobs'], copies: 1 },
  { ours: ['jobs'], copies: 2 },
  { ours: ['jobs-local'], copies: 1 },
  { ours: ['jobs', 'jobs-local'], copies: 1 },
  { ours: ['jobs', 'jobs-local'], copies: 2 },
  { ours: ['tool-jobs'], copies: 1, says: 1 },
  { ours: ['jobs', 'tool-jobs'], copies: 1, says: 1 },
  { ours: ['jobs', 'tool-jobs'], copies: 2, says: 1 },
  { ours: ['jobs-local', 'tool-jobs'], copies: 1, ends: true },
  { ours: ['jobs', 'jobs-local', 'tool-jobs'], copies: 1, ends: true },
])('ours are $ours, copies of jobs: $copies', ({ ends = false, says = 0, ...set }) => {
  beforeEach(async () => {
    modules = await load(set)
  })

  it(`a message of the user ${ends ? 'ends' : 'does not end'} the wait`, async () => {
    const run = await begin()
    await vi.advanceTimersByTimeAsync(300)
    run.agent.steer(modules.userMessage('stop'))
    expect(await answered(run)).toBe(ends ? GRACE_MS : WAIT_MS - 300)
  })

  it(`output ${ends ? 'ends' : 'does not end'} the wait`, async () => {
    const run = await begin()
    await vi.advanceTimersByTimeAsync(300)
    run.job.print('10%\n')
    expect(await answered(run)).toBe(ends ? GRACE_MS : WAIT_MS - 300)
  })

  it(`${ends ? 'both are' : 'nothing is'} promised to the model, and ${says} lines say what is missing`, async () => {
    const run = await begin()
    expect(await promisesOf(run)).toEqual(ends ? ['come back early', 'wake_on_output'] : [])
    expect(
      run.warnings.filter(line => line.includes('what is missing is the @deepseek-ai/dsh-jobs-local')),
    ).toHaveLength(says)
    expect(run.warnings).toHaveLength(says)
  })
})
