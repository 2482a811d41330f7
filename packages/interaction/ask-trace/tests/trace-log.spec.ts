import { expect, it, vi } from 'vitest'
import { traceLog } from '../src/index.ts'
import { file, HEADER, jsonl, LOST } from './log-files.ts'

it('a defect of the file is part of the trace', async () => {
  const path = file(`${jsonl([HEADER, ...LOST])}oops\n`)
  expect(await traceLog(path)).toMatchObject({
    path,
    report: { summary: { asks: 1 } },
    defect: { message: 'not JSON', line: LOST.length + 2 },
  })
})

it('a fault of the trace itself is no defect of the file', async () => {
  const parse = vi.spyOn(JSON, 'stringify').mockImplementation(() => {
    throw new TypeError('bug')
  })
  await expect(traceLog(file('{"type":"session","version":1}'))).rejects.toThrow('bug')
  parse.mockRestore()
})
