/**
 * The texts that the model sees: of a command that ended, and of a read from a background process.
 * @module @deepseek-ai/dsh-tool-bash/render
 */
import { escalationHintMarker, sandboxDenialMarker, type SandboxMode } from '@deepseek-ai/dsh-sandbox'
import type { CollectedOutput, ShellProcessRead, ShellRunResult, ShellSandboxInfo } from '@deepseek-ai/dsh-shell'

export { parseExitStatus, type ParsedExitStatus } from '@deepseek-ai/dsh-shell'

/** What must stand between a text and a new line after it. */
const lineEnd = (text: string) => (text === '' || text.endsWith('\n') ? '' : '\n')

/** A text with further lines below it; without any, the very text. */
const withLines = (text: string, lines: readonly string[]) =>
  lines.length === 0 ? text : text + lineEnd(text) + lines.join('\n')

function streamText({ text, truncated, spillPath = '(unavailable)' }: CollectedOutput): string {
  return truncated ? `${text}\n[output truncated; full output: ${spillPath}]` : text
}

function denialMarkers(
  sandbox: ShellSandboxInfo | undefined,
  escalationModes: readonly SandboxMode[],
): readonly string[] {
  if (sandbox?.denied !== true) return []
  const denial = sandboxDenialMarker(sandbox.mode)
  return escalationModes.length === 0 ? [denial] : [denial, escalationHintMarker('command')]
}

function exitMarkers({ signal, exitCode }: ShellRunResult): readonly string[] {
  if (signal !== null) return [`[killed by signal: ${signal}]`]
  return exitCode === 0 ? [] : [`[exit code: ${String(exitCode)}]`]
}

/**
 * Render a command that ended. A nonzero exit is part of the text, for the model to judge.
 * @param result - what the executor returned.
 * @param escalationModes - the modes that the tool offers for a retry; without any, a denial gives no hint.
 * @returns stdout, stderr under a heading, and a line for each fact about the end. The exit comes last, where
 * {@link parseExitStatus} looks for it.
 */
export function renderResult(result: ShellRunResult, escalationModes: readonly SandboxMode[] = []): string {
  const stdout = streamText(result.stdout)
  const stderr = streamText(result.stderr)
  const body = stderr === '' ? stdout : `${stdout}${lineEnd(stdout)}[stderr]\n${stderr}`
  return withLines(body === '' ? '(no output)' : body, [
    ...denialMarkers(result.sandbox, escalationModes),
    ...(result.timedOut ? [`[timed out after ${result.timeoutMs}ms]`] : []),
    ...exitMarkers(result),
  ])
}

function lossNotices({ lossy, stdoutSpillPath, stderrSpillPath }: ShellProcessRead): readonly string[] {
  if (!lossy) return []
  const paths = [stdoutSpillPath, stderrSpillPath].filter(path => path !== undefined)
  const named = paths.length === 0 ? '(unavailable)' : paths.join(', ')
  return [`[some output was dropped from memory; full output: ${named}]`]
}

function sandboxNotices(
  sandbox: ShellSandboxInfo | undefined,
  escalationModes: readonly SandboxMode[],
): readonly string[] {
  if (sandbox?.runnerFailed !== true) return denialMarkers(sandbox, escalationModes)
  return [
    `[sandbox: the sandbox runner itself failed under ${sandbox.mode} mode — the command did not run;`
      + ' this is a sandbox problem, not a command failure]',
  ]
}

/**
 * Render one read from a background process.
 * @param read - what the process returned.
 * @param sandbox - the sandbox facts of the process, which exist once it has ended.
 * @param escalationModes - the modes that the tool offers for a retry; without any, a denial gives no hint.
 * @returns the new output, which may be empty, and a line for each notice.
 */
export function renderProcessRead(
  read: ShellProcessRead,
  sandbox?: ShellSandboxInfo,
  escalationModes: readonly SandboxMode[] = [],
): string {
  return withLines(read.delta, [...lossNotices(read), ...sandboxNotices(sandbox, escalationModes)])
}
