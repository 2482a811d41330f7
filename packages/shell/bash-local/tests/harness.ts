/** Builders for the executor's tests: the real subprocess service, and one whose processes are driven by hand. */
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Context, type Fiber } from '@deepseek-ai/cordis'
import type { ShellExecRequest, ShellProcess } from '@deepseek-ai/dsh-shell'
import {
  SubprocessRuntime,
  type SubprocessHandle,
  type SubprocessOutcome,
  type SubprocessOutputReader,
  type SubprocessSpawnSpec,
  type SubprocessTerminalHandle,
} from '@deepseek-ai/dsh-subprocess'
import { LocalSubprocessRuntime } from '@deepseek-ai/dsh-subprocess-local'
import { onTestFinished, vi } from 'vitest'
import { LocalBashExecutor, type Config } from '../src/index.ts'

/** A class that stands in for the executor: ours, the published one, or a subclass. */
export type Executor = typeof LocalBashExecutor

/** An executor on the real subprocess service. */
export interface Bash {
  readonly ctx: Context
  readonly executor: Fiber
  readonly subprocess: Fiber
  readonly start: (command: string, request?: Partial<ShellExecRequest>) => ShellProcess
}

/** A context that ends with the test. */
export function testContext(): Context {
  const ctx = new Context()
  onTestFinished(() => ctx.fiber.dispose())
  return ctx
}

/** Mount the real subprocess service and an executor. */
export async function mountBash(config: Config = {}, Executor: Executor = LocalBashExecutor): Promise<Bash> {
  const ctx = testContext()
  const subprocess = await ctx.plugin(LocalSubprocessRuntime)
  const executor = await ctx.plugin(Executor, config)
  const { shell } = ctx
  const start: Bash['start'] = (command, request) => shell.start(shell.resolve({ command, ...request }))
  return { ctx, executor, subprocess, start }
}

/** The real path of a folder that is gone after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'bash-local-')))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A place in a command, `passed`, that it does not get past before the test opens it. */
export async function gate(): Promise<{ readonly passed: string; readonly open: () => Promise<void> }> {
  const file = join(await temporaryFolder(), 'open')
  return { passed: `until [ -e '${file}' ]; do sleep 0.02; done`, open: () => writeFile(file, '') }
}

/** Wait until a check passes, however busy the machine is. */
export function eventually(check: () => void): Promise<void> {
  return vi.waitFor(check, { timeout: 20_000, interval: 10 })
}

/** Collect what reaches `ctx.logger.warn`. */
export function collectWarnings(ctx: Context): unknown[][] {
  const warnings: unknown[][] = []
  ctx.logger.exporter({
    levels: { default: 3 },
    export: ({ type, args }) => {
      if (type === 'warn') warnings.push(args)
    },
  })
  return warnings
}

/** A process driven by hand. */
export class ScriptedProcess implements SubprocessHandle {
  readonly pid = 1
  readonly stdin = undefined
  readonly stdout = undefined
  readonly stderr = undefined
  readonly collected: SubprocessHandle['collected']
  readonly done: Promise<SubprocessOutcome>
  readonly exit: (outcome: SubprocessOutcome) => void
  readonly fail: (error?: unknown) => void
  terminated = 0

  constructor(collected: SubprocessHandle['collected']) {
    this.collected = collected
    const { promise, resolve, reject } = Promise.withResolvers<SubprocessOutcome>()
    this.done = promise
    this.exit = resolve
    this.fail = reject
  }

  terminate(): void {
    this.terminated += 1
  }

  waitForExit(): Promise<boolean> {
    return this.done.then(() => true)
  }
}

/** A subprocess service whose processes come from the test. */
export class ScriptedSubprocesses extends SubprocessRuntime {
  static next: (spec: SubprocessSpawnSpec) => SubprocessHandle

  override spawn(spec: SubprocessSpawnSpec): SubprocessHandle {
    return ScriptedSubprocesses.next(spec)
  }

  override resolveExecutable(command: string): Promise<string> {
    return Promise.resolve(command)
  }

  override spawnTerminal(): Promise<SubprocessTerminalHandle> {
    return Promise.reject(new Error('no terminals here'))
  }
}

/** An executor, and the one process that it starts, which the test drives. */
export async function startScripted(Executor: Executor = LocalBashExecutor) {
  const output = { stdout: new ScriptedOutput(), stderr: new ScriptedOutput() }
  const handle = new ScriptedProcess(output)
  ScriptedSubprocesses.next = () => handle
  const ctx = testContext()
  await ctx.plugin(ScriptedSubprocesses)
  const executor = await ctx.plugin(Executor, {})
  const proc = ctx.shell.start(ctx.shell.resolve({ command: 'x' }))
  return { ctx, executor, handle, proc, ...output }
}

/** A reader over bytes that the test appends, which keeps a window of the newest ones, as a subprocess service does. */
export class ScriptedOutput implements SubprocessOutputReader {
  bytes = Buffer.alloc(0)
  spillPath: string | undefined
  /** Every offset that was asked for. */
  readonly asked: number[] = []
  private readonly window: number

  constructor(window = Infinity) {
    this.window = window
  }

  push(bytes: string | Uint8Array | readonly number[]): void {
    this.bytes = Buffer.concat([this.bytes, Buffer.from(bytes as Uint8Array)])
  }

  readFrom(fromByte: number): ReturnType<SubprocessOutputReader['readFrom']> {
    this.asked.push(fromByte)
    const start = Math.max(0, this.bytes.length - this.window)
    return {
      text: this.bytes.subarray(Math.max(start, fromByte)).toString('utf8'),
      nextOffset: this.bytes.length,
      lossy: fromByte < start,
      ...(this.spillPath === undefined ? {} : { spillPath: this.spillPath }),
    }
  }
}
