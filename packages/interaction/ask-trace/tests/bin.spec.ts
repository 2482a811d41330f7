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
  expect([out, exitCode]).toEqual(['', 64])
  expect(err).toBe('dsh-ask-trace: no session log named; see dsh-ask-trace --help\n')
})

it('the command ends quietly when nobody reads on', async () => {
  await bin('--help')
  expect(process.stdout.emit('error', Object.assign(new Error('closed'), { code: 'EPIPE' }))).toBe(true)
  expect(process.exitCode).toBe(0)
})

it('the command says that its output cannot be written, and its exit code stays so', async () => {
  vi.spyOn(process.stdout, 'write').mockImplementation(() =>
    process.stdout.emit('error', Object.assign(new Error('disk full'), { code: 'ENOSPC' })),
  )
  const err = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  process.argv = [process.execPath, 'bin.js', file(jsonl([HEADER, ...LOST]))]
  await import('../src/bin.ts')
  process.stdout.emit('error', Object.assign(new Error('disk full'), { code: 'ENOSPC' }))
  expect(process.exitCode).toBe(74)
  expect(err.mock.calls.join('')).toBe('dsh-ask-trace: the output cannot be written: disk full\n')
})

it.each([
  [new Error('bug'), /^dsh-ask-trace: a fault of this command, please report it: Error: bug\n +at /],
  ['odd', /^dsh-ask-trace: a fault of this command, please report it: odd\n$/],
])('the command says that it crashed: %s', async (thrown, message) => {
  vi.doMock('../src/cli.ts', () => ({
    runCli: () => {
      throw thrown
    },
  }))
  const { err, exitCode } = await bin('x')
  vi.doUnmock('../src/cli.ts')
  expect(exitCode).toBe(70)
  expect(err).toMatch(message)
})

it('the command refuses a version of Node that cannot run it, and imports nothing else', async () => {
  vi.spyOn(process, 'versions', 'get').mockReturnValue({ ...process.versions, node: '20.20.2' })
  vi.doMock('../src/cli.ts', () => {
    throw new SyntaxError('no such export')
  })
  const { err, exitCode } = await bin('x')
  vi.doUnmock('../src/cli.ts')
  expect(exitCode).toBe(69)
  expect(err).toMatch(/^dsh-ask-trace: needs Node 22\.19 .* this is Node 20\.20\.2\n$/)
})
