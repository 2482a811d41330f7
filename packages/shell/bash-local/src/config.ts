/**
 * The executor's configuration: the fields that an entry or the user's settings may set, their defaults, and what the
 * schema alone cannot refuse.
 * @module @deepseek-ai/dsh-bash-local/config
 */
import { MAX_TIMER_DELAY_MS } from '@deepseek-ai/dsh-timeout'
import z from '@deepseek-ai/schemastery'

/** Configuration of the executor; every field but `cwd` has a default. */
export interface Config {
  /** Folder that commands run in unless the call names one; without it, the harness's own working folder. */
  cwd?: string
  /** How long a foreground command may take unless the call says otherwise, in milliseconds. */
  timeoutMs?: number
  /** The longest time that a call can ask for, in milliseconds. */
  maxTimeoutMs?: number
  /** Bytes of each output stream that are kept in memory: the newest ones. */
  maxOutputBytes?: number
  /** Bytes of each output stream that may go to a file once memory does not hold the whole stream. */
  maxSpillBytes?: number
  /** Time from SIGTERM to SIGKILL, and for pipes that a descendant holds open; at most `MAX_TIMER_DELAY_MS`. */
  graceMs?: number
}

/** The configuration with its defaults filled in. */
export type ResolvedConfig = Required<Omit<Config, 'cwd'>> & Pick<Config, 'cwd'>

/** Fills the defaults in and judges types; {@link assertServiceableBashConfig} judges values. */
export const ConfigSchema: z<Config> = z.object({
  cwd: z.string(),
  timeoutMs: z.number().default(120_000),
  maxTimeoutMs: z.number().default(600_000),
  maxOutputBytes: z.number().default(64_000),
  maxSpillBytes: z.number().default(64 * 1024 * 1024),
  graceMs: z.number().default(3_000),
})

/** In the order in which they are judged. */
const AMOUNTS = ['timeoutMs', 'maxTimeoutMs', 'maxOutputBytes', 'maxSpillBytes', 'graceMs'] as const

/**
 * Refuse a value.
 * @param value - a time or a size.
 * @param field - its name in the error.
 */
export function assertPositiveFinite(value: number | undefined, field: string): void {
  if (value === undefined || !Number.isFinite(value) || value <= 0)
    throw new Error(`bash-local: ${field} must be a positive finite number`)
}

/**
 * Refuse a configuration that no command could run with.
 * @param config - an entry or a settings section, with its defaults filled in.
 */
export function assertServiceableBashConfig(config: Config): void {
  for (const field of AMOUNTS) assertPositiveFinite(config[field], field)
  const { graceMs = Infinity } = config
  if (graceMs > MAX_TIMER_DELAY_MS) throw new Error(`bash-local: graceMs must be no greater than ${MAX_TIMER_DELAY_MS}`)
}
