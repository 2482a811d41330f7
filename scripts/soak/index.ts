/**
 * `pnpm soak`: 50 agents in one process, with goals, jobs, steers, questions, cancels, disposals and plugin reloads at
 * random, ten minutes by default (`--minutes N`, `--seed N`). Everything but the model is real. Exits 1 unless memory
 * is flat after the warm-up and nothing is left at the end. The seed fixes the choices, not their timing.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { runChaos } from './chaos.ts'
import {
  askInRound,
  askInTurn,
  listeners,
  openWaits,
  resources,
  roundsUntilUnanswered,
  surplus,
  type Tally,
} from './leftovers.ts'
import { judgeMemory, takeSample, TOLERANCE, type Sample } from './memory.ts'
import { Random } from './random.ts'
import { countEvents, type Counts } from './counts.ts'
import { mountWorld, type World } from './world.ts'

const NATIVE_AGENTS = 40
const CODE_AGENTS = 10
const SAMPLES = 60
const CHECKED_AGENTS = 5
/** In a shorter run the first third is no warm-up: agents live for half a minute on average. */
const LEAST_MINUTES_FOR_MEMORY = 3

/** What does not hold at the end. */
type Faults = string[]

async function populate(world: World, agents: number): Promise<void> {
  for (let agent = 0; agent < agents; agent += 1) await world.addAgent()
}

async function empty(world: World): Promise<void> {
  for (const agent of [...world.agents]) await world.removeAgent(agent)
}

async function sampleUntilStopped(everyMs: number, worlds: readonly World[], signal: AbortSignal): Promise<Sample[]> {
  const samples: Sample[] = []
  const startedAt = performance.now()
  while (!signal.aborted) {
    await delay(everyMs, undefined, { signal }).catch(() => undefined)
    for (const world of worlds) world.forgetRequests()
    samples.push(takeSample(startedAt))
  }
  return samples
}

/** Bring every agent to rest: no turn, no goal that goes on, no job. */
async function calm(world: World): Promise<void> {
  const { ctx, agents } = world
  world.rest()
  for (const agent of agents) {
    const goal = ctx.goals.get(agent)
    if (goal !== undefined) ctx.goals.clear(agent, goal)
    agent.cancel({ kind: 'user' })
    for (const { id } of ctx.jobs.list(agent)) ctx.jobs.kill(id, agent)
  }
  for (const agent of agents) {
    await agent.whenIdle()
    while (ctx.jobs.list(agent).some(({ status }) => status === 'running' || status === 'stopping')) await delay(10)
    await agent.whenIdle()
  }
}

/** After the chaos: a question goes through outside a goal round only; a goal that only asks ends; no wait is open. */
async function checkAgents(world: World, faults: Faults): Promise<void> {
  for (const agent of [...world.agents].slice(0, CHECKED_AGENTS)) {
    const expected = ['let through', 'denied by the guard', 'let through']
    const found = [await askInTurn(agent), await askInRound(world, agent), await askInTurn(agent)]
    if (found.join() !== expected.join()) faults.push(`${agent.id}: asks were ${found.join(', ')}`)
    const rounds = await roundsUntilUnanswered(world, agent)
    if (rounds !== 3) faults.push(`${agent.id}: a goal that only asks took ${rounds} rounds`)
  }
  const waits = openWaits(world)
  if (waits > 0) faults.push(`${world.mode}: ${waits} waits are open`)
}

async function checkWorld(world: World, before: Tally, faults: Faults): Promise<void> {
  await calm(world)
  await checkAgents(world, faults)
  await calm(world)
  await empty(world)
  for (const more of surplus(before, listeners(world.ctx))) faults.push(`${world.mode}: listeners of ${more}`)
  world.forgetRequests()
}

/** What only a finished task or timer held goes with a later collection. */
async function disposedAgentsInMemory(worlds: readonly World[]): Promise<number> {
  for (let collection = 0; collection < 5; collection += 1) {
    globalThis.gc?.()
    await delay(100)
  }
  return worlds.reduce((sum, world) => sum + world.disposedAgentsInMemory(), 0)
}

