/** Real background commands, real clock: the two reports at the level of the registry. */
import { afterEach, expect, it, vi } from 'vitest'
import type { Context } from '@deepseek-ai/cordis'
import { LocalBashExecutor } from '@deepseek-ai/dsh-bash-local'
import type { JobId } from '@deepseek-ai/dsh-jobs'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { LocalSubprocessRuntime } from '@deepseek-ai/dsh-subprocess-local'
import { createAgent, mountJobs } from './harness.ts'

const WAKE = { output: true, steer: true }

let ctx: Context | undefined

afterEach(async () => {
  await ctx?.fiber.dispose()
})

/** Start a command as `dsh-tool-bash` does. */
function startBash(jobs: Context, command: string): JobId {
  return jobs.jobs.start({
    kind: 'bash',
    label: command,
    run: () => {
      const process = jobs.shell.start(jobs.shell.resolve({ command }))
      return {
        cancel: () => void process.kill(),
        done: process.done.then(() => ({ status: process.status === 'killed' ? 'killed' : 'completed' })),
        readOutput: () => process.readOutput().delta,
      }
    },
  })
}

async function mountBash(): Promise<Context> {
  ;({ ctx } = await mountJobs())
  await ctx.plugin(LocalSubprocessRuntime)
  await ctx.plugin(LocalBashExecutor, {})
  return ctx
}

it('a progress line of a running command comes back when it is printed, and the command goes on', async () => {
  const mounted = await mountBash()
  const id = startBash(mounted, 'sleep 0.44; echo 10%; sleep 0.6; echo 20%')
  const started = performance.now()
  const result = await mounted.jobs.wait(id, 30_000, undefined, undefined, WAKE)
  const elapsedMs = performance.now() - started

  expect(result).toMatchObject({ wokenBy: 'output', status: 'running' })
  expect(mounted.jobs.read(id).text).toBe('10%\n')
  expect(elapsedMs).toBeLessThan(440 + 200 + 250 + 300)
  await expect(mounted.jobs.wait(id, 30_000)).resolves.toMatchObject({ status: 'completed' })
  expect(mounted.jobs.read(id).text).toBe('20%\n')
})

it('a steer in the middle of a silent command ends the wait in a third of a second, and the command goes on', async () => {
  const mounted = await mountBash()
  const { agent } = await createAgent(mounted, 'A')
  const message = () => createUserMessage({ content: [{ type: 'text', text: 'stop' }], source: { kind: 'user' } })
  agent.followup(message())
  await vi.waitFor(() => {
    expect(agent.inbox.hasPending).toBe(false)
  })
  const id = startBash(mounted, 'sleep 30')
  const waiting = mounted.jobs.wait(id, 30_000, agent, undefined, WAKE)
  await new Promise(resolve => setTimeout(resolve, 300))
  const steered = performance.now()
  agent.steer(message())

  await expect(waiting).resolves.toMatchObject({ wokenBy: 'steer', status: 'running' })
  expect(performance.now() - steered).toBeLessThan(250 + 200)
  mounted.jobs.kill(id)
  await expect(mounted.jobs.wait(id, 30_000)).resolves.toMatchObject({ status: 'killed' })
})
