/** The published `dsh-bash-sandbox`, which extends this executor, at work on it. */
import { setImmediate as macrotask } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { SandboxBashExecutor } from '@deepseek-ai/dsh-bash-sandbox'
import { SandboxProvider, type ConfinedArgv, type SandboxMode, type SandboxPolicy } from '@deepseek-ai/dsh-sandbox'
import { LocalSandboxProvider } from '@deepseek-ai/dsh-sandbox-local'
import { SandboxPolicyService } from '@deepseek-ai/dsh-sandbox-policy'
import type { ShellExecRequest } from '@deepseek-ai/dsh-shell'
import { LocalSubprocessRuntime } from '@deepseek-ai/dsh-subprocess-local'
import { canConfine } from '../../../../scripts/e2e/support/sandbox.ts'
import { LocalBashExecutor } from '../src/index.ts'
import { eventually, gate, temporaryFolder, testContext } from './harness.ts'

/** Confines nothing: it puts a runner before the command, and says how that one reports denials and failures. */
class ScriptedSandbox extends SandboxProvider {
  static runner = ['env', 'CONFINED=yes']
  static readonly asked: { argv: readonly string[]; policy: SandboxPolicy }[] = []

  override confine(argv: readonly string[], policy: SandboxPolicy): ConfinedArgv {
    ScriptedSandbox.asked.push({ argv, policy })
    return {
      argv: [...ScriptedSandbox.runner, ...argv],
      enforcement: 'partial',
      denialSignatures: ['not permitted'],
      runnerFailureRules: [{ allowedExitCodes: [125], fatalSignatures: ['runner:'] }],
    }
  }
}

/** Mount the sandboxed executor as the base bundle composes it. */
async function mountSandbox(
  Sandbox: typeof ScriptedSandbox | typeof LocalSandboxProvider,
  { mode = 'workspace-write', runner = ['env', 'CONFINED=yes'] }: { mode?: SandboxMode; runner?: string[] } = {},
) {
  ScriptedSandbox.runner = runner
  ScriptedSandbox.asked.length = 0
  const workspaceRoot = await temporaryFolder()
  const ctx = testContext()
  await ctx.plugin(LocalSubprocessRuntime)
  await ctx.plugin(Sandbox, {})
  await ctx.plugin(SandboxPolicyService, { mode, workspaceRoot })
  await ctx.plugin(SandboxBashExecutor, { timeoutMs: 60_000 })
  const resolve = (command: string, request: Partial<ShellExecRequest> = {}) =>
    ctx.shell.resolve({ command, workdir: workspaceRoot, ...request })
  return {
    ctx,
    workspaceRoot,
    run: (command: string, request?: Partial<ShellExecRequest>) => ctx.shell.run(resolve(command, request)),
    start: (command: string, request?: Partial<ShellExecRequest>) => ctx.shell.start(resolve(command, request)),
  }
}

it('is a subclass of this very executor', () => {
  expect(SandboxBashExecutor.prototype).toBeInstanceOf(LocalBashExecutor)
})

