import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { LocalBashExecutor } from '@deepseek-ai/dsh-bash-local'
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread'
import { JobId } from '@deepseek-ai/dsh-jobs'
import type { GenerateOptions } from '@deepseek-ai/dsh-llm'
import * as shellEnv from '@deepseek-ai/dsh-shell-env'
import { LocalSubprocessRuntime } from '@deepseek-ai/dsh-subprocess-local'
import * as toolBash from '@deepseek-ai/dsh-tool-bash'
import { LocalJobRegistry as StockJobRegistry } from 'stock-jobs-local'
import * as stockToolJobs from 'stock-tool-jobs'
import { newsOf, noticesOf, ScriptedModel, userMessage, type Reply, type World, type WorldOptions } from './world.ts'
import { newWorld } from './worlds.ts'

const STOCK = { registry: StockJobRegistry, tools: stockToolJobs }

/** The wait that the model asks for, in milliseconds, and what it takes at most if something ends it early. */
const WAIT = 30_000
const EARLY = WAIT / 10

const JOB = JobId('bash-1')

const inBackground = (command: string): Reply => ({
  tool: 'bash',
  args: { command, description: 'Run it in the background', run_in_background: true },
})

const wait = (timeoutMs: number, more: object = {}): Reply => ({
  tool: 'job_output',
  args: { job_id: JOB, wait: true, timeout_ms: timeoutMs, ...more },
})

const read: Reply = { tool: 'job_output', args: { job_id: JOB } }

/** A model that answers in turn, and says when it was asked what. */
class TimedModel extends ScriptedModel {
  readonly times: number[] = []

  override stream(options: GenerateOptions) {
    this.times.push(Date.now())
    return super.stream(options)
  }
}

/** The real shell under a real agent loop, with a user who has said `go`. */
async function begin(replies: Reply[], options: Partial<WorldOptions> = {}) {
  const model = new TimedModel(...replies)
  const world = await newWorld({ model, ...options })
  if (options.toolRuntime?.mode === 'code') await world.ctx.plugin(WorkerThreadCodeRuntime, {})
  await world.ctx.plugin(LocalSubprocessRuntime)
  await world.ctx.plugin(LocalBashExecutor, { cwd: folder })
  await world.ctx.plugin(shellEnv, {})
  await world.ctx.plugin(toolBash, {})
  const agent = await world.agent()
  agent.followup(userMessage('go'))
  return { world, model, agent }
}

const status = ({ ctx }: World, agent: Agent) => ctx.jobs.get(JOB, agent).status

/** The job is left alive by the scenario; end it so that the world can go. */
function kill({ ctx }: World, agent: Agent): void {
  ctx.jobs.kill(JOB, agent)
}

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wakes-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** The part of a command that waits for `goOn`. */
const UNTIL_TOLD = 'until [ -e go-on ]; do sleep 0.05; done'

const goOn = () => writeFile(join(folder, 'go-on'), '')

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

