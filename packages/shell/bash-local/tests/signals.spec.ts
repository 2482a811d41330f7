/** `onOutput` of the processes that the executor starts. Its states are tested one by one in `output-signal.spec.ts`. */
import { setImmediate as macrotask } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ShellProcess } from '@deepseek-ai/dsh-shell'
import { LocalBashExecutor } from '../src/index.ts'
import { collectWarnings, eventually, gate, mountBash, startScripted } from './harness.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** Read at each signal. */
function readOnSignal(proc: ShellProcess): string[] {
  const reads: string[] = []
  proc.onOutput?.(() => reads.push(proc.readOutput().delta))
  return reads
}

describe('a running command', () => {
  it('signals what it prints, on either stream, and it is there to be read', async () => {
    const { start } = await mountBash()
    const [first, second] = [await gate(), await gate()]
    const reads = readOnSignal(start(`${first.passed}; echo one; ${second.passed}; echo two >&2; sleep 60`))
    expect(reads).toEqual([])
    await first.open()
    await eventually(() => {
      expect(reads).toEqual(['one\n'])
    })
    await second.open()
    await eventually(() => {
      expect(reads).toEqual(['one\n', '[stderr]\ntwo\n'])
    })
  })

  it('signals it to whoever listens, before onOutput returns, when it was printed before', async () => {
    const { start } = await mountBash()
    const proc = start('echo one; sleep 60')
    const calls: string[] = []
    await eventually(() => {
      proc.onOutput?.(() => calls.push('output'))()
      expect(calls).toEqual(['output'])
    })
    expect(readOnSignal(proc)).toEqual(['one\n'])
    expect(readOnSignal(proc)).toEqual([])
  })

  it('signals what it prints after it was killed and before it ends', async () => {
    const { start } = await mountBash({ graceMs: 30_000 })
    const end = await gate()
    const proc = start(`trap "echo bye; ${end.passed}; exit" TERM; echo ready; while :; do sleep 0.05; done`)
    const reads = readOnSignal(proc)
    await eventually(() => {
      expect(reads).toEqual(['ready\n'])
    })
    proc.kill()
    await eventually(() => {
      expect(reads[1]).toContain('bye\n')
    })
    await end.open()
    await proc.done
  })

  it('signals its output when the executor is gone, and logs a listener that throws', async () => {
    const { ctx, executor, start } = await mountBash()
    const warnings = collectWarnings(ctx)
    const go = await gate()
    const proc = start(`${go.passed}; echo one; sleep 60`)
    await executor.dispose()
    proc.onOutput?.(() => {
      throw new Error('no')
    })
    const reads = readOnSignal(proc)
    await go.open()
    await eventually(() => {
      expect(reads).toEqual(['one\n'])
    })
    expect(warnings).toEqual([
      [expect.stringMatching(/^bash-local: process \d+ has a listener for output that threw: Error: no$/)],
    ])
  })

  it('is read the same whether or not somebody listens', async () => {
    const { start } = await mountBash()
    const command = 'printf "a中"; printf "\\xe4\\xb8"; printf "\\xadb"; echo err >&2'
    const [watched, other] = [start(command), start(command)]
    const calls = vi.fn()
    watched.onOutput?.(calls)
    await Promise.all([watched.done, other.done])
    await macrotask()
    expect(calls).toHaveBeenCalled()
    expect(watched.readOutput()).toEqual(other.readOutput())
  })
})

describe('the end of a process', () => {
  it('comes first: what was not signalled by then is signalled after done has resolved', async () => {
    const { handle, stdout, proc } = await startScripted()
    const order: string[] = []
    proc.onOutput?.(() => order.push('output'))
    stdout.push([0xe4])
    void proc.done.then(() => order.push('done'))
    handle.exit({ exitCode: 0, signal: null })
    await proc.done
    expect(order).toEqual(['done'])
    await macrotask()
    expect(order).toEqual(['done', 'output'])
    expect(proc.readOutput().delta).toBe('\uFFFD')
  })

  it('is no other for the hook of a subclass: it may listen and read there', async () => {
    const seen: string[] = []
    class Listener extends LocalBashExecutor {
      protected override onProcessDone(proc: ShellProcess): void {
        seen.push(proc.status, ...readOnSignal(proc))
      }
    }
    const { handle, stdout, proc } = await startScripted(Listener)
    stdout.push([0xe4])
    handle.exit({ exitCode: 0, signal: null })
    await proc.done
    expect(seen).toEqual(['completed', '\uFFFD'])
  })

  it('by a failed spawn signals the note', async () => {
    const { start } = await mountBash()
    const proc = start('true', { workdir: '/no/such/folder' })
    const reads = readOnSignal(proc)
    await proc.done
    await macrotask()
    expect(reads).toEqual(['[stderr]\nspawn failed: Error: spawn bash ENOENT'])
    expect(readOnSignal(proc)).toEqual([])
  })
})

describe('no timer is left', () => {
  it.each<[string, (world: Awaited<ReturnType<typeof startScripted>>) => void]>([
    [
      'by an exit',
      ({ handle }) => {
        handle.exit({ exitCode: 0, signal: null })
      },
    ],
    [
      'by a failed spawn',
      ({ handle }) => {
        handle.fail('no')
      },
    ],
  ])('%s', async (_case, end) => {
    vi.useFakeTimers()
    const world = await startScripted()
    readOnSignal(world.proc)
    expect(vi.getTimerCount()).toBe(1)
    end(world)
    await world.proc.done
    vi.advanceTimersByTime(0)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('by the end of the subprocess service', async () => {
    const { subprocess, start } = await mountBash()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] })
    const proc = start('sleep 60')
    readOnSignal(proc)
    expect(vi.getTimerCount()).toBe(1)
    await subprocess.dispose()
    await proc.done
    vi.advanceTimersByTime(0)
    expect(vi.getTimerCount()).toBe(0)
    expect(proc.signal).toBe('SIGTERM')
  })

  it('and none is there at all when nobody listens', async () => {
    vi.useFakeTimers()
    const { executor, handle, proc } = await startScripted()
    expect(vi.getTimerCount()).toBe(0)
    proc.onOutput?.(() => undefined)()
    expect(vi.getTimerCount()).toBe(0)
    await executor.dispose()
    handle.exit({ exitCode: 0, signal: null })
    await proc.done
    expect(vi.getTimerCount()).toBe(0)
  })
})
