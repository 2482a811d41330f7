/**
 * The bash executor, `ctx.shell`, on the subprocess service: every command is a `bash -c` in a process group of its
 * own. This module owns the defaults and caps of a command, its time limit, and why it ended; the spawn and the group
 * belong to the subprocess service. A subclass may run another argv under the same rules, and is called when
 * a process has ended.
 * @module @deepseek-ai/dsh-bash-local
 */
import type { Context } from '@deepseek-ai/cordis'
import { installSettingsSection } from '@deepseek-ai/dsh-settings'
import {
  SHELL_SETTINGS_NAMESPACE,
  ShellExecutor,
  type CollectedOutput,
  type ShellExecRequest,
  type ShellExecSpec,
  type ShellProcess,
  type ShellRunResult,
} from '@deepseek-ai/dsh-shell'
import type { SubprocessOutputReader } from '@deepseek-ai/dsh-subprocess'
import { clampTimeout, deadline, timeoutOf } from '@deepseek-ai/dsh-timeout'
import type z from '@deepseek-ai/schemastery'
import { backgroundProcess } from './background.ts'
import {
  assertPositiveFinite,
  assertServiceableBashConfig,
  ConfigSchema,
  type Config,
  type ResolvedConfig,
} from './config.ts'
import { LookTimer } from './output-signal.ts'
export type {} from './shell-process.ts'
import { collectedOutputs, spawnSpec } from './subprocess.ts'

export { assertServiceableBashConfig, type Config } from './config.ts'
export { ENV_OVERRIDES } from './subprocess.ts'

/** Tells the executor's own time limit from one that the caller's signal may carry. */
const TIMEOUT_CODE = 'BASH_TIMEOUT'

/** The executor. Processes that it started belong to the subprocess service, and live on when it is unloaded. */
export class LocalBashExecutor extends ShellExecutor {
  static inject = ['subprocess']
  static Config: z<Config> = ConfigSchema

  private source: () => ResolvedConfig
  private readonly lookTimer = new LookTimer()

  /**
   * @param ctx - the context that owns the service.
   * @param config - the composition entry, with its defaults filled in by the schema.
   */
  constructor(ctx: Context, config: Config) {
    super(ctx)
    assertServiceableBashConfig(config)
    // The schema has filled the defaults in, of the entry and of every section over it.
    this.source = () => config as ResolvedConfig
    installSettingsSection(ctx, SHELL_SETTINGS_NAMESPACE, LocalBashExecutor.Config, config, {
      setSource: current => {
        this.source = current as () => ResolvedConfig
      },
      validate: assertServiceableBashConfig,
      // Nothing is derived from the configuration: every command reads it anew.
      onChange: () => undefined,
    })
  }

  /** The configuration that counts now: the user's settings over the entry, or the entry. */
  get config(): ResolvedConfig {
    return this.source()
  }

  /**
   * Fill the defaults in and apply the caps. What the caller left out is absent from the result, too.
   * @param request - the command.
   * @returns the command as {@link run} and {@link start} take it.
   */
  override resolve(request: ShellExecRequest): ShellExecSpec {
    const { timeoutMs, maxTimeoutMs, maxOutputBytes, cwd } = this.config
    const { command, stdoutMaxBytes = maxOutputBytes, signal, stdin, env, dshEnv } = request
    const limitMs = clampTimeout(request.timeoutMs, timeoutMs, maxTimeoutMs, 'bash-local: request.timeoutMs')
    assertPositiveFinite(stdoutMaxBytes, 'request.stdoutMaxBytes')
    return {
      command,
      workdir: request.workdir ?? cwd ?? process.cwd(),
      timeoutMs: limitMs,
      stdoutMaxBytes,
      ...(signal === undefined ? {} : { signal }),
      ...(stdin === undefined ? {} : { stdin }),
      ...(env === undefined ? {} : { env }),
      ...(dshEnv === undefined ? {} : { dshEnv }),
      sandboxPolicy: request.sandboxPolicy,
    }
  }

  /**
   * Run a command in the foreground.
   * @param spec - the resolved command.
   * @returns how it ended: an exit code, a timeout and an abort are results; only a failed spawn rejects.
   */
  override run(spec: ShellExecSpec): Promise<ShellRunResult> {
    return this.runArgv(spec, ['bash', '-c', spec.command])
  }

  /**
   * Run any argv as a foreground command.
   * @param spec - the resolved command.
   * @param argv - the program and its arguments, in place of the shell.
   * @returns how it ended; a failed spawn rejects with the subprocess service's own error.
   */
  protected async runArgv(spec: ShellExecSpec, argv: readonly string[]): Promise<ShellRunResult> {
    using limit = deadline(spec.signal, spec.timeoutMs, TIMEOUT_CODE)
    const { signal } = limit
    const terms = { config: this.config, stdoutMaxBytes: spec.stdoutMaxBytes, signal }
    const handle = this.ctx.subprocess.spawn(spawnSpec(spec, argv, terms))
    const outcome = await handle.done
    const { stdout, stderr } = collectedOutputs(handle)
    const timedOut = timeoutOf(signal, TIMEOUT_CODE) !== undefined
    return {
      exitCode: outcome.exitCode,
      signal: outcome.signal,
      timedOut,
      aborted: signal.aborted && !timedOut,
      timeoutMs: spec.timeoutMs,
      stdout: collect(stdout),
      stderr: collect(stderr),
    }
  }

  /**
   * Start a command in the background.
   * @param spec - the resolved command; its time limit does not apply.
   * @returns the running process.
   */
  override start(spec: ShellExecSpec): ShellProcess {
    return this.startArgv(spec, ['bash', '-c', spec.command])
  }

  /**
   * Start any argv as a background process.
   * @param spec - the resolved command.
   * @param argv - the program and its arguments, in place of the shell.
   * @returns the running process; a spawn that fails later settles it as killed.
   */
  protected startArgv(spec: ShellExecSpec, argv: readonly string[]): ShellProcess {
    const { config } = this
    const terms = { config, stdoutMaxBytes: config.maxOutputBytes, signal: spec.signal }
    const handle = this.ctx.subprocess.spawn(spawnSpec(spec, argv, terms))
    const { logger } = this.ctx
    return backgroundProcess(handle, {
      abortSignal: spec.signal,
      onDone: (...facts) => {
        this.onProcessDone(...facts)
      },
      timer: this.lookTimer,
      warn: fault => {
        logger.warn(`bash-local: process ${handle.pid} ${fault}`)
      },
    })
  }

  /**
   * For a subclass that has something to say about a process that ended. It runs before `done` resolves.
   * @param _proc - the object that {@link startArgv} returned, its exit facts stamped.
   * @param _stderr - the retained end of its error output, or the note of a failed spawn.
   * @param _spawnFailed - whether it never ran.
   * @param _spawnError - the reason then, as the subprocess service gave it; it may be `undefined`.
   */
  protected onProcessDone(_proc: ShellProcess, _stderr: string, _spawnFailed: boolean, _spawnError?: unknown): void {}
}

/** All that was retained of a stream. */
function collect(reader: SubprocessOutputReader): CollectedOutput {
  const { text, lossy, spillPath } = reader.readFrom(0)
  return { text, truncated: lossy, ...(spillPath === undefined ? {} : { spillPath }) }
}

export default LocalBashExecutor
