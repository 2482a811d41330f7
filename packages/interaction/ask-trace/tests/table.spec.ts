import { describe, expect, it } from 'vitest'
import { traceAsks } from '../src/index.ts'
import { logLines, summaryLine } from '../src/table.ts'
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

const WHOLE = { path: 'a.jsonl', session: {}, read: 'whole' } as const

const lines = (report: AskReport, notes: readonly string[] = []) => logLines({ ...WHOLE, report, notes })

function oneAsk(change: Partial<TracedAsk>): AskReport {
  const { asks, ...rest } = traceAsks([...asking('a', ANSWER), ...request()])
  return { ...rest, asks: asks.map(ask => ({ ...ask, ...change })) }
}

const lastCells = (report: AskReport) => lines(report).at(-1)?.trim().split(/ {2,}/)

describe('the table', () => {
  it('has a line for each question', () => {
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
    const report = traceAsks(events)
    expect(lines(report, ['line 9 is\u001b cut off'])).toEqual([
      'a.jsonl',
      '  turn  round  call           inner     outer    context         verdict                        waited  question → answer',
      '  3     2      call-1:code:1  answered  lacks    lacks           LOST-IN-PROGRAM, 1 round spun  20s     Which? → Blue',
      '  4     3      call-2         answered  carries  no-request-yet  awaiting-request               20s     '
        + 'And now? (and 1 more) → A, B, C; (skipped)',
      String.raw`  note: line 9 is\u{1b} cut off`,
    ])
  })

  it('says when there is none', () => {
    expect(lines(traceAsks([]))).toEqual(['a.jsonl', '  no questions'])
  })

  it.each<[Partial<TracedAsk>, string, string]>([
    [{ inner: { kind: 'denied', rule: 'goal-round', message: 'no' } }, 'denied: goal-round', 'Which? → no'],
    [{ inner: { kind: 'failed', code: 'ABORTED', message: 'gone' } }, 'failed: ABORTED', 'Which? → gone'],
    [{ inner: { kind: 'pending', reason: 'NO_RECEIPT' } }, 'pending', 'Which? → (no answer)'],
    [{ inner: { kind: 'pending', reason: 'TOOL_NOT_STARTED' } }, 'pending: TOOL_NOT_STARTED', 'Which? → (no answer)'],
    [{ inner: { kind: 'answered', answers: [] }, questions: [] }, 'answered', '(no question) → (unreadable)'],
  ])('shows %j', (change, inner, question) => {
    const cells = lastCells(oneAsk(change))
    expect([cells?.[3], cells?.at(-1)]).toEqual([inner, question])
  })

  it.each([
    [0, '0ms'],
    [400, '400ms'],
    [59_400, '59s'],
    [61_000, '1m1s'],
    [510_000, '8m30s'],
    [7_260_000, '2h1m'],
  ])('shows %i ms as %s', (waitedMs, shown) => {
    expect(lastCells(oneAsk({ waitedMs }))?.[7]).toBe(shown)
  })

  it('shows a stalled question loudly', () => {
    expect(lastCells(oneAsk({ verdict: 'stalled' }))?.[6]).toBe('STALLED')
  })

  it('lets no text of the log act on the terminal, and none run on', () => {
    const text = '\u001b]0;owned\u0007\u202e' + 'x'.repeat(200)
    const events = [call(text), started(text), settled(text, answerJson(text)), result(text, 'Blue')]
    const shown = logLines({ ...WHOLE, path: text, report: traceAsks(events), notes: [text] }).join('\n')
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(shown).toContain(String.raw`Which? → \u{1b}]0;owned\u{7}\u{202e}xxx`)
    expect(
      shown
        .split('\n')
        .slice(1, 3)
        .every(line => line.length < 220),
    ).toBe(true)
  })
})

describe('the summary', () => {
  const summary = (events: Parameters<typeof traceAsks>[0], logs = 1) => summaryLine(traceAsks(events).summary, logs)

  it('counts the verdicts that there are', () => {
    expect(summary([...asking('a', ANSWER), ...request()])).toBe('1 question in 1 log: 1 delivered. Nothing was lost.')
    expect(summary([...asking('a', 'x'), ...request(), round(1), round(2), call('b'), started('b')], 2)).toBe(
      '2 questions in 2 logs: 1 lost-in-program, 1 stalled; 2 goal rounds spun after a lost answer',
    )
    expect(summary([])).toBe('0 questions in 1 log. Nothing was lost.')
  })
})
