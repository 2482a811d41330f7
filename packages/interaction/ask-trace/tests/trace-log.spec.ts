import { expect, it, vi } from 'vitest'
import { traceLog } from '../src/index.ts'
import { asking, call, request, started } from './events.ts'
import { DELIVERED, file, frames, HEADER, jsonl, LOST } from './log-files.ts'

it('a whole log is read whole, and its session is named', async () => {
  const header = { ...HEADER, cwd: '/home/me/fence', createdAt: 1_700_000_000_000 }
  const titles = ['Paint', 'Paint the fence'].map(title => ({ type: 'session/title', data: { title } }))
  expect(await traceLog(file(jsonl([header, ...titles, ...DELIVERED])))).toMatchObject({
    read: 'whole',
    session: { title: 'Paint the fence', cwd: '/home/me/fence', createdAt: 1_700_000_000_000 },
    notes: [],
  })
})

it('a session may have neither folder nor title', async () => {
  const odd = { type: 'session/title', data: { title: 7 } }
  expect((await traceLog(file(jsonl([{ type: 'session', createdAt: 'x' }, odd])))).session).toEqual({})
})

it('a defect of the file is part of the trace, which covers what stands before', async () => {
  const path = file(Buffer.concat([frames(jsonl([HEADER, ...LOST])), Buffer.from('junk')]))
  const { read, report, defect } = await traceLog(path)
  expect([read, report.summary.asks]).toEqual(['partly', 1])
  expect(defect?.message).toContain('no zstd frame begins')
})

it('a file that is no log is refused', async () => {
  expect(await traceLog(file('Dear diary\n'))).toMatchObject({ read: 'refused', defect: { line: 1 } })
})

it('a log with rows that were left out is read in part', async () => {
  const { read, notes, defect } = await traceLog(file(`${jsonl([HEADER])}oops\n${jsonl(LOST)}`))
  expect([read, notes, defect]).toEqual(['partly', ['1 row was left out: line 2: not JSON'], undefined])
})

it('what a deeply nested event holds is not followed for ever', async () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const content = `{"type":"tool-result","content":${'[{"type":"tool-result","content":'.repeat(2_500)}[]${'}]'.repeat(2_500)}}`
  const lines = [
    `{"type":"user/message","data":{"content":${deep}}}`,
    `{"type":"user/message","data":{"content":[${content}]}}`,
  ]
  expect(await traceLog(file(`${jsonl([HEADER, ...LOST])}${lines.join('\n')}\n`))).toMatchObject({ read: 'whole' })
})

it('a log that makes the trace itself fail is refused alone', async () => {
  const normalize = vi.spyOn(String.prototype, 'normalize').mockImplementation(() => {
    throw new RangeError('Maximum call stack size exceeded')
  })
  const trace = await traceLog(file(jsonl([HEADER, ...asking('a', 'gefragt über Farben'), ...request()])))
  normalize.mockRestore()
  expect(trace).toMatchObject({
    read: 'refused',
    report: { asks: [] },
    defect: { message: 'cannot be traced: Maximum call stack size exceeded' },
  })
})

it('a log of more questions than memory should hold is traced up to there', async () => {
  const ids = Array.from({ length: 60_000 }, (_, n) => `call-${n}`)
  const { report, defect } = await traceLog(file(jsonl([HEADER, call('a'), ...ids.map(() => started('a'))])))
  expect(report.asks.length).toBeGreaterThan(10_000)
  expect(defect?.message).toContain('more questions and open calls than a session has')
})
