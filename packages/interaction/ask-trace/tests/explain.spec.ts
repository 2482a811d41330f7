import { describe, expect, it } from 'vitest'
import { explainLines } from '../src/explain.ts'
import { traceAsks } from '../src/index.ts'
import { widthOf } from '../src/text-width.ts'
import {
  ANSWER,
  asking,
  call,
  question,
  request,
  result,
  round,
  settled,
  started,
  stepStart,
  turnStart,
  type Event,
} from './events.ts'

function explain(events: readonly Event[], width = 100): string[] {
  const report = traceAsks(events.map((event, seq) => ({ ...event, seq, time: 1000 * seq })))
  const trace = { path: 'a.jsonl', session: { title: 'Paint' }, report, read: 'whole', notes: [] } as const
  return report.asks.slice(0, 1).flatMap(ask => explainLines(trace, { number: 7, ask }, width))
}

describe('the evidence', () => {
  it('of a lost answer shows what the program returned instead', () => {
    expect(explain([turnStart(2), round(1), ...asking('a', 'asked the user'), ...request(), round(2)])).toEqual([
      'a.jsonl',
      '  "Paint"',
      'Question 7: LOST-IN-PROGRAM',
      '  call a:code:1 of the program in a, turn 2, goal round 1, seq 4',
      '  asked: q: Which? [Blue]',
      '  answered: q: Blue (after 1s)',
      '  inner: answered',
      '      seq 5, tool/code-dispatch of a:code:1',
      '      | {"answers":[{"id":"q","selected":["»Blue«"]}]}',
      '  outer: lacks',
      '    "Blue" is not there',
      '    what was there instead:',
      '      seq 6, tool/result of a',
      '      | asked the user',
      '  context: lacks',
      '    "Blue" is not there',
      '    what was there instead:',
      '      seq 6, tool/result of a',
      '      | asked the user',
      '     1 goal round spun after it.',
      '     Say it again as a message: the program kept the answer to itself.',
    ])
  })

  it('of a delivered answer shows where it stands', () => {
    const lines = explain([...asking('a', `so: ${ANSWER}`), ...request()])
    expect(lines).toContain('    "Blue" is there: id and answer in one object')
    expect(lines).toContain('      | so: {"answers":[{"id":"q","»selected":["Blue"]«}]}')
    expect(lines).not.toContain('    what was there instead:')
  })

  it('of a doubtful answer says why', () => {
    const lines = explain([...asking('a', 'Blue it is'), ...request()])
    expect(lines).toContain('    "Blue" may be there: it has fewer than 8 characters')
    expect(lines).toContain('      | »Blue« it is')
    expect(lines).not.toContain('    what was there instead:')
  })

  it('of a native question is its receipt', () => {
    const native = [stepStart(), call('a', 'ask_user_question', JSON.stringify(question())), result('a', ANSWER)]
    const lines = explain([...native, ...request()])
    expect(lines).toContain('  call a, seq 1')
    expect(lines).toContain('    "Blue" is there: the receipt is the result')
  })

  it('of a question without options and without an answer has little to show', () => {
    const asked = { questions: [{ id: 'q', question: 'Which?' }] }
    const lines = explain([call('a', 'ask_user_question', JSON.stringify(asked))])
    expect(lines).toContain('  asked: q: Which?')
    expect(lines).toContain('  outcome: (no answer) (after 0ms)')
    expect(lines).toContain('  outer: missing')
    const bare = traceAsks([call('a', 'ask_user_question'), result('a', '')])
    const trace = { path: 'a', session: {}, report: bare, read: 'whole', notes: [] } as const
    expect(explainLines(trace, { number: 1, ask: bare.asks[0] as (typeof bare.asks)[0] }, 80)).toContain('  outcome: ')
  })

  it('keeps within the terminal, and acts on nothing', () => {
    const text = `\u001b[31m${'x'.repeat(300)}`
    const lines = explain(
      [stepStart(), call(text), started(text), settled(text, text), result(text, text), ...request()],
      60,
    )
    for (const line of lines.slice(1)) expect(widthOf(line)).toBeLessThanOrEqual(60)
    expect(lines.join('')).not.toMatch(/\p{Cc}/u)
  })
})
