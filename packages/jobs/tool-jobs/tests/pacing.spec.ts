import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { GenerateOptions, StreamChunk } from '@deepseek-ai/dsh-llm'
import { ScriptedModel, userMessage, type TestJob } from './world.ts'
import { newWorld } from './worlds.ts'

/** Always waits for the job once more, as long as it may. */
class PatientModel extends ScriptedModel {
  override stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    this.replies.push({ tool: 'job_output', args: { job_id: 'bash-1', wait: true, timeout_ms: 600_000 } })
    return super.stream(options)
  }
}

const every = (intervalMs: number) => (job: TestJob) => {
  let line = 0
  setInterval(() => {
    job.print(`line ${++line}\n`)
  }, intervalMs)
}

const lines = (count: number) => (job: TestJob) => {
  setTimeout(() => {
    job.print('10%\n'.repeat(count))
  }, 440)
}

/** A fixed poll and a fixed grace, without pacing: the documented defaults of the community plugin. */
const FIXED = { pollMs: 200, graceMs: 1_000, maxHoldMs: 1_000, outputIntervalMs: 0 }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('the model steps that a job costs in a minute of waiting', () => {
  async function steps(print: (job: TestJob) => void, config: object): Promise<number> {
    const model = new PatientModel()
    const world = await newWorld({ model, config })
    const agent = await world.agent()
    const job = world.job({ owner: agent })
    agent.followup(userMessage('wait for it'))
    await vi.advanceTimersByTimeAsync(0)
    print(job)
    await vi.advanceTimersByTimeAsync(60_000)
    // The first request begins the first wait; each further one was bought by output.
    const bought = model.requests.length - 1
    agent.cancel({ kind: 'user' })
    return bought
  }

  it.each([
    ['a line every 50 ms', every(50), 6, 50],
    ['a line a second', every(1_000), 6, 30],
    ['a burst of 100 lines, then silence', lines(100), 1, 1],
    ['one line at 0.44 s, then silence', lines(1), 1, 1],
  ])('%s', async (_what, print, paced, fixed) => {
    expect(await steps(print, {})).toBe(paced)
    expect(await steps(print, FIXED)).toBe(fixed)
  })
})
