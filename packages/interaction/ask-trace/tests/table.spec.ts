import { describe, expect, it } from 'vitest'
import { adviceFor } from '../src/advice.ts'
import { traceAsks } from '../src/index.ts'
import { VERDICTS } from '../src/summary.ts'
import { summaryLines } from '../src/summary-lines.ts'
import { logLines } from '../src/table.ts'
import { widthOf } from '../src/text-width.ts'
import type { LogTrace } from '../src/trace-log.ts'
import type { AskReport, TracedAsk } from '../src/types.ts'
import {
  ANSWER,
  answerJson,
  asking,
  call,
  request,
  result,
  round,
  settled,
  started,
  stepStart,
  turnEnd,
  turnStart,
} from './events.ts'

const log = (change: Partial<LogTrace>): LogTrace => ({
  path: 'a.jsonl',
  session: {},
  report: traceAsks([]),
  read: 'whole',
  notes: [],
  ...change,
})

function lines(trace: LogTrace, width = 80): string[] {
  return logLines(
    trace,
    trace.report.asks.map((ask, index) => ({ number: index + 1, ask })),
    width,
  )
}

function oneAsk(change: Partial<TracedAsk>): LogTrace {
  const { asks, ...rest } = traceAsks([...asking('a', ANSWER), ...request()])
  return log({ report: { ...rest, asks: asks.map(ask => ({ ...ask, ...change })) } })
}

const facts = (trace: LogTrace) => lines(trace)[2]?.trim().split(/ {2,}/)

describe('the table', () => {
  it('has for each question a line of facts, its question and answer, and what to do', () => {
    const events = [
      turnStart(3),
      round(2),
      ...asking('call-1', 'asked'),
      ...request(),
      turnEnd(3),
      turnStart(4),
      round(3),
      stepStart(),
      call(
        'call-2',
        'ask_user_question',
        '{"questions":[{"id":"q","question":"And now?"},{"id":"r","question":"Or then?"}]}',
      ),
      result('call-2', '{"answers":[{"id":"q","selected":["A","B"],"custom":"C"},{"id":"r","selected":[]}]}'),
    ].map((event, index) => ({ ...event, time: index * 20_000 }))
    expect(lines(log({ report: traceAsks(events), notes: ['line 9 is\u001b cut off'] }))).toEqual([
      'a.jsonl',
      '  #  turn  round  inner     outer    context  verdict           waited',
      '  1  3     2      answered  lacks    lacks    LOST-IN-PROGRAM   20s',
      '     Which? → Blue',
      '     1 goal round spun after it.',
      '     Say it again as a message: the program kept the answer to itself.',
      '  2  4     3      answered  carries  not yet  awaiting-request  20s',
      '     And now? (and 1 more) → A, B, C; (skipped)',
      String.raw`  note: line 9 is\u{1b} cut off`,
    ])
  })

  it('says when there is none', () => {
    expect(lines(log({}))).toEqual(['a.jsonl', '  no questions'])
  })

  it('stands below the session, as far as the log names it', () => {
    const session = { title: 'Paint the fence', cwd: '/home/me/fence', createdAt: 1_700_000_000_000 }
    expect(lines(log({ session }))[1]).toBe('  "Paint the fence", /home/me/fence, 2023-11-14 22:13 UTC')
    expect(lines(log({ session: { createdAt: 1e300, cwd: '/x' } }))[1]).toBe('  /x')
  })

  it.each<[Partial<TracedAsk>, string, string, string]>([
    [
      { inner: { kind: 'denied', rule: 'goal-round', message: 'no' }, verdict: 'denied' },
      'denied',
      'denied: goal-round',
      'Which? → no',
    ],
    [
      { inner: { kind: 'failed', code: 'ABORTED', message: 'gone' }, verdict: 'failed' },
      'failed',
      'failed: ABORTED',
      'Which? → gone',
    ],
    [
      { inner: { kind: 'failed', code: 'ABORTED', message: 'gone' }, verdict: 'withdrawn' },
      'failed',
      'WITHDRAWN',
      'Which? → gone',
    ],
    [{ inner: { kind: 'unreadable', message: '{"a' }, verdict: 'unknown' }, 'unreadable', 'unknown', 'Which? → {"a'],
    [{ inner: { kind: 'pending', reason: 'NO_RECEIPT' }, verdict: 'stalled' }, 'pending', 'STALLED', '→ (no answer)'],
    [
      { inner: { kind: 'answered', answers: [] }, questions: [] },
      'answered',
      'delivered',
      '(no question) → (no answer)',
    ],
  ])('shows %j', (change, inner, verdict, below) => {
    const trace = oneAsk(change)
    expect([facts(trace)?.[3], facts(trace)?.[6]]).toEqual([inner, verdict])
    expect(lines(trace)[3]).toContain(below)
  })

  it('marks a layer that carries only perhaps', () => {
    const report = traceAsks([...asking('a', 'Blue'), ...request()])
    expect(facts(log({ report }))?.slice(4, 7)).toEqual(['carries?', 'carries?', 'delivered?'])
  })

  it.each([
    [0, '0ms'],
    [400, '400ms'],
    [59_400, '59s'],
    [61_000, '1m1s'],
    [510_000, '8m30s'],
    [7_260_000, '2h1m'],
  ])('shows %i ms as %s', (waitedMs, shown) => {
    expect(facts(oneAsk({ waitedMs }))?.[7]).toBe(shown)
  })
})

