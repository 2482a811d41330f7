/** What a thousand waits for silent background commands cost while they last: real processes, and looks at their output. */
import { setTimeout as delay } from 'node:timers/promises'
import { mountRuntime } from '../demo/runtime.ts'
import { mountBashJobs, startBashJob } from './bash-jobs.ts'
import type { Plane } from './planes.ts'
import { pollWait } from './poll-baseline.ts'
import { cpuPercent } from './waits.ts'

const AGENTS = 100
/** The limit of the registry. */
const JOBS_EACH = 10
const WARM_UP_MS = 2_000

/** What the waits cost. */
export interface BashWaits {
  readonly waits: number
  /** Share of one core that this process takes, in percent. */
  readonly cpu: number
}

/**
 * Hold a wait on each job of many agents.
 * @param plane - the plane of this process; the limit waits without wakes.
 * @returns the figures.
 */
export async function measureBashWaits(plane: Plane): Promise<BashWaits> {
  const { ctx, createAgent } = await mountRuntime(() => 'Done.', 'native')
  await mountBashJobs(ctx, plane)
  const waits: Promise<unknown>[] = []
  const { signal } = new AbortController()
  for (let number = 0; number < AGENTS; number += 1) {
    const agent = await createAgent(`agent-${number}`)
    for (let job = 0; job < JOBS_EACH; job += 1) {
      const id = await startBashJob(ctx, agent, 'exec sleep 600')
      const wakes = plane === 'ours' ? [{ output: true, steer: true }] : []
      waits.push(
        plane === 'community'
          ? pollWait(ctx.jobs, { id, agent, timeoutMs: 600_000, signal })
          : ctx.jobs.wait(id, 600_000, agent, signal, ...wakes),
      )
    }
  }
  await delay(WARM_UP_MS)
  const cpu = await cpuPercent()
  // The service ends the processes, and with them the waits; those of the poll fail meanwhile.
  await Promise.all([Promise.allSettled(waits), ctx.fiber.dispose()])
  return { waits: waits.length, cpu }
}
