/**
 * A model that waits for a printing job until it ends, in the real loop with the real reminder of repeated calls, in
 * virtual time.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { GenerateOptions, StreamChunk } from '@deepseek-ai/dsh-llm'
import * as repeatToolReminder from '@deepseek-ai/dsh-repeat-tool-reminder'
import { ScriptedModel, userMessage } from './world.ts'
import { newWorld } from './worlds.ts'

const REMINDER = /^You are repeating the exact same tool call|^Repeated tool call detected/

/** What a request shows: the last result of a tool, and all other texts. */
function textsOf({ messages }: GenerateOptions) {
  const blocks = messages.flatMap(({ content }) => content)
  const results = blocks.flatMap(block => (block.type === 'tool-result' ? block.content : []))
  const texts = (all: typeof blocks) => all.flatMap(block => (block.type === 'text' ? block.text : []))
  return { result: texts(results).at(-1) ?? '', others: texts(blocks) }
}

/** A choice of the next `timeout_ms`, given the last result and the last `timeout_ms`. */
type Choice = (result: string, timeoutMs: number) => number

/** Does what the wake line says, and says the same again where there is none. */
const asTheLineSays: Choice = (result, timeoutMs) =>
  Number(/\[wake: JOB_OUTPUT_RESUMED; .* timeout_ms: (\d+);/.exec(result)?.[1] ?? timeoutMs)

const theSame: Choice = (_result, timeoutMs) => timeoutMs

/** Waits again until the job has ended. */
class WaitingModel extends ScriptedModel {
  /** How many waits output has ended. */
  woken = 0
  reminders = 0
  private timeoutMs: number
  private readonly thinksMs: number
  private readonly choose: Choice

  constructor(firstTimeoutMs: number, thinksMs: number, choose: Choice) {
    super()
    this.timeoutMs = firstTimeoutMs
    this.thinksMs = thinksMs
    this.choose = choose
  }

  override stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const { result, others } = textsOf(options)
    if (result.includes('JOB_OUTPUT_RESUMED')) this.woken++
    this.reminders = others.filter(text => REMINDER.test(text)).length
    this.timeoutMs = this.choose(result, this.timeoutMs)
    const wait = { tool: 'job_output', args: { job_id: 'bash-1', wait: true, timeout_ms: this.timeoutMs } }
    const reply = result.includes('[status: completed') ? 'done' : wait
    this.replies.push(new Promise(resolve => setTimeout(resolve, this.thinksMs, reply)))
    return super.stream(options)
  }
}

/** A job's lines, by the times at which they are printed. */
const everyMs = (intervalMs: number, jobMs: number) =>
  Array.from({ length: Math.ceil(jobMs / intervalMs) - 1 }, (_, line) => intervalMs * (line + 1))

/** Play a job of so many milliseconds, to its end and to the end of the model's turn. */
async function play(model: WaitingModel, jobMs: number, lines: number[]): Promise<void> {
  const world = await newWorld({ model })
  await world.ctx.plugin(repeatToolReminder, {})
  const agent = await world.agent()
  const job = world.job({ owner: agent })
  const startedAt = performance.now()
  const printNext = ([at, ...later]: number[]) => {
    if (at === undefined) return
    setTimeout(
      () => {
        job.print(`line at ${at}\n`)
        printNext(later)
      },
      startedAt + at - performance.now(),
    )
  }
  printNext(lines)
  agent.followup(userMessage('wait for it'))
  await vi.advanceTimersByTimeAsync(jobMs)
  await job.end()
  await vi.runAllTimersAsync()
  await agent.whenIdle()
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a model that waits for a job with a line a second', () => {
  it.each([
    // In whole seconds: the job, the first wait, and the model's pause before each call.
    { jobS: 95, waitS: 30, thinksS: 0, woken: 7 },
    { jobS: 95, waitS: 600, thinksS: 0, woken: 7 },
    { jobS: 300, waitS: 30, thinksS: 0, woken: 9 },
    { jobS: 300, waitS: 600, thinksS: 0, woken: 9 },
    { jobS: 300, waitS: 30, thinksS: 3, woken: 9 },
    { jobS: 300, waitS: 600, thinksS: 12, woken: 8 },
    { jobS: 3_600, waitS: 30, thinksS: 0, woken: 36 },
    { jobS: 3_600, waitS: 600, thinksS: 0, woken: 36 },
  ])(
    'of $jobS s, as the wake line says after a wait of $waitS s and pauses of $thinksS s, is never told that it repeats itself',
    async ({ jobS, waitS, thinksS, woken }) => {
      const model = new WaitingModel(waitS * 1_000, thinksS * 1_000, asTheLineSays)
      await play(model, jobS * 1_000, everyMs(1_000, jobS * 1_000))
      expect(model.reminders).toBe(0)
      expect(model.woken).toBe(woken)
    },
  )

  it('with the same arguments each time, is told at the third, fifth and eighth call that it repeats itself', async () => {
    const model = new WaitingModel(600_000, 0, theSame)
    await play(model, 95_000, everyMs(1_000, 95_000))
    expect(model.woken).toBe(7)
    expect(model.reminders).toBe(3)
  })
})

describe('the model steps that the output of a minute costs', () => {
  it.each([
    ['a line every 50 ms', everyMs(50, 60_000), 3],
    ['a line a second', everyMs(1_000, 60_000), 6],
    ['a burst of 100 lines, then silence', Array.from({ length: 100 }, (_, line) => 440 + line), 1],
    ['one line at 0.44 s, then silence', [440], 1],
  ])('%s', async (_what, lines, steps) => {
    const model = new WaitingModel(600_000, 0, asTheLineSays)
    await play(model, 60_000, lines)
    expect(model.woken).toBe(steps)
  })
})
