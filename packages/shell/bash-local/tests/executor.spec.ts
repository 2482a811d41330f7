import { readFile } from 'node:fs/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { deadline } from '@deepseek-ai/dsh-timeout'
import type { ShellExecRequest, ShellProcess } from '@deepseek-ai/dsh-shell'
import type { SubprocessSpawnSpec } from '@deepseek-ai/dsh-subprocess'
import { ENV_OVERRIDES, LocalBashExecutor, assertServiceableBashConfig } from '../src/index.ts'
import {
  type Bash,
  eventually,
  mountBash,
  ScriptedOutput,
  ScriptedProcess,
  ScriptedSubprocesses,
  startScripted,
  temporaryFolder,
  testContext,
} from './harness.ts'

function run({ ctx }: Bash, command: string, request: Partial<ShellExecRequest> = {}) {
  return ctx.shell.run(ctx.shell.resolve({ command, ...request }))
}

/** Read until the process has printed something. */
async function firstOutput(proc: ShellProcess): Promise<string> {
  let delta = ''
  await eventually(() => {
    delta += proc.readOutput().delta
    expect(delta).not.toBe('')
  })
  return delta
}

describe('a foreground command', () => {
  it('resolves with its output and the time limit that applied', async () => {
    const bash = await mountBash({ timeoutMs: 50_000 })
    await expect(run(bash, 'printf out; printf err >&2')).resolves.toEqual({
      exitCode: 0,
      signal: null,
      timedOut: false,
      aborted: false,
      timeoutMs: 50_000,
      stdout: { text: 'out', truncated: false },
      stderr: { text: 'err', truncated: false },
    })
  })

  it('runs in the configured folder, or in the one that the call names', async () => {
    const [configured, named] = [await temporaryFolder(), await temporaryFolder()]
    const bash = await mountBash({ cwd: configured })
    expect((await run(bash, 'pwd')).stdout.text).toBe(`${configured}\n`)
    expect((await run(bash, 'pwd', { workdir: named })).stdout.text).toBe(`${named}\n`)
  })

  it('runs in the folder of the harness at the time of the call when nothing names one', async () => {
    const bash = await mountBash()
    const folder = await temporaryFolder()
    vi.spyOn(process, 'cwd').mockReturnValue(folder)
    onTestFinished(() => void vi.restoreAllMocks())
    expect((await run(bash, 'pwd')).stdout.text).toBe(`${folder}\n`)
  })

  it('gets stdin and both environments, the managed one last', async () => {
    const bash = await mountBash()
    const result = await run(bash, 'cat; printf "|$OWN|$DSH_FACT|$TERM|$PAGER"', {
      stdin: 'fed',
      env: { OWN: 'own', DSH_FACT: 'lost', PAGER: 'less' },
      dshEnv: { DSH_FACT: 'managed' },
    })
    expect(result.stdout.text).toBe('fed|own|managed|dumb|less')
  })

  it('reports a nonzero exit as a result', async () => {
    await expect(run(await mountBash(), 'exit 3')).resolves.toMatchObject({ exitCode: 3, signal: null })
  })

  it('is timed out, and not aborted, at its own limit below the cap', async () => {
    const result = await run(await mountBash({ graceMs: 500 }), 'sleep 60', { timeoutMs: 100 })
    expect(result).toMatchObject({ timedOut: true, aborted: false, timeoutMs: 100, signal: 'SIGTERM' })
  })

  it('is aborted, and not timed out, by the signal of its caller', async () => {
    const controller = new AbortController()
    const running = run(await mountBash(), 'sleep 60', { signal: controller.signal })
    controller.abort()
    await expect(running).resolves.toMatchObject({ timedOut: false, aborted: true, exitCode: null })
  })

  it('is aborted, and not timed out, by a time limit of its caller', async () => {
    using limit = deadline(undefined, 50, 'OUTER_TIMEOUT')
    const result = await run(await mountBash(), 'sleep 60', { signal: limit.signal })
    expect(result).toMatchObject({ timedOut: false, aborted: true })
  })

  it('is neither timed out nor aborted when it kills itself', async () => {
    const result = await run(await mountBash(), 'kill -KILL $$')
    expect(result).toMatchObject({ exitCode: null, signal: 'SIGKILL', timedOut: false, aborted: false })
  })

  it('rejects with the error of the subprocess service when it cannot be spawned', async () => {
    const bash = await mountBash()
    await expect(run(bash, 'true', { workdir: '/no/such/folder' })).rejects.toMatchObject({
      code: 'ENOENT',
      syscall: 'spawn bash',
      path: 'bash',
    })
    await expect(run(bash, 'true', { signal: AbortSignal.abort('enough') })).rejects.toThrow(
      'aborted before spawn: enough',
    )
  })

  it('leaves no timer behind, however it ends', async () => {
    const bash = await mountBash()
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const cleared = vi.spyOn(globalThis, 'clearTimeout')
    onTestFinished(() => void vi.restoreAllMocks())
    await run(bash, 'true', { timeoutMs: 59_001 })
    await run(bash, 'true', { timeoutMs: 59_001, workdir: '/no/such/folder' }).catch(() => undefined)
    await run(bash, 'true', { timeoutMs: 59_001, signal: AbortSignal.abort() }).catch(() => undefined)
    const limits = timers.mock.results.filter((_, index) => timers.mock.calls[index]?.[1] === 59_001)
    expect(limits).toHaveLength(3)
    for (const { value } of limits) expect(cleared).toHaveBeenCalledWith(value)
  })

  it('keeps the tail of what is too long and names the file that holds all of it, on either stream', async () => {
    const bash = await mountBash({ maxOutputBytes: 10 })
    const { stdout, stderr } = await run(bash, 'printf 0123456789abcdef; printf ABCDEFGHIJKLMNOP >&2')
    expect(stdout).toEqual({ text: '6789abcdef', truncated: true, spillPath: expect.any(String) as string })
    expect(stderr).toEqual({ text: 'GHIJKLMNOP', truncated: true, spillPath: expect.any(String) as string })
    await expect(readFile(stdout.spillPath ?? '', 'utf8')).resolves.toBe('0123456789abcdef')
    await expect(readFile(stderr.spillPath ?? '', 'utf8')).resolves.toBe('ABCDEFGHIJKLMNOP')
  })

  it('can be given a larger stdout, which leaves stderr as it is', async () => {
    const bash = await mountBash({ maxOutputBytes: 10 })
    const command = 'printf 0123456789abcdef; printf 0123456789abcdef >&2'
    const { stdout, stderr } = await run(bash, command, { stdoutMaxBytes: 16 })
    expect(stdout).toEqual({ text: '0123456789abcdef', truncated: false })
    expect(stderr).toMatchObject({ text: '6789abcdef', truncated: true })
  })

  it('keeps no file of a stream that is longer than a file may be', async () => {
    const bash = await mountBash({ maxOutputBytes: 10, maxSpillBytes: 12 })
    expect((await run(bash, 'printf 0123456789abcdef')).stdout).toEqual({ text: '6789abcdef', truncated: true })
  })
})

