/** What waits cost: one that starts and ends, and many that go on at the same time. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { JobHooks, JobId, JobOutcome } from '@deepseek-ai/dsh-jobs'
import { Bench } from 'tinybench'
import { mountRuntime } from '../demo/runtime.ts'
import { medianUs } from './guard-cost.ts'
import { mountJobTools, type Plane } from './planes.ts'
import { pollWait } from './poll-baseline.ts'

/** A job that prints nothing, and says so either by a signal that never comes or only when asked. */
export type Producer = 'push' | 'pull'

const WAIT_MS = 600_000

function silentJob(producer: Producer): JobHooks {
  const { promise, resolve } = Promise.withResolvers<JobOutcome>()
  return {
    done: promise,
    cancel: () => {
      resolve({ status: 'killed' })
    },
    readOutput: () => '',
    ...(producer === 'push' && { onOutput: () => () => undefined }),
  }
}

function startJob(ctx: Context, owner: Agent, producer: Producer): JobId {
  return ctx.jobs.start({ kind: 'bash', label: 'silent', owner, run: () => silentJob(producer) })
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

/** What one wait costs, in microseconds, by the kind of its job. */
export type OneWait = Record<Producer, number>

/**
 * Time a wait that is aborted at once; for the limit, one of ours without wakes.
 * @param plane - the plane of this process.
 * @returns medians.
 */
export async function measureOneWait(plane: Plane): Promise<OneWait> {
  return { push: await timeWait(plane, 'push'), pull: await timeWait(plane, 'pull') }
}

async function timeWait(plane: Plane, producer: Producer): Promise<number> {
  const { ctx, createAgent } = await mountRuntime(() => 'Done.', 'native')
  await mountJobTools(ctx, plane)
  const agent = await createAgent()
  const id = startJob(ctx, agent, producer)
  const bench = new Bench({ time: 500, warmupTime: 300 })
  bench.add('wait', async () => {
    const controller = new AbortController()
    const ended = wait(ctx, plane, agent, id, controller.signal).catch(() => undefined)
    controller.abort()
    await ended
  })
  await bench.run()
  await ctx.fiber.dispose()
  return medianUs(bench)
}

/** What some waits cost while nothing happens. */
export interface ManyWaits {
  readonly waits: number
  /** Share of one core, in percent. */
  readonly cpu: number
  /** Timers that Node has pending on account of the waits. */
  readonly timers: number
  /** Heap for each wait, its job and its agent not counted, in KiB. */
  readonly heapKib: number
}

const COUNTS = [1, 10, 100, 1_000]
/** Polls run interpreted at first. */
const WARM_UP_MS = 1_500
const WINDOW_MS = 2_000

async function cpuPercent(): Promise<number> {
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

async function holdWaits(plane: Plane, producer: Producer, count: number): Promise<ManyWaits> {
  const { ctx, createAgent } = await mountRuntime(() => 'Done.', 'native')
  await mountJobTools(ctx, plane)
  const owned: { agent: Agent; id: JobId }[] = []
  for (let index = 0; index < count; index += 1) {
    const agent = await createAgent(`agent-${index}`)
    owned.push({ agent, id: startJob(ctx, agent, producer) })
  }
  const before = { timers: pendingTimers(), heap: heapKib() }
  const waits = owned.map(({ agent, id }) => wait(ctx, plane, agent, id, new AbortController().signal))
  const after = { timers: pendingTimers(), heap: heapKib() }
  await delay(WARM_UP_MS)
  const cpu = await cpuPercent()
  for (const { agent, id } of owned) ctx.jobs.kill(id, agent)
  await Promise.all(waits)
  await ctx.fiber.dispose()
  return {
    waits: count,
    cpu,
    timers: after.timers - before.timers,
    heapKib: (after.heap - before.heap) / count,
  }
}

/**
 * Hold 1, 10, 100 and 1,000 waits on as many agents; needs `--expose-gc`.
 * @param plane - the plane of this process.
 * @param producer - the kind of jobs that are waited for.
 * @returns one entry a count.
 */
export async function measureManyWaits(plane: Plane, producer: Producer): Promise<ManyWaits[]> {
  const results = []
  for (const count of COUNTS) results.push(await holdWaits(plane, producer, count))
  return results
}
