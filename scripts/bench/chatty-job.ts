/**
 * The model steps that a printing job costs a model which waits for its end, and how old the lines are that it sees, in
 * virtual time and in the real agent loop.
 */
import FakeTimers from '@sinonjs/fake-timers'
import { lastText, mountRuntime, textOf, type Reply } from '../demo/runtime.ts'
import { mountJobTools, userMessage, type Plane } from './planes.ts'
import { ToldJob } from './told-job.ts'

/** When a job prints, and when it ends, in milliseconds. */
interface Pattern {
  readonly prints: readonly number[]
  readonly untilMs: number
}

function every(periodMs: number, untilMs: number): Pattern {
  return {
    prints: Array.from({ length: Math.ceil(untilMs / periodMs) - 1 }, (_, line) => periodMs * (line + 1)),
    untilMs,
  }
}

const PATTERNS = {
  'ten minutes of a dot every 100 ms': every(100, 600_000),
  'an hour of a line every second': every(1_000, 3_600_000),
  'a minute of a line every 50 ms': every(50, 60_000),
  'a minute: 100 lines at once': { prints: Array.from({ length: 100 }, (_, line) => 440 + line), untilMs: 60_000 },
  'a minute: one line at 0.44 s': { prints: [440], untilMs: 60_000 },
}

/** What a pattern comes to on a plane. */
export interface Chat {
  /** Waits that came back while the job went on. */
  readonly steps: number
  /** How long after it was printed a line was in the model's hands, in seconds, on average and at most. */
  readonly meanLag: number
  readonly worstLag: number
}

/** Results by pattern. */
export type ChattyJobs = Record<keyof typeof PATTERNS, Chat>

function patientModel(text: string): Reply {
  if (!text.startsWith('Begin') && !text.includes('[status: running')) return 'The job has ended.'
  return { name: 'job_output', args: { job_id: 'bash-1', wait: true, timeout_ms: 600_000 } }
}

/** One timer at a time: an hour of lines is no hour of timers. */
function playPattern(job: ToldJob, { prints, untilMs }: Pattern, startedAt: number, index = 0): void {
  const at = prints[index] ?? untilMs
  setTimeout(
    () => {
      if (index === prints.length) {
        job.end({ status: 'completed' })
        return
      }
      job.print(`<${at}>`)
      playPattern(job, { prints, untilMs }, startedAt, index + 1)
    },
    at - (performance.now() - startedAt),
  )
}

async function chat(plane: Plane, pattern: Pattern): Promise<Chat> {
  const clock = FakeTimers.install({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  })
  try {
    const { ctx, createAgent } = await mountRuntime(request => patientModel(lastText(request)), 'native')
    await mountJobTools(ctx, plane)
    const agent = await createAgent()
    const job = new ToldJob()
    ctx.jobs.start({ kind: 'bash', label: 'print', owner: agent, run: () => job })
    const startedAt = performance.now()
    let steps = 0
    const lags: number[] = []
    ctx.on('session/event', (_session, event) => {
      if (event.type !== 'tool/result') return
      const text = textOf(event.data.message.content)
      if (text.includes('[status: running')) steps += 1
      for (const [, printedAt] of text.matchAll(/<(\d+)>/g))
        lags.push(performance.now() - startedAt - Number(printedAt))
    })
    playPattern(job, pattern, startedAt)
    agent.followup(userMessage('Begin'))
    // A poll sees the end after it.
    await clock.tickAsync(pattern.untilMs + 1_000)
    await agent.whenIdle()
    await ctx.fiber.dispose()
    if (lags.length !== pattern.prints.length) throw new Error(`${lags.length} lines read of ${pattern.prints.length}`)
    const meanMs = lags.reduce((sum, lag) => sum + lag, 0) / lags.length
    return { steps, meanLag: meanMs / 1_000, worstLag: Math.max(...lags) / 1_000 }
  } finally {
    clock.uninstall()
  }
}

/**
 * Measure a plane.
 * @param plane - the plane of this process.
 * @returns the results, by pattern.
 */
export async function measureChattyJobs(plane: Plane): Promise<ChattyJobs> {
  const results: [string, Chat][] = []
  for (const [name, pattern] of Object.entries(PATTERNS)) results.push([name, await chat(plane, pattern)])
  return Object.fromEntries(results) as ChattyJobs
}