describe('resolve', () => {
  it('fills in the defaults, and nothing else', async () => {
    const { ctx } = await mountBash({ cwd: '/base' })
    const spec = ctx.shell.resolve({ command: 'ls', signal: undefined, stdin: undefined, env: undefined })
    expect(spec).toStrictEqual({
      command: 'ls',
      workdir: '/base',
      timeoutMs: 120_000,
      stdoutMaxBytes: 64_000,
      sandboxPolicy: undefined,
    })
  })

  it('hands on the very objects of the caller, and an empty stdin', async () => {
    const { ctx } = await mountBash()
    const request: ShellExecRequest = {
      command: 'ls',
      workdir: '/',
      timeoutMs: 1.5,
      stdoutMaxBytes: 2.5,
      signal: new AbortController().signal,
      stdin: '',
      env: {},
      dshEnv: {},
      sandboxPolicy: { mode: 'read-only', workspaceRoot: '/' },
    }
    const spec = ctx.shell.resolve(request)
    expect(spec).toStrictEqual(request)
    for (const key of ['signal', 'env', 'dshEnv', 'sandboxPolicy'] as const) expect(spec[key]).toBe(request[key])
  })

  it('caps the time limit of a call, and the default one, but not the size of stdout', async () => {
    const { ctx } = await mountBash({ timeoutMs: 2_000, maxTimeoutMs: 1_000 })
    expect(ctx.shell.resolve({ command: '' }).timeoutMs).toBe(1_000)
    expect(ctx.shell.resolve({ command: '', timeoutMs: 5_000 }).timeoutMs).toBe(1_000)
    expect(ctx.shell.resolve({ command: '', timeoutMs: 999 }).timeoutMs).toBe(999)
    expect(ctx.shell.resolve({ command: '', stdoutMaxBytes: 1e9 }).stdoutMaxBytes).toBe(1e9)
  })

  it.each(['timeoutMs', 'stdoutMaxBytes'] as const)('refuses a %s that is no size', async field => {
    const { ctx } = await mountBash()
    for (const value of [0, -1, NaN, Infinity])
      expect(() => ctx.shell.resolve({ command: '', [field]: value })).toThrow(
        `bash-local: request.${field} must be a positive finite number`,
      )
  })
})

