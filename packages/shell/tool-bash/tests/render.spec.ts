import { describe, expect, it } from 'vitest'
import { ESCALATION_TARGETS } from '@deepseek-ai/dsh-sandbox'
import type { ShellProcess, ShellRunResult } from '@deepseek-ai/dsh-shell'
import { processOutcome } from '../src/background.ts'
import { parseExitStatus, renderProcessRead, renderResult } from '../src/render.ts'

const DENIAL = '[sandbox: file access denied under read-only mode]'
const HINT = /^\[sandbox: escalation available — retry this exact command once .*\]$/
const NOTHING = { text: '', truncated: false }

const out = (text: string) => ({ text, truncated: false })

/** A command that printed `hello` and exited with 0, but for the changes. */
const result = (changes: Partial<ShellRunResult> = {}): ShellRunResult => ({
  exitCode: 0,
  signal: null,
  timedOut: false,
  aborted: false,
  timeoutMs: 5_000,
  stdout: out('hello\n'),
  stderr: NOTHING,
  ...changes,
})

describe('the text of a command that ended', () => {
  it.each<[string, Partial<ShellRunResult>, string]>([
    ['is its output', {}, 'hello\n'],
    ['begins with the heading if there is stderr only', { stdout: NOTHING, stderr: out('bad\n') }, '[stderr]\nbad\n'],
    ['separates stderr from an unterminated line', { stdout: out('a'), stderr: out('b') }, 'a\n[stderr]\nb'],
    ['adds no line before stderr where there is one', { stdout: out('a\n'), stderr: out('b') }, 'a\n[stderr]\nb'],
    ['says so if there is nothing', { stdout: NOTHING }, '(no output)'],
    ['puts the exit after an unterminated line', { stdout: out('a'), exitCode: 2 }, 'a\n[exit code: 2]'],
    ['puts the exit after a line without another one', { exitCode: 2 }, 'hello\n[exit code: 2]'],
    ['says nothing of success', { stdout: out('a') }, 'a'],
    [
      'names the signal of a command that was not out of time',
      { exitCode: null, signal: 'SIGKILL' },
      'hello\n[killed by signal: SIGKILL]',
    ],
    ['names the signal rather than the code', { exitCode: 1, signal: 'SIGKILL' }, 'hello\n[killed by signal: SIGKILL]'],
    ['tells of a timeout that the command trapped', { timedOut: true }, 'hello\n[timed out after 5000ms]'],
    [
      'tells of the timeout before the signal',
      { timedOut: true, exitCode: null, signal: 'SIGTERM' },
      'hello\n[timed out after 5000ms]\n[killed by signal: SIGTERM]',
    ],
    [
      'names the file with all of a long output',
      { stdout: { text: 'tail', truncated: true, spillPath: '/tmp/all' } },
      'tail\n[output truncated; full output: /tmp/all]',
    ],
    [
      'says so where there is no such file, for each stream',
      { stdout: { text: 'tail\n', truncated: true }, stderr: { text: '', truncated: true } },
      'tail\n\n[output truncated; full output: (unavailable)]\n[stderr]\n\n[output truncated; full output: (unavailable)]',
    ],
  ])('%s', (_name, changes, text) => {
    expect(renderResult(result(changes))).toBe(text)
  })

  const denied = { exitCode: 1, sandbox: { mode: 'read-only', denied: true } } as const

  it('tells of a denial before the exit', () => {
    expect(renderResult(result(denied))).toBe(`hello\n${DENIAL}\n[exit code: 1]`)
  })

  it('says how to retry a denied command where the tool offers it', () => {
    const [, denial, hint = '', exit, ...more] = renderResult(result(denied), ESCALATION_TARGETS).split('\n')
    expect(denial).toBe(DENIAL)
    expect(hint).toMatch(HINT)
    expect(exit).toBe('[exit code: 1]')
    expect(more).toEqual([])
  })

  it('tells of no denial where there was none', () => {
    const sandbox = { mode: 'read-only', denied: false } as const
    expect(renderResult(result({ sandbox, exitCode: 1 }), ESCALATION_TARGETS)).toBe('hello\n[exit code: 1]')
  })

  it('is taken apart again by the parser of exits', () => {
    const { body, ...exit } = parseExitStatus(renderResult(result({ timedOut: true, exitCode: 7 })))
    expect(body).toBe('hello\n[timed out after 5000ms]')
    expect(exit).toEqual({ exitCode: 7 })
  })
})

