import { describe, expect, it } from 'vitest'
import { excerpt, renderEnd, renderSection } from './section.ts'

const LONG = 'a sentence that is much longer than a column, and '.repeat(4)
const held = { what: 'the answer reaches the model', holds: true }
const missed = { what: LONG, holds: false }

describe('the table of a report', () => {
  const text = renderSection({
    title: '#1  A report',
    setting: LONG,
    rows: [['how long it took', excerpt('x'.repeat(200)), LONG]],
    checks: [held, missed],
  })

  it('fits a terminal of 80 columns, whatever stands in it', () => {
    expect(Math.max(...text.split('\n').map(line => line.length))).toBeLessThanOrEqual(80)
  })

  it('marks what holds and what does not', () => {
    expect(text).toContain('  ok    the answer reaches the model')
    expect(text).toContain('  FAIL  a sentence that is much longer than a column')
  })
})

describe('the end of the demo', () => {
  it('counts what is as expected and says what to do next', () => {
    expect(renderEnd([held, held])).toMatch(/^2 of 2 as expected\. Next: README\.md/)
  })

  it('names what is not', () => {
    expect(renderEnd([held, missed])).toMatch(/^1 of 2 as expected\. Not so:\n {2}FAIL {2}a sentence/)
  })
})