describe('a narrow terminal', () => {
  const long: Partial<TracedAsk> = {
    turn: 12_345,
    verdict: 'failed',
    inner: { kind: 'failed', code: 'ABORTED_BEFORE_DISPATCH', message: 'tool call aborted '.repeat(20) },
    questions: [{ id: 'q', question: 'Which of the many colours? '.repeat(20), options: [] }],
    waitedMs: 3_600_000,
  }

  it.each([20, 40, 60, 80, 120, 200])('gets no line of more than its %i columns', width => {
    const shown = lines(oneAsk(long), width).slice(1)
    expect(shown.length).toBeGreaterThan(2)
    for (const line of shown) expect(widthOf(line)).toBeLessThanOrEqual(width)
  })

  it('gets the whole answer, however long the question is', () => {
    const inner = { kind: 'answered', answers: [{ id: 'q', selected: ['Deploy to staging'] }] } as const
    expect(lines(oneAsk({ ...long, verdict: 'delivered', inner }))[3]).toMatch(/^ {5}Which of .*… → Deploy to staging$/)
  })

  it('gets the end of neither, if both are long', () => {
    const line = lines(oneAsk(long))[3] ?? ''
    expect(line).toMatch(/^ {5}Which of the .*… → tool call .*…$/)
    expect(widthOf(line)).toBeGreaterThan(70)
  })

  it('gets wide characters in columns of two', () => {
    const inner = { kind: 'answered', answers: [{ id: 'q', selected: ['蓝色'.repeat(60)] }] } as const
    const line = lines(oneAsk({ inner }))[3] ?? ''
    expect(widthOf(line)).toBeLessThanOrEqual(80)
    expect(line).toMatch(/[蓝色]…$/)
  })
})

it('no text of the log acts on the terminal', () => {
  const text = '\u001b]0;owned\u0007\u202e' + 'x'.repeat(200)
  const events = [turnStart(1), call(text), started(text), settled(text, answerJson(text)), result(text, 'Blue')]
  const session = { title: text, cwd: text }
  const shown = lines(log({ path: text, session, report: traceAsks(events), notes: [text] })).join('\n')
  expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  expect(shown).toContain(String.raw`Which? → \u{1b}]0;owned\u{7}\u{202e}xxx`)
})

describe('what to do', () => {
  it.each(VERDICTS)('%s', verdict => {
    const trace = oneAsk({ verdict })
    const advice = adviceFor(trace.report.asks[0] as TracedAsk)
    const isGood = ['delivered', 'delivered-by-write-back', 'awaiting-request', 'denied', 'failed'].includes(verdict)
    expect(advice === undefined).toBe(isGood)
    expect((advice ?? '').length).toBeLessThanOrEqual(75)
    expect(lines(trace).at(-1)?.trim()).toBe(advice ?? 'Which? → Blue')
  })
})

describe('the summary', () => {
  const ALL = { whole: 1, partly: 0, refused: 0 }
  const summary = (report: AskReport, logs = ALL) => summaryLines(report.summary, logs)

  it('counts the verdicts that there are', () => {
    expect(summary(traceAsks([...asking('a', ANSWER), ...request()]))).toEqual([
      '1 question in 1 log: 1 delivered',
      '1 log read, 0 read in part, 0 refused',
      'Nothing was lost.',
    ])
    const lost = traceAsks([...asking('a', 'x'), ...request(), round(1), round(2), call('b'), started('b')])
    expect(summary(lost, { whole: 2, partly: 0, refused: 0 })).toEqual([
      '2 questions in 2 logs: 1 lost-in-program, 1 stalled; 2 goal rounds spun after a lost answer',
      '2 logs read, 0 read in part, 0 refused',
      'Answers or questions were lost.',
    ])
    expect(summary(traceAsks([...asking('a', '7'), ...request()])).at(-1)).toBe(
      'Nothing was lost for sure, but some of it is doubtful.',
    )
  })

  it.each([
    [{ whole: 0, partly: 1, refused: 0 }, '0 questions in 1 log', '0 logs read, 1 read in part, 0 refused'],
    [{ whole: 3, partly: 0, refused: 2 }, '0 questions in 3 logs', '3 logs read, 0 read in part, 2 refused'],
  ])('says nothing of what was not read: %j', (logs, questions, read) => {
    expect(summary(traceAsks([]), logs)).toEqual([questions, read, 'Nothing was lost. This covers only what was read.'])
  })
})