describe('in the foreground', () => {
  it('a command runs behind the runner, and its result has the facts', async () => {
    const { ctx, run, workspaceRoot } = await mountSandbox(ScriptedSandbox)
    const result = await run('printf "$CONFINED"')
    expect(result).toMatchObject({
      stdout: { text: 'yes' },
      timeoutMs: 60_000,
      sandbox: { mode: 'workspace-write', denied: false, enforcement: 'partial' },
    })
    expect(ScriptedSandbox.asked).toEqual([
      { argv: ['bash', '-c', 'printf "$CONFINED"'], policy: { mode: 'workspace-write', workspaceRoot } },
    ])
    expect(ctx.shell.sandboxMode).toBe('workspace-write')
  })

  it('a denial and a failed runner are told apart by their stderr', async () => {
    const { run } = await mountSandbox(ScriptedSandbox)
    await expect(run('echo "Operation not permitted" >&2; exit 1')).resolves.toMatchObject({
      sandbox: { denied: true },
    })
    await expect(run('echo "runner: broken" >&2; exit 125')).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' })
  })

  it('a runner that is not there is no sandbox, and a folder that is not there is an error of the command', async () => {
    const { run } = await mountSandbox(ScriptedSandbox, { runner: ['no-such-runner'] })
    await expect(run('true')).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' })
    const error = { code: 'ENOENT', syscall: 'spawn no-such-runner' }
    await expect(run('true', { workdir: '/no/such/folder' })).rejects.toMatchObject(error)
  })

  it('a signal that was aborted before rejects with its own reason, and one that is aborted then is a result', async () => {
    const { run } = await mountSandbox(ScriptedSandbox)
    const reason = new Error('enough')
    await expect(run('true', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    const controller = new AbortController()
    const running = run('sleep 60', { signal: controller.signal })
    controller.abort()
    await expect(running).resolves.toMatchObject({ aborted: true, sandbox: { denied: false } })
  })

  it('full access goes around the sandbox', async () => {
    const { run } = await mountSandbox(ScriptedSandbox, { mode: 'danger-full-access' })
    const result = await run('printf "<$CONFINED>"')
    expect(result).toMatchObject({ stdout: { text: '<>' }, sandbox: { mode: 'danger-full-access', denied: false } })
    expect(ScriptedSandbox.asked).toEqual([])
  })
})

describe('in the background', () => {
  const facts = { mode: 'workspace-write', enforcement: 'partial' }

  it('a process has the facts when done resolves, whatever of its stderr was read before', async () => {
    const { start } = await mountSandbox(ScriptedSandbox)
    const end = await gate()
    const proc = start(`echo "Operation not permitted" >&2; ${end.passed}; exit 1`)
    let delta = ''
    await eventually(() => {
      delta += proc.readOutput().delta
      expect(delta).toBe('[stderr]\nOperation not permitted\n')
    })
    expect(proc.sandbox).toBeUndefined()
    await end.open()
    await proc.done
    expect(proc.sandbox).toEqual({ ...facts, denied: true })
  })

  it('a failed runner is a fact of the process, by its stderr or by the spawn', async () => {
    const broken = (await mountSandbox(ScriptedSandbox)).start('echo "runner: broken" >&2; exit 125')
    await broken.done
    expect(broken.sandbox).toEqual({ ...facts, denied: false, runnerFailed: true })
    const missing = (await mountSandbox(ScriptedSandbox, { runner: ['no-such-runner'] })).start('true')
    await missing.done
    expect(missing).toMatchObject({ status: 'killed', sandbox: { ...facts, denied: false, runnerFailed: true } })
    expect(missing.readOutput().delta).toBe('[stderr]\nspawn failed: Error: spawn no-such-runner ENOENT')
  })

  it('a spawn that throws at once throws that', async () => {
    const { start } = await mountSandbox(ScriptedSandbox)
    expect(() => start('true', { signal: AbortSignal.abort('enough') })).toThrow('aborted before spawn: enough')
  })

  it('a process of each kind signals its output in whole characters', async () => {
    for (const mode of ['workspace-write', 'danger-full-access'] as const) {
      const { start } = await mountSandbox(ScriptedSandbox, { mode })
      const rest = await gate()
      const proc = start(`printf 'up \\xe4'; ${rest.passed}; printf '\\xb8\\xad'; sleep 60`)
      const reads: string[] = []
      const dispose = proc.onOutput?.(() => reads.push(proc.readOutput().delta))
      await eventually(() => {
        expect(reads).toEqual(['up '])
      })
      await rest.open()
      await eventually(() => {
        expect(reads).toEqual(['up ', '中'])
      })
      dispose?.()
      proc.kill()
      await proc.done
      await macrotask()
      expect(proc.sandbox).toEqual(mode === 'workspace-write' ? { ...facts, denied: false } : undefined)
    }
  })
})

describe.runIf(await canConfine())('with the sandbox of this machine', () => {
  it('a command may write in its workspace', async () => {
    const { run } = await mountSandbox(LocalSandboxProvider)
    await expect(run('echo in > file && cat file')).resolves.toMatchObject({
      exitCode: 0,
      stdout: { text: 'in\n' },
      sandbox: { mode: 'workspace-write', denied: false },
    })
  })

  it('a command that may only read is denied a write, in the foreground and the background', async () => {
    const { run, start } = await mountSandbox(LocalSandboxProvider, { mode: 'read-only' })
    await expect(run('echo out > file')).resolves.toMatchObject({ exitCode: 1, sandbox: { denied: true } })
    const proc = start('echo begun; echo out > file')
    const reads: string[] = []
    proc.onOutput?.(() => reads.push(proc.readOutput().delta))
    await proc.done
    await macrotask()
    expect(proc).toMatchObject({ status: 'completed', exitCode: 1, sandbox: { denied: true } })
    expect(reads.join('')).toMatch(/^begun\n\[stderr\]\n.*denied\n$/)
  })
})
