/**
 * The value of a call, as a program of the model gets it: the id of a background job, or what a command left behind.
 * @module @deepseek-ai/dsh-tool-bash/value
 */
import type { CollectedOutput, ShellRunResult, ShellSandboxInfo } from '@deepseek-ai/dsh-shell'
import type { InferValue, ValueSchemaSpec } from '@deepseek-ai/dsh-tools'

const STREAM_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: true,
  properties: {
    text: { type: 'string', required: true },
    truncated: { type: 'boolean', required: true },
    spillPath: { type: 'string' },
  },
} as const

const SANDBOX_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    mode: { type: 'string', required: true },
    denied: { type: 'boolean', required: true },
    enforcement: { type: 'string' },
    runnerFailed: { type: 'boolean' },
  },
} as const

/** The output schema of the tool. */
export const VALUE_SCHEMA = {
  oneOf: [
    {
      type: 'object',
      additionalProperties: false,
      properties: {
        kind: { type: 'string', required: true, const: 'background' },
        jobId: { type: 'string', required: true },
      },
    },
    {
      type: 'object',
      additionalProperties: false,
      properties: {
        kind: { type: 'string', required: true, const: 'foreground' },
        exitCode: { required: true, oneOf: [{ type: 'integer' }, { type: 'null' }] },
        signal: { required: true, oneOf: [{ type: 'string' }, { type: 'null' }] },
        timedOut: { type: 'boolean', required: true },
        aborted: { type: 'boolean', required: true },
        timeoutMs: { type: 'number', required: true },
        stdout: STREAM_SCHEMA,
        stderr: STREAM_SCHEMA,
        sandbox: SANDBOX_SCHEMA,
      },
    },
  ],
} as const satisfies ValueSchemaSpec

/** The value of a call. */
export type BashValue = InferValue<typeof VALUE_SCHEMA>

const streamValue = ({ text, truncated, spillPath }: CollectedOutput) => ({
  text,
  truncated,
  ...(spillPath !== undefined && { spillPath }),
})

const sandboxValue = ({ mode, denied, enforcement, runnerFailed }: ShellSandboxInfo) => ({
  mode,
  denied,
  ...(enforcement !== undefined && { enforcement }),
  ...(runnerFailed !== undefined && { runnerFailed }),
})

/**
 * Take from an executor's result what the value declares. An executor may return more, and its own objects.
 * @param result - what the executor returned.
 * @returns a new plain object.
 */
export function foregroundValue(result: ShellRunResult): BashValue {
  const { exitCode, signal, timedOut, aborted, timeoutMs, stdout, stderr, sandbox } = result
  return {
    kind: 'foreground',
    exitCode,
    signal,
    timedOut,
    aborted,
    timeoutMs,
    stdout: streamValue(stdout),
    stderr: streamValue(stderr),
    ...(sandbox !== undefined && { sandbox: sandboxValue(sandbox) }),
  }
}
