/** An executor that runs nothing: it notes what it is asked for, and gives what the test says. */
import type { Context } from '@deepseek-ai/cordis'
import type { SandboxMode } from '@deepseek-ai/dsh-sandbox'
import {
  ShellExecutor,
  type ShellExecRequest,
  type ShellExecSpec,
  type ShellProcess,
  type ShellProcessRead,
  type ShellRunResult,
} from '@deepseek-ai/dsh-shell'

/** What the executor gives, and what it was asked for. */
export class ShellScript {
  /** The mode in which it confines commands by default; without one it does not. */
  readonly mode: SandboxMode | undefined
  readonly requests: ShellExecRequest[] = []
  readonly runs: ShellExecSpec[] = []
  readonly processes: TestProcess[] = []
  /** Why no command in the foreground can be run, if so. */
  failure: Error | undefined
  /** The result of every command in the foreground. */
  result: ShellRunResult = {
    exitCode: 0,
    signal: null,
    timedOut: false,
    aborted: false,
    timeoutMs: 1_000,
    stdout: { text: 'ran\n', truncated: false },
    stderr: { text: '', truncated: false },
  }

  constructor(mode?: SandboxMode) {
    this.mode = mode
  }

  /** How often anything was run or started. */
  get commands(): number {
    return this.runs.length + this.processes.length
  }
}

class ScriptedShell extends ShellExecutor {
  private readonly script: ShellScript

  constructor(ctx: Context, script: ShellScript) {
    super(ctx)
    this.script = script
  }

  override get sandboxMode() {
    return this.script.mode
  }

  resolve(request: ShellExecRequest): ShellExecSpec {
    this.script.requests.push(request)
    return {
      sandboxPolicy: undefined,
      ...request,
      workdir: request.workdir ?? '/',
      timeoutMs: 1_000,
      stdoutMaxBytes: 1,
    }
  }

  run(spec: ShellExecSpec): Promise<ShellRunResult> {
    this.script.runs.push(spec)
    const { failure, result } = this.script
    return failure === undefined ? Promise.resolve(result) : Promise.reject(failure)
  }

  start(): ShellProcess {
    const process = new TestProcess()
    this.script.processes.push(process)
    return process
  }
}

/**
 * The executor.
 * @param script - what it does.
 * @returns what mounts it.
 */
export function scriptedShell(script: ShellScript) {
  return async (ctx: Context) => {
    await ctx.plugin(ScriptedShell, script)
  }
}

/** A process that the test drives; it tells of its output. */
export class TestProcess implements ShellProcess {
  status: ShellProcess['status'] = 'running'
  exitCode: number | null = null
  signal: NodeJS.Signals | null = null
  sandbox?: NonNullable<ShellProcess['sandbox']>
  readonly listeners = new Set<() => void>()
  private readonly end: PromiseWithResolvers<void> = Promise.withResolvers()
  readonly done = this.end.promise
  private unread: ShellProcessRead = { delta: '', lossy: false }

  print(delta: string, facts: Partial<ShellProcessRead> = {}): void {
    this.unread = { lossy: false, ...facts, delta: this.unread.delta + delta }
    for (const listener of this.listeners) listener()
  }

  readOutput(): ShellProcessRead {
    const read = this.unread
    this.unread = { delta: '', lossy: false }
    return read
  }

  onOutput(listener: () => void): () => void {
    this.listeners.add(listener)
    if (this.unread.delta !== '') listener()
    return () => this.listeners.delete(listener)
  }

  exit(exitCode: number, sandbox?: NonNullable<ShellProcess['sandbox']>): void {
    Object.assign(this, { status: 'completed', exitCode, ...(sandbox && { sandbox }) })
    this.end.resolve()
  }

  kill(): boolean {
    if (this.status !== 'running') return false
    this.status = 'killed'
    this.signal = 'SIGTERM'
    this.end.resolve()
    return true
  }
}
