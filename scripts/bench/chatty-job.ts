/**
 * The model steps that a printing job costs a model which waits for its end, over a minute of virtual time in the real
 * agent loop.
 */
import FakeTimers from '@sinonjs/fake-timers'
import type { JobOutcome } from '@deepseek-ai/dsh-jobs'
import { eventsOf, lastText, mountRuntime, textOf, type Reply } from '../demo/runtime.ts'
import { mountJobTools, userMessage, type Plane } from './planes.ts'

const MINUTE_MS = 60_000

/** When each pattern prints a line, in milliseconds. */
const PATTERNS = {
  'a line every 50 ms': Array.from({ length: 1_199 }, (_, line) => 50 * (line + 1)),
  'a line every second': Array.from({ length: 59 }, (_, line) => 1_000 * (line + 1)),
  'a burst of 100 lines, then silence': Array.from({ length: 100 }, (_, line) => 440 + line),
  'one line at 0.44 s, then silence': [440],
}

/** Waits that came back while the job went on, by pattern. */
export type ChattySteps = Record<keyof typeof PATTERNS, number>

function startPrinting(times: readonly number[]) {
  const { promise, resolve } = Promise.withResolvers<JobOutcome>()
  let unread = ''
  for (const time of times) setTimeout(() => (unread += `line at ${time}\n`), time)
  setTimeout(() => {
    resolve({ status: 'completed' })
  }, MINUTE_MS)
  return {
    done: promise,
    cancel: () => {
      resolve({ status: 'killed' })
    },
    readOutput: () => {
      const text = unread
      unread = ''
      return text
    },
  }
}

function patientModel(text: string): Reply {
  if (!text.startsWith('Begin') && !text.includes('[status: running')) return 'The job has ended.'
  return { name: 'job_output', args: { job_id: 'bash-1', wait: true, timeout_ms: 600_000 } }
}

async function countSteps(plane: Plane, times: readonly number[]): Promise<number> {
  const clock = FakeTimers.install({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  })
  try {
    const { ctx, createAgent } = await mountRuntime(request => patientModel(lastText(request)), 'native')
    await mountJobTools(ctx, plane)
    const agent = await createAgent()
    ctx.jobs.start({ kind: 'bash', label: 'print', owner: agent, run: () => startPrinting(times) })
    agent.followup(userMessage('Begin'))
    await clock.tickAsync(MINUTE_MS)
    await agent.whenIdle()
    const results = eventsOf(agent, 'tool/result').map(({ data }) => textOf(data.message.content))
    await ctx.fiber.dispose()
    return results.filter(text => text.includes('[status: running')).length
  } finally {
    clock.uninstall()
  }
}

/**
 * Measure a plane.
 * @param plane - the plane of this process.
 * @returns the steps, by pattern.
 */
export async function measureChattyJobs(plane: Plane): Promise<ChattySteps> {
  const steps: [string, number][] = []
  for (const [pattern, times] of Object.entries(PATTERNS)) steps.push([pattern, await countSteps(plane, times)])
  return Object.fromEntries(steps) as ChattySteps
}
