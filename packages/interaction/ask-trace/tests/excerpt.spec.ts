import { describe, expect, it } from 'vitest'
import { excerptOf } from '../src/excerpt.ts'

const at = (text: string, match: string) => {
  const start = text.indexOf(match)
  return excerptOf(text, { start, end: start + match.length })
}
const whole = ({ before, match, after }: ReturnType<typeof excerptOf>) => before + match + after

describe('an excerpt', () => {
  it('is the whole text, if that is short', () => {
    expect(at('they chose Blue, again', 'Blue')).toEqual({ before: 'they chose ', match: 'Blue', after: ', again' })
    expect(excerptOf('asked')).toEqual({ before: '', match: '', after: 'asked' })
  })

  it('has at most 80 characters around its match, with what was cut marked', () => {
    const words = 'word '.repeat(100)
    const excerpt = at(`${words}Blue ${words}`, 'Blue')
    expect(whole(excerpt)).toHaveLength(80)
    expect(excerpt).toMatchObject({ match: 'Blue' })
    expect(excerpt.before).toMatch(/^….*word $/)
    expect(excerpt.after).toMatch(/^ word .*…$/)
  })

  it.each([
    ['beginning', `Blue ${'x'.repeat(200)}`],
    ['end', `${'x'.repeat(200)} Blue`],
  ])('gives the room of one side to the other, at the %s of a text', (_, text) => {
    expect(whole(at(text, 'Blue'))).toHaveLength(80)
  })

  it('cuts a match that is longer itself', () => {
    const long = 'x'.repeat(500)
    expect(at(`a ${long} b`, long)).toEqual({ before: '', match: `${'x'.repeat(79)}…`, after: '' })
  })

  it('is on one line, with white space shortened, far more than 80 characters of it too', () => {
    expect(at(`{\n${' '.repeat(100)}"a": "Blue"\n}`, 'Blue')).toEqual({
      before: '{ "a": "',
      match: 'Blue',
      after: '" }',
    })
    expect(at(`x${' '.repeat(2_000)}Blue${' '.repeat(2_000)}y`, 'Blue')).toEqual({
      before: '',
      match: 'Blue',
      after: '…',
    })
  })

  it('is never cut inside a character', () => {
    expect(whole(at(`${'😀'.repeat(100)}Blue${'😀'.repeat(100)}`, 'Blue')).isWellFormed()).toBe(true)
  })
})
