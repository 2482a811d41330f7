/** A model that waits for a job again and again, in virtual time. */
import { vi } from 'vitest'
import type { JobWakeOptions } from '@deepseek-ai/dsh-jobs'
import { mountJobs, StreamProducer } from './harness.ts'

/** How the model works, and what the job prints. Times are milliseconds. */
export interface Life {
  /** When the job prints, in order. */
  readonly prints: Iterable<number>
  /** How long the model thinks between two calls. */
  readonly pauseMs: number
  /** How long each wait may last. */
  readonly timeoutMs: number
  readonly untilMs: number
  readonly wake?: JobWakeOptions
}

/** What it came to, with times from the start of the job. */
export interface Course {
  /** When output ended a wait. */
  readonly ends: readonly number[]
  /** How many waits ended: the model steps. */
  readonly steps: number
  /** For each print, when its text was read. */
  readonly readAt: ReadonlyMap<number, number>
}

/**
 * Live a job's life on the fake clock.
 * @param life - the job and the model.
 * @returns what happened.
 */
export async function live({ prints, pauseMs, timeoutMs, untilMs, wake }: Life): Promise<Course> {
  const { ctx } = await mountJobs()
  vi.useFakeTimers()
  try {
    const startedAt = performance.now()
    const now = () => performance.now() - startedAt
    const producer = new StreamProducer()
    printAt(producer, prints[Symbol.iterator](), now, untilMs)
    const id = ctx.jobs.start(producer.spec())
    const ends: number[] = []
    const readAt = new Map<number, number>()
    let steps = 0
    const model = async () => {
      for (;;) {
        const { wokenBy } = await ctx.jobs.wait(id, timeoutMs, undefined, undefined, { output: true, ...wake })
        steps += 1
        if (wokenBy !== undefined) ends.push(now())
        for (const [print] of ctx.jobs.read(id).text.matchAll(/\S+/g)) readAt.set(Number(print), now())
        if (pauseMs > 0) await new Promise(resolve => setTimeout(resolve, pauseMs))
      }
    }
    void model()
    await vi.advanceTimersByTimeAsync(untilMs)
    return { ends, steps, readAt }
  } finally {
    vi.useRealTimers()
  }
}

/**
 * Print at regular times.
 * @param periodMs - the time between two prints, and before the first.
 * @param untilMs - the time of the last one.
 */
export function* every(periodMs: number, untilMs = Infinity): Generator<number> {
  for (let time = periodMs; time <= untilMs; time += periodMs) yield time
}

/** One timer at a time, so that an hour of lines is not an hour of timers. */
function printAt(producer: StreamProducer, prints: Iterator<number>, now: () => number, untilMs: number): void {
  const next = prints.next()
  if (next.done === true || next.value > untilMs) return
  setTimeout(() => {
    producer.print(`${next.value} `)
    printAt(producer, prints, now, untilMs)
  }, next.value - now())
}
