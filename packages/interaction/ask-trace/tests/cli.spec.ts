import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { runCli } from '../src/cli.ts'
import { cannotOpen } from '../src/find-logs.ts'
import { call, started } from './events.ts'
import { DELIVERED, file, folder, frames, HEADER, jsonl, LOST } from './log-files.ts'

/** Folders that this process may not read: nothing is shut to the user that tests often run as. */
const unreadable = vi.hoisted(() => new Set<string>())

vi.mock(import('node:fs/promises'), async original => {
  const fs = await original()
  const readdir = (path: string, ...rest: unknown[]) =>
    unreadable.has(path)
      ? Promise.reject(Object.assign(new Error('shut'), { code: 'EACCES' }))
      : (fs.readdir as (...args: unknown[]) => unknown)(path, ...rest)
  return { ...fs, readdir } as typeof fs
})

async function cli(...args: readonly string[]) {
  let out = ''
  let err = ''
  const code = await runCli(args, { out: text => (out += text), err: text => (err += text) })
  return { code, out, err, errors: err.split('\n').slice(0, -1) }
}

const log = (records: readonly unknown[], name?: string, dir?: string) => file(jsonl([HEADER, ...records]), name, dir)

describe('the exit code', () => {
  it('is 0 when nothing was lost', async () => {
    expect(await cli(log(DELIVERED))).toMatchObject({ code: 0, err: '' })
    expect(await cli(log([]))).toMatchObject({ code: 0, err: '' })
  })

  it('is 1 when an answer was lost', async () => {
    const { code, out, err } = await cli(log(LOST))
    expect([code, err]).toEqual([1, ''])
    expect(out).toContain('LOST-IN-PROGRAM')
    expect(out).toContain('1 question in 1 log: 1 lost-in-program')
  })

  it('is 1 when a question stalled', async () => {
    expect(await cli(log([call('a'), started('a')]))).toMatchObject({ code: 1 })
  })

  it('is 2 when an input is no session log, whatever the others say', async () => {
    const diary = file('Dear diary\n', 'diary.txt')
    const { code, out, errors } = await cli(log(LOST), diary, '/no/such/file')
    expect(code).toBe(2)
    expect(out).toContain('1 question in 1 log: 1 lost-in-program')
    expect(errors).toEqual([
      `dsh-ask-trace: ${diary}, line 1: no session header, so this is no session log`,
      'dsh-ask-trace: /no/such/file: no such file or folder',
    ])
  })

  it('is 2 when rows of a log were left out, and the others are traced', async () => {
    const { code, out, errors } = await cli(file(`${jsonl([HEADER, ...LOST])}}{\n`))
    expect([code, errors]).toEqual([2, []])
    expect(out).toContain('LOST-IN-PROGRAM')
    expect(out).toContain(`note: 1 row was left out: line ${LOST.length + 2}: not JSON`)
  })

  it('is 2 for a damaged frame, without a line number', async () => {
    const path = file(Buffer.concat([frames(jsonl([HEADER])), Buffer.from('oops')]))
    const { code, out, errors } = await cli(path)
    expect([code, out]).toEqual([2, ''])
    expect(errors).toEqual([expect.stringMatching(/: damaged: no zstd frame begins at byte \d+$/)])
  })

  it.each([
    [[], 'no session log named; see dsh-ask-trace --help'],
    [['--jsno'], 'unknown option --jsno; see dsh-ask-trace --help'],
    [['a', '--json=7'], 'unknown option --json=7; see dsh-ask-trace --help'],
    [['a', '-'], 'unknown option -; see dsh-ask-trace --help'],
    [['--\u001b[31m'], String.raw`unknown option --\u{1b}[31m; see dsh-ask-trace --help`],
  ])('is 2 for the arguments %j, in one line', async (args, message) => {
    expect(await cli(...args)).toMatchObject({ code: 2, out: '', err: `dsh-ask-trace: ${message}\n` })
  })
})

describe('a torn log', () => {
  it('is traced, and said to be torn', async () => {
    const { code, out, err } = await cli(file(jsonl([HEADER, ...DELIVERED, {}]).slice(0, -2)))
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain(`note: line ${DELIVERED.length + 2} is cut off and was left out`)
  })
})

describe('a folder', () => {
  it('is searched for session logs at any depth, and nothing else', async () => {
    const root = folder()
    for (const name of ['b/s2', 'a/s1', 'a/other']) mkdirSync(join(root, name), { recursive: true })
    const second = log(LOST, 'session.jsonl', join(root, 'b/s2'))
    const first = file(frames(jsonl([HEADER]), jsonl(DELIVERED)), 'session.jsonl.zstd', join(root, 'a/s1'))
    file('no log', 'notes.jsonl', join(root, 'a/other'))
    symlinkSync(root, join(root, 'a/loop'))

    const { code, out, err } = await cli(root)
    expect([code, err]).toEqual([1, ''])
    expect(out.split('\n').filter(line => line.startsWith('/'))).toEqual([first, second])
    expect(out).toContain('2 questions in 2 logs')
  })

  it('that cannot be read is an error, and the others are traced', async () => {
    const root = folder()
    for (const name of ['open', 'shut']) mkdirSync(join(root, name))
    log(LOST, 'session.jsonl', join(root, 'open'))
    unreadable.add(join(root, 'shut'))
    const { code, out, errors } = await cli(root)
    expect(code).toBe(2)
    expect(out).toContain('1 question in 1 log: 1 lost-in-program')
    expect(errors).toEqual([`dsh-ask-trace: ${root}/shut: permission denied`])
  })

  it('without a log is an error', async () => {
    const root = folder()
    expect(await cli(root)).toMatchObject({
      code: 2,
      out: '',
      err: `dsh-ask-trace: ${root}: a folder without any session.jsonl or session.jsonl.zstd\n`,
    })
  })

  it('named twice is traced once', async () => {
    const path = log(LOST)
    expect((await cli(path, path)).out).toContain('1 question in 1 log')
  })
})

describe('--json', () => {
  it('prints the whole trace, defects included', async () => {
    const path = log(LOST)
    const { code, out } = await cli('--json', path, '/no/such/file')
    const { logs, defects, summary } = JSON.parse(out) as Record<string, unknown>
    expect(code).toBe(2)
    expect(logs).toMatchObject([{ path, notes: [], report: { asks: [{ verdict: 'lost-in-program' }] } }])
    expect(defects).toEqual([{ path: '/no/such/file', message: 'no such file or folder' }])
    expect(summary).toMatchObject({ asks: 1, roundsSpun: 0 })
  })
})

describe('--help', () => {
  it.each(['--help', '-h'])('%s explains the command', async option => {
    const { code, out, err } = await cli(option)
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^Usage: dsh-ask-trace /)
  })
})

describe('an error message', () => {
  it('never acts on the terminal', async () => {
    expect((await cli('/no/\u001b[2Jfile')).err).toBe(
      String.raw`dsh-ask-trace: /no/\u{1b}[2Jfile: no such file or folder` + '\n',
    )
  })

  it.runIf(process.getuid?.() !== 0)('says when the file may not be read', async () => {
    const path = log(LOST)
    chmodSync(path, 0)
    expect((await cli(path)).errors).toEqual([`dsh-ask-trace: ${path}: permission denied`])
  })

  it('puts system failures in words where it knows them', () => {
    expect(cannotOpen({ code: 'EACCES' }).message).toBe('permission denied')
    expect(cannotOpen(new Error('disk on fire')).message).toBe('cannot be read: disk on fire')
    expect(cannotOpen('odd').message).toBe('cannot be read: odd')
  })
})
