/** What a background command prints: signalled, and read in whole characters. */
import { Context } from '@deepseek-ai/cordis'
import type { ShellProcess } from '@deepseek-ai/dsh-shell'
import { LocalSubprocessRuntime } from '@deepseek-ai/dsh-subprocess-local'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { LocalBashExecutor } from '../src/index.ts'

let ctx: Context
let warnings: unknown[][]

beforeEach(async () => {
  ctx = new Context()
  warnings = []
  ctx.logger.exporter({
    levels: { default: 3 },
    export: ({ type, args }) => {
      if (type === 'warn') warnings.push(args)
    },
  })
  await ctx.plugin(LocalSubprocessRuntime)
  await ctx.plugin(LocalBashExecutor, {})
})

afterEach(async () => {
  await ctx.fiber.dispose()
})

function start(command: string, workdir?: string): ShellProcess {
  return ctx.shell.start(ctx.shell.resolve({ command, workdir }))
}

/** Read at each signal. */
function readOnSignal(proc: ShellProcess): string[] {
  const reads: string[] = []
  proc.onOutput?.(() => reads.push(proc.readOutput().delta))
  return reads
}

function eventually(check: () => void): Promise<void> {
  return vi.waitFor(check, { timeout: 20_000, interval: 10 })
}

it('is signalled on either stream, and is there to be read', async () => {
  const reads = readOnSignal(start('echo one; echo two >&2; sleep 60'))
  await eventually(() => {
    expect(reads.join('')).toMatch(/^one\n[^]*\[stderr\]\ntwo\n$/)
  })
})

it('waits for the rest of a character while the command runs, and comes as it is at the end', async () => {
  const proc = start("printf 'a\\xe4'; sleep 60")
  await eventually(() => {
    expect(proc.readOutput().delta).toBe('a')
  })
  expect(proc.readOutput().delta).toBe('')
  proc.kill()
  await proc.done
  expect(proc.readOutput().delta).toBe('\uFFFD')
})

it('is the note of a command that could not be started', async () => {
  const proc = start('true', '/no/such/folder')
  const reads = readOnSignal(proc)
  await proc.done
  await eventually(() => {
    expect(reads).toEqual([expect.stringContaining('spawn failed: ')])
  })
})

it('is signalled to the others when a listener throws, which is logged', async () => {
  const proc = start('echo one; sleep 60')
  proc.onOutput?.(() => {
    throw new Error('no')
  })
  const reads = readOnSignal(proc)
  await eventually(() => {
    expect(reads).toEqual(['one\n'])
  })
  expect(warnings).toEqual([
    [expect.stringMatching(/^bash-local: process \d+ has a listener for output that threw: Error: no$/)],
  ])
})
