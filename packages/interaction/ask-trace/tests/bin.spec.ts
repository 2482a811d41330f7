import { afterEach, expect, it, vi } from 'vitest'
import { file, HEADER, jsonl, LOST } from './log-files.ts'

const { argv } = process

afterEach(() => {
  process.argv = argv
  process.exitCode = undefined
  process.stdout.removeAllListeners('error')
  vi.restoreAllMocks()
  vi.resetModules()
})

async function bin(...args: readonly string[]) {
  const out = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const err = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  process.argv = [process.execPath, 'bin.js', ...args]
  await import('../src/bin.ts')
  return { out: out.mock.calls.join(''), err: err.mock.calls.join(''), exitCode: process.exitCode }
}

it('the command traces what its arguments name and keeps the exit code', async () => {
  const { out, err, exitCode } = await bin(file(jsonl([HEADER, ...LOST])))
  expect(out).toContain('LOST-IN-PROGRAM')
  expect([err, exitCode]).toEqual(['', 1])
})

it('the command writes errors to the other stream', async () => {
  const { out, err, exitCode } = await bin()
  expect([out, exitCode]).toEqual(['', 2])
  expect(err).toBe('dsh-ask-trace: no session log named; see dsh-ask-trace --help\n')
})

it('the command ends quietly when nobody reads on, and loudly when the output fails', async () => {
  await bin('--help')
  expect(process.stdout.emit('error', Object.assign(new Error('closed'), { code: 'EPIPE' }))).toBe(true)
  expect(() => process.stdout.emit('error', Object.assign(new Error('disk full'), { code: 'ENOSPC' }))).toThrow('full')
})
