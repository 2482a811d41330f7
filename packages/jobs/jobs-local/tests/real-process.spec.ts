/** Real commands, real clock: the two reports at the level of the registry. */
import { spawn } from 'node:child_process'
import { afterEach, expect, it, vi } from 'vitest'
import type { Context } from '@deepseek-ai/cordis'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { createAgent, mountJobs, StreamProducer } from './harness.ts'

const WAKE = { output: true, steer: true }

let ctx: Context | undefined

afterEach(async () => {
  await ctx?.fiber.dispose()
})

/** A command that tells of its output. */
class Command extends StreamProducer {
  /** When each piece of output came. */
  readonly printedAt: number[] = []

  constructor(command: string) {
    super()
    const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.printedAt.push(performance.now())
      this.print(text)
    })
    child.on('close', code => {
      this.settle({ status: code === null ? 'killed' : 'completed' })
    })
    this.onCancel = () => {
      child.kill()
    }
  }
}

it('a line of a running command comes back a quarter of a second after it is printed, and the command goes on', async () => {
  const mounted = await mountJobs()
  ctx = mounted.ctx
  const command = new Command('sleep 0.44; echo 10%; sleep 0.6; echo 20%')
  const id = ctx.jobs.start(command.spec())
  const result = await ctx.jobs.wait(id, 30_000, undefined, undefined, WAKE)
  const waitedMs = performance.now() - (command.printedAt[0] ?? Infinity)

  expect(result).toMatchObject({ wokenBy: 'output', status: 'running', nextOutputWakeMs: 0 })
  expect(ctx.jobs.read(id).text).toBe('10%\n')
  expect(waitedMs).toBeGreaterThan(249)
  expect(waitedMs).toBeLessThan(250 + 100)
  await expect(ctx.jobs.wait(id, 30_000)).resolves.toMatchObject({ status: 'completed' })
  expect(ctx.jobs.read(id).text).toBe('20%\n')
  expect(command.listeners.size).toBe(0)
})

it('a steer in the middle of a silent command ends ten waits in a third of a second, and the commands go on', async () => {
  const mounted = await mountJobs()
  ctx = mounted.ctx
  const { jobs } = ctx
  const { agent } = await createAgent(ctx, 'A')
  const message = () => createUserMessage({ content: [{ type: 'text', text: 'stop' }], source: { kind: 'user' } })
  agent.followup(message())
  await vi.waitFor(() => {
    expect(agent.inbox.hasPending).toBe(false)
  })
  const ids = Array.from({ length: 10 }, () => jobs.start(new Command('sleep 30').spec()))
  const waitForAll = async () => {
    const ends: unknown[] = []
    for (const id of ids) ends.push(await jobs.wait(id, 30_000, agent, undefined, WAKE))
    return ends
  }
  const waiting = waitForAll()
  await new Promise(resolve => setTimeout(resolve, 300))
  const steered = performance.now()
  agent.steer(message())

  expect(await waiting).toMatchObject(ids.map(() => ({ wokenBy: 'steer', status: 'running' })))
  expect(performance.now() - steered).toBeLessThan(250 + 100)
  for (const id of ids) jobs.kill(id)
  for (const id of ids) await expect(jobs.wait(id, 30_000)).resolves.toMatchObject({ status: 'killed' })
})
