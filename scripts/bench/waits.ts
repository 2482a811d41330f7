/** What waits cost: one that starts and ends, and many that go on at the same time. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { JobId } from '@deepseek-ai/dsh-jobs'
import { Bench } from 'tinybench'
import { mountRuntime } from '../demo/runtime.ts'
import { medianUs } from './guard-cost.ts'
import { mountJobTools, type Plane } from './planes.ts'
import { pollWait } from './poll-baseline.ts'
import { ToldJob } from './told-job.ts'

const WAIT_MS = 600_000

function startJob(ctx: Context, owner: Agent): JobId {
  return ctx.jobs.start({ kind: 'bash', label: 'silent', owner, run: () => new ToldJob() })
}

/** The wait that `job_output` makes on a plane. */
function wait(ctx: Context, plane: Plane, agent: Agent, id: JobId, signal: AbortSignal): Promise<unknown> {
  switch (plane) {
    case 'stock':
      return ctx.jobs.wait(id, WAIT_MS, agent, signal)
    case 'community':
      return pollWait(ctx.jobs, { id, agent, timeoutMs: WAIT_MS, signal })
    case 'ours':
      return ctx.jobs.wait(id, WAIT_MS, agent, signal, { output: true, steer: true })
    case 'limit':
      return ctx.jobs.wait(id, WAIT_MS, agent, signal)
  }
}

async function waitOnce(ctx: Context, plane: Plane, agent: Agent, id: JobId): Promise<void> {
  const controller = new AbortController()
  const ended = wait(ctx, plane, agent, id, controller.signal).catch(() => undefined)
  controller.abort()
  await ended
}

/** What one wait costs, in microseconds. */
export type OneWait = Readonly<Record<'us', number>>

/**
 * Time a wait that is aborted at once; for the limit, one of ours without wakes.
 * @param plane - the plane of this process.
 * @returns the median.
 */
export async function measureOneWait(plane: Plane): Promise<OneWait> {
  const { ctx, createAgent } = await mountRuntime(() => 'Done.', 'native')
  await mountJobTools(ctx, plane)
  const agent = await createAgent()
  const id = startJob(ctx, agent)
  const bench = new Bench({ time: 500, warmupTime: 300 })
  bench.add('wait', () => waitOnce(ctx, plane, agent, id))
  await bench.run()
  await ctx.fiber.dispose()
  return { us: medianUs(bench) }
}

/** Whether the waits are on a job of an agent of its own each, or all on one job. */
export type Spread = 'each' | 'one'

/** What some waits cost while nothing happens. */
export interface ManyWaits {
  readonly waits: number
  readonly spread: Spread
  /** CPU time to start one of them, in microseconds. */
  readonly startUs: number
  /** Share of one core, in percent. */
  readonly cpu: number
  /** Timers that Node has pending on account of the waits. */
  readonly timers: number
  /** Heap for each wait, its job and its agent not counted, in KiB. */
  readonly heapKib: number
}

const SCENES: readonly (readonly [number, Spread])[] = [
  [1, 'each'],
  [10, 'each'],
  [100, 'each'],
  [1_000, 'each'],
  [1_000, 'one'],
]
/** Polls run interpreted at first. */
const WARM_UP_MS = 1_500
const WINDOW_MS = 2_000

export async function cpuPercent(): Promise<number> {
  const startedAt = performance.now()
  const before = process.cpuUsage()
  await delay(WINDOW_MS)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 10 / (performance.now() - startedAt)
}

function pendingTimers(): number {
  return process.getActiveResourcesInfo().filter(resource => resource === 'Timeout').length
}

function heapKib(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 1_024
}

async function holdWaits(plane: Plane, count: number, spread: Spread): Promise<ManyWaits> {
  const { ctx, createAgent } = await mountRuntime(() => 'Done.', 'native')
  await mountJobTools(ctx, plane)
  const owned: { agent: Agent; id: JobId }[] = []
  for (let index = 0; index < (spread === 'each' ? count : 1); index += 1) {
    const agent = await createAgent(`agent-${index}`)
    owned.push({ agent, id: startJob(ctx, agent) })
  }
  // What is compiled for the first waits is no wait's.
  for (const { agent, id } of owned)
    for (let round = 0; round < 100 / owned.length; round += 1) await waitOnce(ctx, plane, agent, id)
  const targets = Array.from({ length: count }, (_, index) => owned[index % owned.length]).filter(
    target => target !== undefined,
  )
  const before = { timers: pendingTimers(), heap: heapKib() }
  const idle = process.cpuUsage()
  const waits = targets.map(({ agent, id }) => wait(ctx, plane, agent, id, new AbortController().signal))
  const { user, system } = process.cpuUsage(idle)
  const after = { timers: pendingTimers(), heap: heapKib() }
  await delay(WARM_UP_MS)
  const cpu = await cpuPercent()
  for (const { agent, id } of owned) ctx.jobs.kill(id, agent)
  await Promise.all(waits)
  await ctx.fiber.dispose()
  return {
    waits: count,
    spread,
    startUs: (user + system) / count,
    cpu,
    timers: after.timers - before.timers,
    heapKib: (after.heap - before.heap) / count,
  }
}

/**
 * Hold 1, 10, 100 and 1,000 waits on as many jobs of as many agents, and 1,000 on one job; needs `--expose-gc`.
 * @param plane - the plane of this process.
 * @returns one entry a scene.
 */
export async function measureManyWaits(plane: Plane): Promise<ManyWaits[]> {
  const results = []
  for (const [count, spread] of SCENES) results.push(await holdWaits(plane, count, spread))
  return results
}
