/**
 * A background process: the object that `start` returns, from the spawn to its end. It hangs on no context, since the
 * subprocess service owns the process and outlives the executor.
 * @module @deepseek-ai/dsh-bash-local/background
 */
import type { ShellProcess, ShellProcessRead } from '@deepseek-ai/dsh-shell'
import type { SubprocessHandle, SubprocessOutputRead } from '@deepseek-ai/dsh-subprocess'
import { type LookTimer, OutputSignal } from './output-signal.ts'
import { collectedOutputs } from './subprocess.ts'
import { readWhole } from './whole-text.ts'

/** Takes the facts of an end, before `done` resolves. See `LocalBashExecutor.onProcessDone`. */
export type ProcessDone = (proc: ShellProcess, stderr: string, spawnFailed: boolean, spawnError?: unknown) => void

/** What a process is started with, beside its spawn. */
export interface BackgroundTerms {
  /** The caller's signal; the subprocess service ends the process when it is aborted. */
  readonly abortSignal: AbortSignal | undefined
  /** Called once, after the exit facts were stamped. */
  readonly onDone: ProcessDone
  readonly timer: LookTimer
  /** Takes the report of a contained fault. */
  readonly warn: (fault: string) => void
}

/**
 * Wrap a spawned process. The returned object is the very one that `onDone` is called with, so that what is kept by it
 * is found again, and what is put onto it is there when `done` resolves.
 * @param handle - the spawned process.
 * @param terms - what it ends by, and whom it tells.
 * @returns the process.
 */
export function backgroundProcess(
  handle: SubprocessHandle,
  { abortSignal, onDone, timer, warn }: BackgroundTerms,
): ShellProcess {
  const { stdout, stderr } = collectedOutputs(handle)
  let stdoutOffset = 0
  let stderrOffset = 0
  let spawnNote = ''
  const signal = new OutputSignal({
    timer,
    streams: [
      { reader: stdout, offset: () => stdoutOffset },
      { reader: stderr, offset: () => stderrOffset },
    ],
    hasNote: () => spawnNote !== '',
    warn,
  })

  const proc: ShellProcess = {
    status: 'running',
    exitCode: null,
    signal: null,
    done: handle.done.then(
      outcome => {
        signal.settle()
        const isKilled = abortSignal?.aborted === true || outcome.signal !== null
        if (proc.status === 'running') proc.status = isKilled ? 'killed' : 'completed'
        proc.exitCode = outcome.exitCode
        proc.signal = outcome.signal
        onDone(proc, stderr.readFrom(0).text, false)
      },
      (error: unknown) => {
        signal.settle()
        proc.status = 'killed'
        spawnNote = `spawn failed: ${String(error)}`
        onDone(proc, spawnNote, true, error)
      },
    ),
    readOutput() {
      const out = readWhole(stdout, stdoutOffset, signal.isSettled)
      const err = readWhole(stderr, stderrOffset, signal.isSettled)
      stdoutOffset = out.nextOffset
      stderrOffset = err.nextOffset
      if (err.text !== '') return mergeReads(out, err)
      const note = spawnNote
      spawnNote = ''
      return mergeReads(out, { ...err, text: note })
    },
    onOutput: listener => signal.subscribe(listener),
    kill() {
      if (proc.status !== 'running') return false
      proc.status = 'killed'
      handle.terminate()
      return true
    },
  }
  return proc
}

/** One text for the model: stdout, then stderr under a heading of its own line. */
function mergeReads(out: SubprocessOutputRead, err: SubprocessOutputRead): ShellProcessRead {
  const separator = out.text === '' || out.text.endsWith('\n') ? '' : '\n'
  return {
    delta: err.text === '' ? out.text : `${out.text}${separator}[stderr]\n${err.text}`,
    lossy: out.lossy || err.lossy,
    ...(out.spillPath === undefined ? {} : { stdoutSpillPath: out.spillPath }),
    ...(err.spillPath === undefined ? {} : { stderrSpillPath: err.spillPath }),
  }
}
