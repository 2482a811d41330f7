import { describe, expect, it } from 'vitest'
import { renderPage } from '../src/html-page.ts'
import { traceAsks } from '../src/index.ts'
import type { LogTrace } from '../src/trace-log.ts'
import type { TracedAsk, TracedMatch } from '../src/types.ts'
import { ANSWER, answerJson, asking, call, request, result, round, turnEnd, turnStart, type Event } from './events.ts'

const COUNTS = { whole: 1, partly: 0, refused: 0 }

function page(events: readonly Event[], change: Partial<LogTrace> = {}, ask: Partial<TracedAsk> = {}): string {
  const traced = traceAsks(events)
  const report = { ...traced, asks: traced.asks.map(each => ({ ...each, ...ask })) }
  const trace: LogTrace = { path: 'a.jsonl', session: {}, report, read: 'whole', notes: [], ...change }
  const asks = report.asks.map((each, index) => ({ number: index + 1, ask: each }))
  return onOneLine(renderPage([{ trace, asks }], report.summary, COUNTS))
}

/** White space between tags is the formatter's. */
function onOneLine(markup: string): string {
  return markup
    .replace(/\s+/g, ' ')
    .replace(/> /g, '>')
    .replace(/ (<|>)/g, '$1')
}

describe('the page', () => {
  it('needs nothing from elsewhere and allows no script', () => {
    const text = page([...asking('a', ANSWER), ...request()])
    expect(text).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`)
    expect(text).not.toMatch(/<(script|link|img)|https?:|url\(|@import/)
  })

  it('puts logs and questions in trouble first, and opens them', () => {
    const log = (path: string, events: readonly Event[], number: number) => {
      const report = traceAsks(events)
      const trace: LogTrace = { path, session: {}, report, read: 'whole', notes: [] }
      return { trace, asks: report.asks.map((ask, index) => ({ number: number + index, ask })) }
    }
    const fine = log('fine.jsonl', [...asking('a', ANSWER), ...request()], 1)
    const bad = log('bad.jsonl', [...asking('b', ANSWER), ...request(), ...asking('c', 'asked'), ...request()], 2)
    const text = onOneLine(renderPage([fine, bad], bad.trace.report.summary, COUNTS))
    expect(text.indexOf('bad.jsonl')).toBeLessThan(text.indexOf('fine.jsonl'))
    expect(text.indexOf('id="q3" open')).toBeLessThan(text.indexOf('id="q2">'))
    expect(text).toContain('id="q1">')
  })

  it('shows the turns and rounds as a line of links, and how many rounds went by without the answer', () => {
    const text = page([
      turnStart(1),
      round(1),
      ...asking('a', 'asked'),
      ...request(),
      turnEnd(1),
      turnStart(2),
      round(2),
      ...request(),
      turnEnd(2),
    ])
    expect(text).toContain('<li>turn 1, goal round 1:<a class="bad" href="#q1" title="LOST-IN-PROGRAM')
    expect(text).toContain('<li class="bad">1 goal round without the answer</li>')
  })

  it('marks what was found, and shows what stood there instead', () => {
    expect(page([...asking('a', ANSWER), ...request()])).toContain('<mark>')
    const lost = page([...asking('a', 'only the program knows'), ...request()])
    expect(lost).toContain('There was instead:')
    expect(lost).toContain('only the program knows')
    expect(lost).toContain('Say it again as a message')
  })

  it('writes text out: markup, control characters, and no more of it than can be read', () => {
    const hostile = '<b onclick="x">\u001B[2J\'&'
    const text = page([...asking('a', hostile), ...request()], {
      session: { title: hostile, cwd: hostile },
      notes: [hostile],
    })
    expect(text).not.toMatch(/<b |\u001B/)
    expect(text).toContain('&lt;b onclick=&quot;x&quot;&gt;\\u{1b}[2J&#39;&amp;')
    const long = page(
      [...asking('a', 'asked'), ...request()],
      {},
      {
        questions: [{ id: 'q', question: '很'.repeat(1_000), options: [] }],
      },
    )
    expect(long).toContain(`${'很'.repeat(300)}…`)
    expect(long).not.toContain('很'.repeat(301))
  })

  it('marks in its colours what the log does not settle', () => {
    const text = page([...asking('a', ANSWER), ...request()], {}, { verdict: 'delivered?', waitedMs: 2_000 })
    expect(text).toContain('<strong class="doubtful">delivered?</strong>')
    expect(text).toContain('id="q1" open')
    expect(text).toContain('waited 2s')
  })

  it('shows a question of the model itself, one without a turn or a request, and a log without any', () => {
    const ask = JSON.stringify({ questions: [{ id: 'q', question: 'Which?' }] })
    const text = page([call('a', 'ask_user_question', ask), result('a', answerJson('Blue'))])
    expect(text).toContain('call a')
    expect(text).not.toContain('of the program in')
    expect(text).toContain('no turn:')
    expect(text).toContain('no request yet')
    expect(page([], { session: { title: 'A talk', createdAt: 0 } })).toContain('No questions.')
  })

  it('leaves evidence out where the log has none, and says how much more there is', () => {
    const at = { seq: 7, event: 'tool/result of a', excerpt: { before: 'no ', match: '', after: 'answer' } }
    const one: TracedMatch = { question: 'q', said: 'Blue', strength: 'none', reason: 'absent' }
    const evidence = { inner: at, outer: { matches: Array.from({ length: 8 }, () => one) } }
    const text = page([...asking('a', ANSWER), ...request()], {}, { evidence })
    expect(text.split('“Blue” ').length - 1).toBe(5)
    expect(text).toContain('3 more in --json')
    expect(text).toContain('seq 7, tool/result of a')
    expect(text).toContain('<code>no answer</code>')
  })
})
