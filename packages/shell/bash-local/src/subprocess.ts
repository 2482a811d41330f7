/**
 * What the executor asks of the subprocess service: how a command is spawned, and the readers of its output.
 * @module @deepseek-ai/dsh-bash-local/subprocess
 */
import type { ShellExecSpec } from '@deepseek-ai/dsh-shell'
import type { SubprocessHandle, SubprocessOutputReader, SubprocessSpawnSpec } from '@deepseek-ai/dsh-subprocess'
import type { ResolvedConfig } from './config.ts'

/** Keeps colors and pagers, which would garble what the model reads, out of the output; a caller's own entry wins. */
export const ENV_OVERRIDES = {
  NO_COLOR: '1',
  TERM: 'dumb',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
} as const

/** What differs between a foreground and a background spawn. */
export interface SpawnTerms {
  readonly config: ResolvedConfig
  readonly stdoutMaxBytes: number
  /** Aborted to end the process. */
  readonly signal: AbortSignal | undefined
}

/**
 * Build the request for one command. The subprocess service itself keeps credentials out of the environment.
 * @param spec - the resolved command.
 * @param argv - the program and its arguments, handed on untouched.
 * @param terms - limits, and the signal that ends the process.
 * @returns the request.
 */
export function spawnSpec(spec: ShellExecSpec, argv: readonly string[], terms: SpawnTerms): SubprocessSpawnSpec {
  const { config, stdoutMaxBytes, signal } = terms
  const spill = { maxBytes: config.maxSpillBytes }
  return {
    argv,
    cwd: spec.workdir,
    stdio: {
      stdin: spec.stdin === undefined ? 'ignore' : { data: spec.stdin },
      stdout: { maxBytes: stdoutMaxBytes, spill },
      stderr: { maxBytes: config.maxOutputBytes, spill },
    },
    graceMs: config.graceMs,
    signal,
    env: { ...ENV_OVERRIDES, ...spec.env, ...spec.dshEnv },
  }
}

/**
 * The readers that {@link spawnSpec} asks for.
 * @param handle - the spawned process.
 * @returns a reader for each stream.
 */
export function collectedOutputs(handle: SubprocessHandle): Record<'stdout' | 'stderr', SubprocessOutputReader> {
  const { stdout, stderr } = handle.collected
  if (stdout === undefined || stderr === undefined)
    throw new Error('bash-local: subprocess implementation dropped a requested collect stream')
  return { stdout, stderr }
}