describe('the text of a read', () => {
  const LOSS = '[some output was dropped from memory; full output: '

  it.each(['', 'a', 'a\n', '10%\n[stderr]\nwarning'])('without notices is the very output: %j', delta => {
    expect(renderProcessRead({ delta, lossy: false })).toBe(delta)
    expect(renderProcessRead({ delta, lossy: false, stdoutSpillPath: '/tmp/out' })).toBe(delta)
  })

  it.each([
    [{ stdoutSpillPath: '/tmp/out' }, '/tmp/out'],
    [{ stderrSpillPath: '/tmp/err' }, '/tmp/err'],
    [{ stderrSpillPath: '/tmp/err', stdoutSpillPath: '/tmp/out' }, '/tmp/out, /tmp/err'],
    [{}, '(unavailable)'],
  ])('that lost output names the files with all of it: %j', (paths, named) => {
    expect(renderProcessRead({ delta: 'tail\n', lossy: true, ...paths })).toBe(`tail\n${LOSS}${named}]`)
  })

  it('is the notice alone if there is no output', () => {
    expect(renderProcessRead({ delta: '', lossy: true })).toBe(`${LOSS}(unavailable)]`)
  })

  it('puts a notice on a line of its own', () => {
    expect(renderProcessRead({ delta: 'tail', lossy: true })).toBe(`tail\n${LOSS}(unavailable)]`)
  })

  it('tells of a denial, after a loss', () => {
    const sandbox = { mode: 'read-only', denied: true } as const
    expect(renderProcessRead({ delta: 'a\n', lossy: false }, sandbox)).toBe(`a\n${DENIAL}`)
    expect(renderProcessRead({ delta: 'a\n', lossy: true }, sandbox)).toBe(`a\n${LOSS}(unavailable)]\n${DENIAL}`)
  })

  it('says how to retry where the tool offers it', () => {
    const read = { delta: '', lossy: false }
    const lines = renderProcessRead(read, { mode: 'read-only', denied: true }, ESCALATION_TARGETS).split('\n')
    expect(lines).toEqual([DENIAL, expect.stringMatching(HINT)])
    expect(renderProcessRead(read, { mode: 'read-only', denied: false }, ESCALATION_TARGETS)).toBe('')
  })

  it('tells of a runner that failed rather than of a denial', () => {
    const sandbox = { mode: 'workspace-write', denied: true, runnerFailed: true } as const
    expect(renderProcessRead({ delta: 'a', lossy: false }, sandbox, ESCALATION_TARGETS)).toBe(
      'a\n[sandbox: the sandbox runner itself failed under workspace-write mode — the command did not run;'
        + ' this is a sandbox problem, not a command failure]',
    )
  })
})

it.each([
  ['killed', 'SIGTERM', null, { status: 'killed', detail: 'signal: SIGTERM' }],
  ['killed', null, null, { status: 'killed', detail: 'killed before exit' }],
  ['killed', null, 143, { status: 'killed', detail: 'killed before exit' }],
  ['completed', null, 0, { status: 'completed', detail: 'exit code: 0' }],
  ['completed', null, 3, { status: 'completed', detail: 'exit code: 3' }],
  ['completed', null, null, { status: 'completed', detail: 'exit code: 0' }],
] as const)('a process that is %s with signal %s and code %s ends its job so', (status, signal, exitCode, outcome) => {
  expect(processOutcome({ status, signal, exitCode } as ShellProcess)).toEqual(outcome)
})