/** Handles close a little after what they belonged to. */
async function settledResources(before: Tally): Promise<string[]> {
  for (let look = 0; look < 50 && surplus(before, resources()).length > 0; look += 1) await delay(100)
  return surplus(before, resources())
}

async function main(minutes: number, seed: number): Promise<Faults> {
  const faults: Faults = []
  const counts: Counts = new Map()
  const random = new Random(seed)
  process.on('unhandledRejection', reason => {
    faults.push(`unhandled rejection: ${String(reason)}`)
  })
  await delay(1)
  const idle = resources()

  const worlds = [await mountWorld('native', random, counts), await mountWorld('code', random, counts)]
  const [native, code] = worlds as [World, World]
  const before = new Map<World, Tally>()
  for (const world of worlds) {
    await populate(world, 1)
    await empty(world)
    before.set(world, listeners(world.ctx))
  }
  const mounted = resources()

  await populate(native, NATIVE_AGENTS)
  await populate(code, CODE_AGENTS)
  const uncounts = worlds.map(({ ctx }) => countEvents(ctx, counts))
  const end = AbortSignal.timeout(minutes * 60_000)
  const [samples] = await Promise.all([
    sampleUntilStopped((minutes * 60_000) / SAMPLES, worlds, end),
    runChaos(worlds, random, counts, () => end.aborted),
  ])
  for (const uncount of uncounts) uncount()
  for (const world of worlds) await checkWorld(world, before.get(world) ?? {}, faults)
  for (const more of await settledResources(mounted)) faults.push(`after the agents: ${more}`)
  const inMemory = await disposedAgentsInMemory(worlds)
  if (inMemory > 0) faults.push(`${inMemory} disposed agents are still in memory`)
  for (const { ctx } of worlds) await ctx.fiber.dispose()
  for (const more of await settledResources(idle)) faults.push(`after the runtime: ${more}`)

  report(samples, counts, inMemory)
  if (minutes < LEAST_MINUTES_FOR_MEMORY)
    console.log(`memory is not judged in under ${LEAST_MINUTES_FOR_MEMORY} minutes`)
  else if (!judgeMemory(samples).isFlat) faults.push(`memory grows by more than ${TOLERANCE * 100}%`)
  return faults
}

function report(samples: readonly Sample[], counts: Counts, inMemory: number): void {
  const { secondThirdMb, lastThirdMb, slopeMbPerMinute } = judgeMemory(samples)
  const figures: [string, number | string][] = [
    ...[...counts].sort(([a], [b]) => a.localeCompare(b)),
    ['disposed agents still in memory', inMemory],
    ['heap, second third', `${secondThirdMb.toFixed(1)} MB`],
    ['heap, last third', `${lastThirdMb.toFixed(1)} MB`],
    ['heap, slope after the first third', `${slopeMbPerMinute.toFixed(2)} MB/min`],
    ['resident memory, at most', `${Math.max(...samples.map(({ rssMb }) => rssMb)).toFixed(0)} MB`],
  ]
  for (const [what, figure] of figures) console.log(`${what.padEnd(36)} ${figure}`)
}

interface Settings {
  readonly minutes: number
  readonly seed: number
}

/** What the command line asks for, or what is wrong with it. */
function readSettings(): Settings | string {
  try {
    const { values } = parseArgs({ options: { minutes: { type: 'string' }, seed: { type: 'string' } } })
    const minutes = Number(values.minutes ?? 10)
    const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
    if (minutes > 0 && Number.isInteger(seed)) return { minutes, seed }
    return '--minutes takes a positive number, --seed a whole one'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const settings = readSettings()
if (typeof settings === 'string') {
  console.error(`soak: ${settings}`)
  process.exitCode = 2
} else {
  const { minutes, seed } = settings
  console.log(`soak: ${minutes} minutes, seed ${seed}, Node ${process.version}`)
  const faults = await main(minutes, seed)
  for (const fault of faults) console.log(`FAIL ${fault}`)
  console.log(faults.length === 0 ? 'ok: nothing found' : `${faults.length} faults`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
