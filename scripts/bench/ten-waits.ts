/** How long a steer takes to the next model request, where one step of the model makes ten waits. */
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread'
import { runCode } from '../demo/questions.ts'
import { eventsOf, mountRuntime, textOf, until, type Reply } from '../demo/runtime.ts'
import { isStock, median, mountJobTools, userMessage, type Plane } from './planes.ts'
import { ToldJob } from './told-job.ts'

/** The longest of each of the ten waits; the published packages sit out all of them. */
export const EACH_WAIT_MS = 1_500

/** Times from the steer to the request that has it, in milliseconds. */
export interface TenWaits {
  readonly native: number
  readonly code: number
  readonly codeTogether: number
}

const STEER = 'Stop. Switch to the other task.'
const IDS = Array.from({ length: 10 }, (_, index) => `bash-${index + 1}`)
const waitFor = (id: string) => ({ job_id: id, wait: true, timeout_ms: EACH_WAIT_MS })

const STEPS: Record<keyof TenWaits, Reply> = {
  native: IDS.map(id => ({ name: 'job_output', args: waitFor(id) })),
  code: runCode(
    `for (const args of ${JSON.stringify(IDS.map(waitFor))}) await tools.job_output(args)`,
    'wait for each job',
  ),
  codeTogether: runCode(
    `await Promise.all(${JSON.stringify(IDS.map(waitFor))}.map(args => tools.job_output(args)))`,
    'wait for all jobs',
  ),
}

async function steerTenWaits(plane: Plane, kind: keyof TenWaits): Promise<number> {
  const { ctx, model, createAgent } = await mountRuntime(
    () => (model.requests.length === 1 ? STEPS[kind] : 'Done.'),
    kind === 'native' ? 'native' : 'code',
  )
  await ctx.plugin(WorkerThreadCodeRuntime)
  await mountJobTools(ctx, plane)
  const agent = await createAgent()
  for (const label of IDS) ctx.jobs.start({ kind: 'bash', label, owner: agent, run: () => new ToldJob() })
  agent.followup(userMessage('Begin'))
  await until(ctx, agent, () => eventsOf(agent, 'tool/call').length > 0)
  await new Promise(resolve => setTimeout(resolve, 1_000))
  const steeredAt = performance.now()
  agent.steer(userMessage(STEER))
  await agent.whenIdle()
  const read = model.requests.find(({ request }) =>
    request.messages.some(message => textOf(message.content).includes(STEER)),
  )
  await ctx.fiber.dispose()
  return (read?.at ?? Number.NaN) - steeredAt
}

/**
 * Measure a plane.
 * @param plane - the plane of this process.
 * @returns medians of some runs of each kind, or the one run of a plane that sits the waits out.
 */
export async function measureTenWaits(plane: Plane): Promise<TenWaits> {
  const runs = isStock(plane) ? 1 : 5
  const medianOf = async (kind: keyof TenWaits) => {
    const times: number[] = []
    for (let run = 0; run < runs; run += 1) times.push(await steerTenWaits(plane, kind))
    return median(times)
  }
  return {
    native: await medianOf('native'),
    code: await medianOf('code'),
    codeTogether: await medianOf('codeTogether'),
  }
}
