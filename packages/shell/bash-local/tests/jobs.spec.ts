/** Commands as background jobs of the real registry, which passes `onOutput` on to waits. */
import { describe, expect, it, vi } from 'vitest'
import type { Context } from '@deepseek-ai/cordis'
import type { JobHooks, JobId } from '@deepseek-ai/dsh-jobs'
import { LocalJobRegistry } from '@deepseek-ai/dsh-jobs-local'
import type { ShellProcess } from '@deepseek-ai/dsh-shell'
import { LocalBashExecutor as StockBashExecutor } from 'stock-bash-local'
import { LocalBashExecutor } from '../src/index.ts'
import { mountBash, startScripted, type Executor } from './harness.ts'

/** Register a process as a job that nobody owns, as `dsh-tool-bash` does. */
async function startJob(ctx: Context, proc: ShellProcess, hooks: Partial<JobHooks> = {}): Promise<JobId> {
  await ctx.plugin(LocalJobRegistry, {})
  ctx.jobs.attachController('test')
  const run = (): JobHooks => ({
    cancel: () => void proc.kill(),
    done: proc.done.then(() => ({ status: proc.status === 'killed' ? 'killed' : 'completed' })),
    readOutput: () => proc.readOutput().delta,
    ...(proc.onOutput ? { onOutput: proc.onOutput.bind(proc) } : {}),
    ...hooks,
  })
  return ctx.jobs.start({ kind: 'bash', label: 'job', run })
}

describe('a wait for output', () => {
  it('ends within 650 ms of the print: 100 for a look, 250 of grace, 300 for the machine', async () => {
    const { ctx, start } = await mountBash()
    const id = await startJob(ctx, start('while :; do date +%s%3N; sleep 0.7; done'))
    const delays: number[] = []
    for (let line = 0; line < 5; line += 1) {
      const wake = { output: true, outputIntervalMs: 0 }
      await expect(ctx.jobs.wait(id, 20_000, undefined, undefined, wake)).resolves.toMatchObject({ wokenBy: 'output' })
      delays.push(Date.now() - Number(ctx.jobs.read(id).text.trim().split('\n').at(-1)))
    }
    // Whatever else the machine does only ever adds to it.
    expect(Math.min(...delays)).toBeLessThan(650)
    ctx.jobs.kill(id)
  })

  it('ends by the end of the job, not by its last output, even without grace', async () => {
    const { ctx, handle, stdout, proc } = await startScripted()
    const id = await startJob(ctx, proc)
    const waiting = ctx.jobs.wait(id, 20_000, undefined, undefined, { output: true, graceMs: 0 })
    stdout.push('the last words')
    handle.exit({ exitCode: 0, signal: null })
    const result = await waiting
    expect(result).toMatchObject({ status: 'completed' })
    expect(result).not.toHaveProperty('wokenBy')
    expect(ctx.jobs.read(id).text).toBe('the last words')
  })

  it('leaves no subscription behind', async () => {
    const { ctx, start } = await mountBash()
    const proc = start('echo one; sleep 60')
    let subscriptions = 0
    const onOutput = (listener: () => void) => {
      const dispose = proc.onOutput?.(listener)
      const gone = vi.fn(() => (subscriptions -= 1))
      subscriptions += 1
      return () => {
        dispose?.()
        if (gone.mock.calls.length === 0) gone()
      }
    }
    const id = await startJob(ctx, proc, { onOutput })
    const wake = { output: true }
    await Promise.all([1, 2].map(() => ctx.jobs.wait(id, 20_000, undefined, undefined, wake)))
    expect(ctx.jobs.read(id).text).toBe('one\n')
    const controller = new AbortController()
    const waiting = ctx.jobs.wait(id, 20_000, undefined, controller.signal, wake)
    controller.abort()
    await expect(waiting).rejects.toThrow('wait aborted')
    expect(subscriptions).toBe(0)
    ctx.jobs.kill(id)
  })
})

describe('ten minutes of Chinese text, with a line of error output now and then', () => {
  const TEXT = '后台任务正在运行，请稍候。'
  const BLOCK = 64
  const SECONDS = 600

  /** What reads at odd moments return, of blocks that fall within characters as a pipe's do. */
  async function readAll(Executor: Executor): Promise<string[]> {
    const { ctx, handle, stdout, stderr, proc } = await startScripted(Executor)
    const id = await startJob(ctx, proc)
    const bytes = Buffer.from(TEXT.repeat(Math.ceil((SECONDS * 10 * BLOCK) / Buffer.byteLength(TEXT))))
    const texts: string[] = []
    for (let tenth = 0; tenth < SECONDS * 10; tenth += 1) {
      stdout.push(bytes.subarray(tenth * BLOCK, (tenth + 1) * BLOCK))
      if (tenth % 50 === 0) stderr.push(`警告 ${tenth}\n`)
      if (tenth % 7 === 3) texts.push(ctx.jobs.read(id).text)
    }
    stdout.push(bytes.subarray(SECONDS * 10 * BLOCK))
    handle.exit({ exitCode: 0, signal: null })
    await ctx.jobs.wait(id, 20_000)
    texts.push(ctx.jobs.read(id).text)
    return texts
  }

  function count(texts: readonly string[], what: string): number {
    return texts.join('').split(what).length - 1
  }

  it('comes without a damaged character, and with one heading in each read that has error output', async () => {
    const texts = await readAll(LocalBashExecutor)
    expect(count(texts, '\uFFFD')).toBe(0)
    expect(count(texts, TEXT.slice(-1))).toBeGreaterThan(SECONDS)
    expect(count(texts, '[stderr]')).toBe(texts.filter(text => text.includes('警告')).length)
    expect(count(texts, '警告')).toBe(SECONDS / 5)
  })

  it('has hundreds of damaged characters with the published executor', async () => {
    const texts = await readAll(StockBashExecutor as unknown as Executor)
    expect(count(texts, '\uFFFD')).toBeGreaterThan(SECONDS)
  })
})
