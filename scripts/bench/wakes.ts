/** How long a steer and a job's first output take to reach the model during `job_output(wait: true)`. */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { CallId } from '@deepseek-ai/dsh-llm'
import { eventsOf, lastText, mountRuntime, textOf, until, type Reply } from '../demo/runtime.ts'
import { mountBashJobs } from './bash-jobs.ts'
import { median, userMessage, type Plane } from './planes.ts'

/** The longest wait that the model asks for; the published packages sit out all of it. */
export const WAIT_MS = 6_000

/** Times in milliseconds, each the median of some runs. */
export interface WakeTimes {
  readonly steerToResult: number
  readonly steerToRequest: number
  readonly outputToResult: number
}

const STEER = 'Stop. Switch to the other task.'

/** Starts one background job and waits for it once. */
function waitingModel(command: string) {
  return (text: string): Reply => {
    if (text.startsWith('Begin')) {
      return { name: 'bash', args: { command, description: 'Run the job', run_in_background: true } }
    }
    const started = /started background job (\S+)/.exec(text)
    if (started === null) return 'Done.'
    return { name: 'job_output', args: { job_id: started[1], wait: true, timeout_ms: WAIT_MS } }
  }
}

async function mountBashAgent(plane: Plane, command: string) {
  const model = waitingModel(command)
  const runtime = await mountRuntime(request => model(lastText(request)), 'native')
  const { ctx } = runtime
  await mountBashJobs(ctx, plane)
  const agent = await runtime.createAgent()
  const result = resultOfWait(ctx, agent)
  agent.followup(userMessage('Begin'))
  return { ...runtime, agent, result }
}

/** The first result of a wait, with the time at which it was logged. */
function resultOfWait(ctx: Context, agent: Agent): Promise<{ at: number; text: string }> {
  const { promise, resolve } = Promise.withResolvers<{ at: number; text: string }>()
  let call: CallId | undefined
  ctx.on('session/event', (session, event) => {
    if (session !== agent.session) return
    if (event.type === 'tool/call' && event.data.name === 'job_output') call = event.data.callId
    if (event.type === 'tool/result' && event.data.message.source.callId === call) {
      resolve({ at: performance.now(), text: textOf(event.data.message.content) })
    }
  })
  return promise
}

async function steerOnce(plane: Plane) {
  const { ctx, model, agent, result } = await mountBashAgent(plane, 'sleep 30')
  await until(ctx, agent, () => eventsOf(agent, 'tool/call').some(({ data }) => data.name === 'job_output'))
  await new Promise(resolve => setTimeout(resolve, 300))
  const steeredAt = performance.now()
  agent.steer(userMessage(STEER))
  const { at } = await result
  await agent.whenIdle()
  const read = model.requests.find(({ request }) =>
    request.messages.some(message => textOf(message.content).includes(STEER)),
  )
  await ctx.fiber.dispose()
  return { toResult: at - steeredAt, toRequest: (read?.at ?? Number.NaN) - steeredAt }
}

async function printOnce(plane: Plane): Promise<number> {
  const { ctx, result } = await mountBashAgent(plane, "sleep 0.44; date +'10%% at %s%3N'; sleep 30")
  const { at, text } = await result
  await ctx.fiber.dispose()
  return performance.timeOrigin + at - Number(/at (\d+)/.exec(text)?.[1])
}

/**
 * Measure a plane.
 * @param plane - the plane of this process.
 * @returns medians.
 */
export async function measureWakes(plane: Plane): Promise<WakeTimes> {
  const runs = { stock: 1, community: 3, ours: 5, limit: 5 }[plane]
  const steers = []
  const prints = []
  for (let run = 0; run < runs; run += 1) {
    steers.push(await steerOnce(plane))
    prints.push(await printOnce(plane))
  }
  return {
    steerToResult: median(steers.map(({ toResult }) => toResult)),
    steerToRequest: median(steers.map(({ toRequest }) => toRequest)),
    outputToResult: median(prints),
  }
}
