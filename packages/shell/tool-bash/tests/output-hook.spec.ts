import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import type { JobHooks, JobStart } from '@deepseek-ai/dsh-jobs'
import { LocalJobRegistry } from '@deepseek-ai/dsh-jobs-local'
import { CallId } from '@deepseek-ai/dsh-llm'
import { ShellExecutor, type ShellExecSpec, type ShellProcess, type ShellRunResult } from '@deepseek-ai/dsh-shell'
import * as shellEnv from '@deepseek-ai/dsh-shell-env'
import * as toolBash from '../src/index.ts'
import { outputHook } from '../src/output-hook.ts'

/** A process that never ends by itself. */
class SilentProcess implements ShellProcess {
  status: ShellProcess['status'] = 'running'
  readonly exitCode = null
  readonly signal = null
  private readonly end: PromiseWithResolvers<void> = Promise.withResolvers()
  readonly done = this.end.promise

  readOutput() {
    return { delta: '', lossy: false }
  }

  kill() {
    this.status = 'killed'
    this.end.resolve()
    return true
  }
}

/** One that tells of its output, and keeps who listens in a field of its own. */
class SpeakingProcess extends SilentProcess {
  readonly listeners = new Set<() => void>()
  unread = false

  onOutput(listener: () => void): () => void {
    this.listeners.add(listener)
    if (this.unread) listener()
    return () => this.listeners.delete(listener)
  }
}

const hookOf = (proc: SpeakingProcess) => outputHook(proc) as Required<Pick<JobHooks, 'onOutput'>>

describe('the hook of a process that tells of its output', () => {
  it('subscribes at the process, and returns the disposer of the process', () => {
    const proc = new SpeakingProcess()
    const listener = vi.fn()
    const dispose = hookOf(proc).onOutput(listener)
    expect([...proc.listeners]).toEqual([listener])
    expect(listener).not.toHaveBeenCalled()
    dispose()
    expect(proc.listeners.size).toBe(0)
  })

  it('calls the listener before it returns if there is output already', () => {
    const proc = new SpeakingProcess()
    proc.unread = true
    const listener = vi.fn()
    hookOf(proc).onOutput(listener)
    expect(listener).toHaveBeenCalledOnce()
  })

  it('lets an error of the process through', () => {
    const proc = new SpeakingProcess()
    proc.onOutput = () => {
      throw new Error('no more listeners')
    }
    expect(() => hookOf(proc).onOutput(vi.fn())).toThrow('no more listeners')
  })
})

it('a process that cannot tell of its output gives no key', () => {
  expect(outputHook(new SilentProcess())).toEqual({})
  expect(outputHook(new SilentProcess())).not.toHaveProperty('onOutput')
})

describe('the job of a background command', () => {
  let hooks: JobHooks | undefined

  /** Shows the hooks of the last job. */
  class RecordingRegistry extends LocalJobRegistry {
    override start(spec: JobStart) {
      const run = () => (hooks = spec.run())
      return super.start({ ...spec, run })
    }
  }

  class OneProcess extends ShellExecutor {
    readonly proc: ShellProcess

    constructor(ctx: Context, proc: ShellProcess) {
      super(ctx)
      this.proc = proc
    }

    resolve() {
      return {} as ShellExecSpec
    }

    run(): Promise<ShellRunResult> {
      throw new Error('no command is run in the foreground here')
    }

    start() {
      return this.proc
    }
  }

  let ctx: Context

  beforeEach(() => void (ctx = new Context()))
  afterEach(() => ctx.fiber.dispose())

  async function startJob(proc: ShellProcess): Promise<void> {
    await mountAgentLoopTestDependencies(ctx)
    await ctx.plugin(shellEnv, { dshHome: '/nowhere' })
    await ctx.plugin(RecordingRegistry, {})
    ctx.jobs.attachController('test')
    await ctx.plugin(OneProcess, proc)
    await ctx.plugin(toolBash, {})
    const result = await ctx.tools.execute({
      callId: CallId('c1'),
      name: 'bash',
      arguments: { command: 'make', description: 'Build', run_in_background: true },
      signal: new AbortController().signal,
    })
    expect(result.value).toEqual({ kind: 'background', jobId: 'bash-1' })
  }

  it('has the signal of its process', async () => {
    const proc = new SpeakingProcess()
    await startJob(proc)
    const listener = vi.fn()
    const dispose = hooks?.onOutput?.(listener)
    expect(proc.listeners).toContain(listener)
    dispose?.()
    expect(proc.listeners).not.toContain(listener)
  })

  it('has no signal if its process has none', async () => {
    await startJob(new SilentProcess())
    expect(hooks).toHaveProperty('readOutput')
    expect(hooks).not.toHaveProperty('onOutput')
  })
})