describe('the configuration', () => {
  it.each(['timeoutMs', 'maxTimeoutMs', 'maxOutputBytes', 'maxSpillBytes', 'graceMs'] as const)(
    'fails at load when %s is no size',
    async field => {
      for (const value of [0, -1, NaN, Infinity])
        await expect(mountBash({ [field]: value })).rejects.toThrow(
          `bash-local: ${field} must be a positive finite number`,
        )
    },
  )

  it('fails at load when the grace is longer than a timer', async () => {
    await expect(mountBash({ graceMs: 2_147_483_648 })).rejects.toThrow(
      'bash-local: graceMs must be no greater than 2147483647',
    )
    await expect(mountBash({ graceMs: 2_147_483_647 })).resolves.toBeDefined()
  })

  it('is judged in the order of its fields, and must be complete', () => {
    expect(() => {
      assertServiceableBashConfig({})
    }).toThrow('bash-local: timeoutMs')
    expect(() => {
      assertServiceableBashConfig({ ...LocalBashExecutor.Config({}), graceMs: 1e10, maxSpillBytes: 0 })
    }).toThrow('bash-local: maxSpillBytes')
  })

  it('says that this executor does not sandbox', async () => {
    const { ctx } = await mountBash()
    expect(ctx.shell.sandboxMode).toBeUndefined()
  })

  it('keeps colors and pagers out of the output', () => {
    expect(ENV_OVERRIDES).toEqual({ NO_COLOR: '1', TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat' })
  })
})

describe('a background process', () => {
  it('is returned running, and completes', async () => {
    const { start } = await mountBash()
    const proc = start('sleep 0.1; exit 0')
    expect(proc).toMatchObject({ status: 'running', exitCode: null, signal: null })
    await expect(proc.done).resolves.toBeUndefined()
    expect(proc).toMatchObject({ status: 'completed', exitCode: 0, signal: null })
  })

  it('completes with a nonzero exit code, too', async () => {
    const { start } = await mountBash()
    const proc = start('exit 7')
    await proc.done
    expect(proc).toMatchObject({ status: 'completed', exitCode: 7 })
  })

  it('gets stdin and both environments', async () => {
    const { start } = await mountBash()
    const request = { stdin: 'fed', env: { OWN: 'own' }, dshEnv: { DSH_FACT: 'managed' } }
    const proc = start('cat; printf "|$OWN|$DSH_FACT"', request)
    await proc.done
    expect(proc.readOutput().delta).toBe('fed|own|managed')
  })

  it('has no time limit', async () => {
    const { start } = await mountBash()
    const proc = start('sleep 0.3', { timeoutMs: 1 })
    await proc.done
    expect(proc.status).toBe('completed')
  })

  it('is read in pieces that never repeat, also after its end', async () => {
    const { start } = await mountBash()
    const proc = start('echo one; read; echo two', { stdin: '\n' })
    let all = await firstOutput(proc)
    await proc.done
    all += proc.readOutput().delta
    expect(all).toBe('one\ntwo\n')
    expect(proc.readOutput()).toEqual({ delta: '', lossy: false })
  })

  it.each([
    ['printf out; printf err >&2', 'out\n[stderr]\nerr'],
    ['echo out; echo err >&2', 'out\n[stderr]\nerr\n'],
    ['printf err >&2', '[stderr]\nerr'],
    ['printf out', 'out'],
  ])('shows stderr under a heading of its own line: %s', async (command, delta) => {
    const { start } = await mountBash()
    const proc = start(command)
    await proc.done
    expect(proc.readOutput()).toEqual({ delta, lossy: false })
  })

  it('says that a read lost output, and names the file that has all of it', async () => {
    const { start } = await mountBash({ maxOutputBytes: 10 })
    const out = start('printf 0123456789abcdef')
    const err = start('printf 0123456789abcdef >&2')
    await Promise.all([out.done, err.done])
    const spillPath = expect.any(String) as string
    expect(out.readOutput()).toEqual({ delta: '6789abcdef', lossy: true, stdoutSpillPath: spillPath })
    expect(err.readOutput()).toEqual({ delta: '[stderr]\n6789abcdef', lossy: true, stderrSpillPath: spillPath })
    expect(out.readOutput()).toEqual({ delta: '', lossy: false, stdoutSpillPath: spillPath })
  })

  it('ignores the size of stdout that a foreground command may ask for', async () => {
    const { start } = await mountBash({ maxOutputBytes: 10 })
    const proc = start('printf 0123456789abcdef', { stdoutMaxBytes: 16 })
    await proc.done
    expect(proc.readOutput().lossy).toBe(true)
  })

  it('is killed once', async () => {
    const { start } = await mountBash()
    const proc = start('sleep 60')
    expect(proc.kill()).toBe(true)
    expect(proc.status).toBe('killed')
    expect(proc.kill()).toBe(false)
    await proc.done
    expect(proc).toMatchObject({ status: 'killed', exitCode: null, signal: 'SIGTERM' })
    expect(proc.kill()).toBe(false)
  })

  it('is not killed after it has completed', async () => {
    const { start } = await mountBash()
    const proc = start('true')
    await proc.done
    expect(proc.kill()).toBe(false)
    expect(proc.status).toBe('completed')
  })

  it('counts as killed when it traps the signal and exits, and may print until then', async () => {
    const { start } = await mountBash()
    const proc = start('trap "echo bye; exit 4" TERM; echo ready; while :; do sleep 0.05; done')
    await expect(firstOutput(proc)).resolves.toBe('ready\n')
    proc.kill()
    await proc.done
    expect(proc).toMatchObject({ status: 'killed', exitCode: 4, signal: null })
    expect(proc.readOutput().delta).toMatch(/^bye\n/)
  })

  it('is ended by SIGKILL after the configured grace when it ignores SIGTERM', async () => {
    const { start } = await mountBash({ graceMs: 200 })
    const proc = start('trap "" TERM; echo ready; while :; do sleep 0.05; done')
    await firstOutput(proc)
    proc.kill()
    await proc.done
    expect(proc).toMatchObject({ status: 'killed', signal: 'SIGKILL' })
  })

  it('is killed by the signal of its caller', async () => {
    const { start } = await mountBash()
    const controller = new AbortController()
    const proc = start('trap "exit 0" TERM; echo ready; while :; do sleep 0.05; done', { signal: controller.signal })
    await firstOutput(proc)
    controller.abort()
    await proc.done
    expect(proc).toMatchObject({ status: 'killed', exitCode: 0, signal: null })
  })

  it('counts as killed when it kills itself', async () => {
    const { start } = await mountBash()
    const proc = start('kill -TERM $$')
    await proc.done
    expect(proc).toMatchObject({ status: 'killed', exitCode: null, signal: 'SIGTERM' })
  })

  it('settles as killed when it cannot be spawned, and the error is read once', async () => {
    const { start } = await mountBash()
    const proc = start('true', { workdir: '/no/such/folder' })
    await expect(proc.done).resolves.toBeUndefined()
    expect(proc).toMatchObject({ status: 'killed', exitCode: null, signal: null })
    expect(proc.readOutput()).toEqual({ delta: '[stderr]\nspawn failed: Error: spawn bash ENOENT', lossy: false })
    expect(proc.readOutput()).toEqual({ delta: '', lossy: false })
  })

  it('does not start with a signal that was aborted before', async () => {
    const { start } = await mountBash()
    expect(() => start('true', { signal: AbortSignal.abort('enough') })).toThrow('aborted before spawn: enough')
  })
})

describe('who owns a background process', () => {
  it('it outlives the executor, and is read and killed all the same', async () => {
    const { executor, start } = await mountBash()
    const proc = start('echo one; sleep 60')
    await executor.dispose()
    await expect(firstOutput(proc)).resolves.toBe('one\n')
    expect(proc.status).toBe('running')
    expect(proc.kill()).toBe(true)
    await proc.done
    expect(proc.signal).toBe('SIGTERM')
  })

  it('it dies with the subprocess service, by SIGKILL if need be', async () => {
    const { subprocess, start } = await mountBash({ graceMs: 200 })
    const mild = start('sleep 60')
    const stubborn = start('trap "" TERM; echo ready; while :; do sleep 0.05; done')
    await firstOutput(stubborn)
    await subprocess.dispose()
    await Promise.all([mild.done, stubborn.done])
    expect(mild).toMatchObject({ status: 'killed', signal: 'SIGTERM' })
    expect(stubborn).toMatchObject({ status: 'killed', signal: 'SIGKILL' })
  })

  it('one that has ended is left as it is by the end of the service', async () => {
    const { subprocess, start } = await mountBash()
    const proc = start('echo kept')
    await proc.done
    await subprocess.dispose()
    expect(proc.status).toBe('completed')
    expect(proc.readOutput().delta).toBe('kept\n')
  })
})

describe('another subprocess service', () => {
  it('is asked for the spawn by the argv as it is, and for both streams', async () => {
    const { handle, spawned, ctx } = await mountScripted()
    const signal = new AbortController().signal
    ctx.shell.start(ctx.shell.resolve({ command: 'ls $HOME', workdir: '/w', stdin: '', signal, stdoutMaxBytes: 5 }))
    const limits = { maxBytes: 64_000, spill: { maxBytes: 67_108_864 } }
    expect(spawned).toStrictEqual([
      {
        argv: ['bash', '-c', 'ls $HOME'],
        cwd: '/w',
        stdio: { stdin: { data: '' }, stdout: limits, stderr: limits },
        graceMs: 3_000,
        signal,
        env: ENV_OVERRIDES,
      },
    ])
    handle.exit({ exitCode: 0, signal: null })
  })

  it.each(['stdout', 'stderr'] as const)('fails clearly when it gives no reader for %s', async stream => {
    const { handle, ctx } = await mountScripted({ [stream]: undefined })
    handle.exit({ exitCode: 0, signal: null })
    const spec = ctx.shell.resolve({ command: 'ls' })
    const message = 'bash-local: subprocess implementation dropped a requested collect stream'
    await expect(ctx.shell.run(spec)).rejects.toThrow(message)
    expect(() => ctx.shell.start(spec)).toThrow(message)
  })

  it('keeps the note of a failed spawn until stderr has nothing else to say', async () => {
    const { handle, stderr, proc } = await startScripted()
    stderr.push('loader said no')
    handle.fail()
    await proc.done
    expect(proc.readOutput().delta).toBe('[stderr]\nloader said no')
    expect(proc.readOutput().delta).toBe('[stderr]\nspawn failed: undefined')
    expect(proc.readOutput().delta).toBe('')
  })
})

/** An executor whose one process the test drives. */
async function mountScripted(changes: Partial<Record<'stdout' | 'stderr', undefined>> = {}) {
  const [stdout, stderr] = [new ScriptedOutput(), new ScriptedOutput()]
  const readers = Object.entries({ stdout, stderr, ...changes }).filter(([, reader]) => reader !== undefined)
  const handle = new ScriptedProcess(Object.fromEntries(readers))
  const spawned: SubprocessSpawnSpec[] = []
  ScriptedSubprocesses.next = spec => {
    spawned.push(spec)
    return handle
  }
  const ctx = testContext()
  await ctx.plugin(ScriptedSubprocesses)
  await ctx.plugin(LocalBashExecutor, {})
  return { handle, spawned, ctx }
}
