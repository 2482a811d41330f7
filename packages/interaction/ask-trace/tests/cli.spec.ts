import { chmodSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runCli } from '../src/cli.ts'
import { cannotOpen } from '../src/find-logs.ts'
import { asking, call, request, started } from './events.ts'
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
    expect(code).toBe(2)
    expect(out).toContain('0 logs read, 1 read in part, 0 refused')
    expect(errors).toEqual([expect.stringMatching(/: damaged: no zstd frame begins at byte \d+$/)])
  })

  it('is 3 when something is doubtful and nothing worse', async () => {
    const doubtful = log([...asking('a', 'Blue'), ...request()])
    expect(await cli(doubtful)).toMatchObject({ code: 3, err: '' })
    expect((await cli(doubtful, log(LOST))).code).toBe(1)
    expect((await cli(doubtful, '/no/such/file')).code).toBe(2)
  })

  it.each([
    [[], 'no session log named'],
    [['--jsno'], "unknown option '--jsno'"],
    [['--\u001b[31m'], String.raw`unknown option '--\u{1b}[31m'`],
  ])('is 64 for the arguments %j, in one line', async (args, message) => {
    expect(await cli(...args)).toMatchObject({
      code: 64,
      out: '',
      err: `dsh-ask-trace: ${message}; see dsh-ask-trace --help\n`,
    })
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
      out: '0 questions in 0 logs\n0 logs read, 0 read in part, 1 refused\nNothing was lost. This covers only what was read.\n',
      err: `dsh-ask-trace: ${root}: a folder without any session.jsonl or session.jsonl.zstd\n`,
    })
  })

  it('that overlaps with another input counts once, by whatever names', async () => {
    const root = folder()
    mkdirSync(join(root, 'a'))
    const path = log(LOST, 'session.jsonl', join(root, 'a'))
    const link = join(folder(), 'link')
    symlinkSync(path, link)
    expect((await cli(path, root, join(root, 'a', '..'), link)).out).toContain('1 question in 1 log')
  })

  it('is printed as it is traced, logs with a question in trouble last', async () => {
    const root = folder()
    for (const name of ['a', 'b', 'c']) mkdirSync(join(root, name))
    const [lost, fine, doubtful] = [
      log(LOST, 'session.jsonl', join(root, 'a')),
      log(DELIVERED, 'session.jsonl', join(root, 'b')),
      log([...asking('a', 'Blue'), ...request()], 'session.jsonl', join(root, 'c')),
    ]
    const printed: string[] = []
    await runCli([root], { out: text => printed.push(text), err: () => undefined })
    expect(printed[0]?.split('\n')[0]).toBe(fine)
    expect(printed).toHaveLength(2)
    const { out } = await cli(root)
    expect(out.split('\n').filter(line => line.startsWith('/'))).toEqual([fine, lost, doubtful])
    expect(out).toMatch(/ {2}1 .*LOST-IN-PROGRAM/)
    expect(out).toMatch(/ {2}2 .*delivered/)
    expect(out).toMatch(/ {2}3 .*delivered\?/)
  })
})

describe('--json', () => {
  it('prints the whole trace, evidence and defects included', async () => {
    const path = log(LOST)
    const damaged = file(`${jsonl([HEADER, ...DELIVERED])}oops\n`)
    const { code, out } = await cli('--json', path, '/no/such/file', damaged)
    const { logs, defects, summary } = JSON.parse(out) as Record<string, unknown>
    expect(code).toBe(2)
    expect(logs).toMatchObject([
      { path, read: 'whole', notes: [], report: { asks: [{ verdict: 'lost-in-program', evidence: { outer: {} } }] } },
      { path: damaged, read: 'partly', notes: [expect.stringContaining('1 row was left out')] },
    ])
    expect(defects).toEqual([{ path: '/no/such/file', message: 'no such file or folder' }])
    expect(summary).toMatchObject({ asks: 2, roundsSpun: 0, logs: { whole: 1, partly: 1, refused: 1 } })
  })
})

describe('--lost', () => {
  it('shows only the questions in trouble, and the logs that have some', async () => {
    const both = [...DELIVERED, ...LOST]
    const fine = log(DELIVERED)
    const { code, out } = await cli('--lost', fine, log(both))
    expect(code).toBe(1)
    expect(out).not.toContain(fine)
    expect(out).toMatch(/ {2}3 .*LOST-IN-PROGRAM/)
    expect(out).not.toMatch(/ {2}[12] /)
    expect(out).toContain('3 questions in 2 logs: 2 delivered, 1 lost-in-program')
  })
})

describe('--explain', () => {
  it('shows the evidence of each question in trouble', async () => {
    const { out } = await cli('--explain', log([...DELIVERED, ...LOST]))
    expect(out).toContain('Question 2: LOST-IN-PROGRAM')
    expect(out).not.toContain('Question 1')
  })

  it('shows the evidence of one question, by its number', async () => {
    const { code, out } = await cli('--explain', '1', log([...DELIVERED, ...LOST]))
    expect(code).toBe(1)
    expect(out).toContain('Question 1: delivered')
    expect(out).not.toContain('Question 2')
  })

  it('of a question that there is not makes no sense', async () => {
    const { code, err } = await cli('--explain', '3', log([...DELIVERED, ...LOST]))
    expect([code, err]).toEqual([64, 'dsh-ask-trace: there is no question 3, only 2; see dsh-ask-trace --help\n'])
  })
})

describe('standard input', () => {
  const { stdin } = process

  afterEach(() => {
    Object.defineProperty(process, 'stdin', { value: stdin, configurable: true })
  })

  it.each([
    ['plain', Buffer.from(jsonl([HEADER, ...LOST]))],
    ['compressed', frames(jsonl([HEADER]), jsonl(LOST))],
  ])('is a log under the name -, once: %s', async (_, bytes) => {
    Object.defineProperty(process, 'stdin', { value: Readable.from([bytes]), configurable: true })
    const { code, out } = await cli('-', '-')
    expect(code).toBe(1)
    expect(out).toMatch(/^-\n[^]*LOST-IN-PROGRAM[^]*1 question in 1 log/)
  })
})

describe('--help', () => {
  it.each(['--help', '-h'])('%s explains the command', async option => {
    const { code, out, err } = await cli(option)
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^Usage: dsh-ask-trace /)
  })
})

it("a fault of the command itself is nobody's input", async () => {
  const out = () => {
    throw new Error('bug')
  }
  await expect(runCli(['--help'], { out, err: () => undefined })).rejects.toThrow('bug')
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

describe('--html', () => {
  it('writes the page beside what is printed, and leaves the exit code as it is', async () => {
    const page = join(folder(), 'trace.html')
    const { code, out, err } = await cli('--html', page, log(LOST))
    expect([code, err]).toEqual([1, ''])
    expect(out).toContain('LOST-IN-PROGRAM')
    expect(readFileSync(page, 'utf8')).toContain('<strong class="bad">LOST-IN-PROGRAM')
  })

  it('names a file that cannot be written', async () => {
    const page = join(folder(), 'no', 'trace.html')
    const { code, err } = await cli('--html', page, log(DELIVERED))
    expect(code).toBe(74)
    expect(err).toContain(`dsh-ask-trace: --html ${page} cannot be written: ENOENT`)
  })

  it('asks for the file', async () => {
    expect(await cli('--html=', log(DELIVERED))).toMatchObject({
      code: 64,
      err: expect.stringContaining('--html takes the file') as string,
    })
  })
})