describe('a real background job and its first output (#6285)', () => {
  /** It says itself when it printed, so that the shell's own start does not count. */
  const COMMAND = 'sleep 0.44; echo "10% at $EPOCHREALTIME"; sleep 30'

  it('comes back while the job goes on', async () => {
    const { world, model, agent } = await begin([inBackground(COMMAND), wait(WAIT), 'so far so good'])
    await agent.whenIdle()

    const [result = ''] = newsOf(model, 2).results
    expect(result).toMatch(/^10% at [\d.]+\n\[wake: JOB_OUTPUT_RESUMED; .*\]\n\[status: running\]$/)
    const printedAt = 1_000 * Number(/[\d.]{10,}/.exec(result)?.[0])
    expect((model.times[2] ?? Infinity) - printedAt).toBeLessThan(EARLY)
    expect(status(world, agent)).toBe('running')
    kill(world, agent)
  })

  it('leaves the later output and the completion notice as they were', async () => {
    const command = `echo 10%; ${UNTIL_TOLD}; echo 100%`
    const { model, agent } = await begin([inBackground(command), wait(WAIT), 'so far so good', read, 'done'])
    await agent.whenIdle()
    await goOn()
    await expect.poll(() => model.requests.length, { timeout: 20_000 }).toBe(5)
    await agent.whenIdle()

    expect(newsOf(model, 2).results[0]).toMatch(/^10%\n\[wake: JOB_OUTPUT_RESUMED/)
    expect(newsOf(model, 3).messages).toEqual([
      `background job bash-1 (bash: ${command}) finished [status: completed, exit code: 0]. Read its output with job_output.`,
    ])
    expect(newsOf(model, 4).results[0]).toBe('100%\n[status: completed, exit code: 0]')
    expect(noticesOf(agent)).toHaveLength(1)
  })

  it('is asked for the end only, and gets it whole', async () => {
    const command = 'for i in 1 2 3; do echo $i; sleep 0.2; done'
    const { model, agent } = await begin([inBackground(command), wait(WAIT, { wake_on_output: false }), 'done'])
    await agent.whenIdle()
    expect(newsOf(model, 2).results[0]).toBe('1\n2\n3\n[status: completed, exit code: 0]')
  })

  it('with the published registry and tools comes back at the timeout', async () => {
    const { world, model, agent } = await begin([inBackground(COMMAND), wait(2_500), 'at last'], STOCK)
    await agent.whenIdle()
    expect(newsOf(model, 2).results[0]).toMatch(/^10% at [\d.]+\n\[status: running\]$/)
    expect((model.times[2] ?? 0) - (model.times[1] ?? 0)).toBeGreaterThanOrEqual(2_500)
    kill(world, agent)
  })
})

describe('a real background job and a message of the user (#6030)', () => {
  const STOP = 'stop, switch tasks'

  /** Send something 0.3 s into the wait, and say when. */
  async function during(world: World, send: () => void): Promise<number> {
    await world.waitedFor({ id: JOB })
    await pause(300)
    send()
    return Date.now()
  }

  it('is read at once: the very next model request has it', async () => {
    const { world, model, agent } = await begin([inBackground('sleep 30'), wait(WAIT), 'switching'])
    const sentAt = await during(world, () => {
      agent.steer(userMessage(STOP))
    })
    await agent.whenIdle()

    expect(newsOf(model, 2).results[0]).toMatch(
      /^\(no new output\)\n\[wake: STEER_PREEMPTED; .*\]\n\[status: running\]$/,
    )
    expect(newsOf(model, 2).messages).toEqual([STOP])
    expect((model.times[2] ?? Infinity) - sentAt).toBeLessThan(EARLY)
    expect(status(world, agent)).toBe('running')
    kill(world, agent)
  })

  it('with the published registry and tools is read after the timeout', async () => {
    const { world, model, agent } = await begin([inBackground('sleep 30'), wait(2_500), 'switching'], STOCK)
    await during(world, () => {
      agent.steer(userMessage(STOP))
    })
    await agent.whenIdle()

    expect(newsOf(model, 2)).toEqual({ results: ['(no new output)\n[status: running]'], messages: [STOP] })
    expect((model.times[2] ?? 0) - (model.times[1] ?? 0)).toBeGreaterThanOrEqual(2_500)
    kill(world, agent)
  })

  it("another job's notice leaves the wait alone", async () => {
    const replies = [inBackground('sleep 30'), inBackground('sleep 0.4'), wait(1_200), 'waited']
    const { world, model, agent } = await begin(replies)
    await agent.whenIdle()

    await expect.poll(() => noticesOf(agent), { timeout: 20_000 }).toHaveLength(1)
    expect(newsOf(model, 3).results[0]).toBe('(no new output)\n[status: running]')
    expect((model.times[3] ?? 0) - (model.times[2] ?? 0)).toBeGreaterThanOrEqual(1_200)
    kill(world, agent)
  })

  it('a job that ends within the window returns its real result', async () => {
    const replies = [inBackground(`${UNTIL_TOLD}; exit 3`), wait(WAIT), 'done']
    const { world, model, agent } = await begin(replies, { config: { graceMs: 20_000 } })
    await during(world, () => {
      agent.steer(userMessage('well?'))
    })
    await goOn()
    await agent.whenIdle()

    expect(newsOf(model, 2)).toEqual({
      results: ['(no new output)\n[status: completed, exit code: 3]'],
      messages: ['well?'],
    })
  })

  it('a cancelled turn still aborts the wait, and the job lives on', async () => {
    const { world, model, agent } = await begin([inBackground('sleep 30'), wait(WAIT), 'never asked'])
    await during(world, () => {
      agent.cancel({ kind: 'user' })
    })
    await agent.whenIdle()

    expect(model.requests).toHaveLength(2)
    expect(agent.session.events.at(-1)).toMatchObject({ type: 'turn/end', data: { reason: { kind: 'aborted' } } })
    expect(status(world, agent)).toBe('running')
    kill(world, agent)
  })
})

describe('a program of the model (Code Mode)', () => {
  const program = (code: string): Reply => ({ tool: 'run_code', args: { code, description: 'Watch a job' } })

  const run = (code: string) => begin([program(code), 'done'], { toolRuntime: { mode: 'code' } })

  const START = `
    const { jobId } = await tools.bash({
      command: 'sleep 0.3; echo 10%; sleep 30', description: 'Build', run_in_background: true,
    })`

  it('gets the wake, and branches on its code', async () => {
    const { model, agent } = await run(`${START}
      const { text, wake, job } = await tools.job_output({ job_id: jobId, wait: true, timeout_ms: 30000 })
      await tools.job_kill({ job_id: jobId })
      switch (wake?.code) {
        case 'JOB_OUTPUT_RESUMED': return ['printed', text, job.status, wake]
        default: return 'something else'
      }`)
    await agent.whenIdle()

    const [branch, text, status, wake] = JSON.parse(newsOf(model, 1).results.join()) as unknown[]
    expect([branch, text, status]).toEqual(['printed', '10%\n', 'running'])
    expect(wake).toEqual({
      code: 'JOB_OUTPUT_RESUMED',
      waitedMs: expect.any(Number) as unknown,
      remainingMs: expect.any(Number) as unknown,
      resumeTimeoutMs: expect.any(Number) as unknown,
    })
    expect(model.requests[0]?.system).toContain('"STEER_PREEMPTED" | "JOB_OUTPUT_RESUMED"')
  })

  it('is told of a message of the user, which the next model request has', async () => {
    const { world, model, agent } = await run(`${START}
      const { wake } = await tools.job_output({ job_id: jobId, wait: true, timeout_ms: 30000, wake_on_output: false })
      await tools.job_kill({ job_id: jobId })
      return wake?.code`)
    await world.waitedFor({ id: JOB })
    agent.steer(userMessage('stop, switch tasks'))
    await agent.whenIdle()

    expect(newsOf(model, 1)).toEqual({ results: ['STEER_PREEMPTED'], messages: ['stop, switch tasks'] })
  })
})
