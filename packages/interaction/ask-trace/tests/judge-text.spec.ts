import { describe, expect, it } from 'vitest'
import { answerParts, messageParts, type Part } from '../src/answer-parts.ts'
import { judgeText } from '../src/judge-text.ts'
import { plainText } from '../src/tokens.ts'
import type { TracedAnswer, TracedQuestion } from '../src/types.ts'

const question = (labels: readonly string[] = [], change: Partial<TracedQuestion> = {}): TracedQuestion => ({
  id: 'q',
  question: 'Which?',
  options: labels.map(label => ({ label })),
  ...change,
})

const answer = (selected: readonly string[], change: Partial<TracedAnswer> = {}): TracedAnswer => ({
  id: 'q',
  selected,
  ...change,
})

const partsOf = (label: string, labels: readonly string[] = []) => answerParts([answer([label])], [question(labels)])

function judge(text: string, ...parts: readonly Part[]): string[] {
  return judgeText(plainText(text), parts).map(({ strength, reason }) => `${strength}: ${reason}`)
}

describe('a whole item', () => {
  const blue = partsOf('Blue')

  it.each([
    ['as JSON', '{"id":"q","selected":["Blue"]}'],
    ['with other fields around it', '{"a":{"id":"x"},"id":"q","b":[{}],"selected":["Blue"],"custom":""}'],
    ['inside of another object', '{"x":{"y":[{"id":"q","selected":["Blue"]}]}}'],
    ['behind a closing brace too many', '}} {"id":"q","selected":["Blue"]}'],
    ['behind an opening brace too many', '{{{"id":"q","selected":["Blue"]}'],
    ['behind a field that is repeated', '{"id":"x","id":"q","selected":["Red"],"selected":["Blue"]}'],
  ])('is found %s', (_, text) => {
    expect(judge(text, ...blue)).toEqual(['strong: whole-item'])
  })

  it.each([
    ['of another question', '{"id":"r","selected":["Blue"]}'],
    ['of a question whose id begins alike', '{"id":"q-2","selected":["Blue"]}'],
    ['with more than was selected', '{"id":"q","selected":["Blue","Red"]}'],
    ['in two objects', '{"a":{"id":"q"},"b":{"selected":["Blue"]}}'],
    ['in an object around it', '{"id":"q","a":{"selected":["Blue"]}}'],
    ['that is cut off', '{"id":"q","selected":["Blue"]'],
    ['without an object', '"id":"q","selected":["Blue"]'],
  ])('is not one %s', (_, text) => {
    expect(judge(text, ...blue)).toEqual(['weak: short'])
  })

  it('has all that was selected and typed', () => {
    const parts = answerParts([answer(['A', 'B'], { custom: 'soon' })], [question(['A', 'B', 'C'])])
    const strong = ['strong: whole-item', 'strong: whole-item', 'strong: whole-item']
    expect(judge('{"id":"q","selected":["A","B"],"custom":"soon"}', ...parts)).toEqual(strong)
    expect(judge('{"id":"q","custom":"soon"}', ...parts)).toEqual(['none: absent', 'none: absent', 'weak: short'])
  })

  it('is looked for in objects of a thousand levels, and no deeper', () => {
    const nested = (levels: number) => `${'{"x":'.repeat(levels)}{"id":"q","selected":["Blue"]}${'}'.repeat(levels)}`
    expect(judge(nested(999), ...blue)).toEqual(['strong: whole-item'])
    expect(judge(nested(1_000), ...blue)).toEqual(['weak: short'])
    expect(judge(`${nested(1_000)} {"id":"q","selected":["Blue"]}`, ...blue)).toEqual(['strong: whole-item'])
  })

  it("that stands there less often than it was answered is nobody's for sure", () => {
    const item = '{"id":"q","selected":["Blue"]}'
    expect(judge(item, ...blue, ...partsOf('Blue'))).toEqual(['weak: too-few', 'weak: too-few'])
    expect(judge(item + item, ...blue, ...partsOf('Blue'))).toEqual(['strong: whole-item', 'strong: whole-item'])
  })
})

describe('the text of an answer', () => {
  it.each([
    ['eight characters', 'to blue!', 'to blue!', 'strong: text'],
    ['seven characters', 'to blue', 'to blue', 'weak: short'],
    ['eight characters of two units', '😀😀😀😀😀😀😀😀', '😀😀😀😀😀😀😀😀', 'strong: text'],
    ['seven characters of two units', '😀😀😀😀😀😀😀', '😀😀😀😀😀😀😀', 'weak: short'],
    ['a part of a word', 'Bluebird', 'Bluebirds', 'none: absent'],
    ['a path', String.raw`C:\new\table`, JSON.stringify({ path: String.raw`C:\new\table` }), 'strong: text'],
    ['a recommendation', 'Keep the name (Recommended)', 'keep: Keep the name', 'strong: text'],
    ['a recommendation in other words', 'Keep the name [recommended]', 'Keep the name', 'strong: text'],
    ['a recommendation, whole', 'Keep the name (Recommended)', 'Keep the name (Recommended)', 'strong: text'],
  ])('%s', (_, said, text, judged) => {
    expect(judge(text, ...partsOf(said))).toEqual([judged])
  })

  it('counts wherever it stands in its own letters, if it also stands in others', () => {
    expect(judge('deploy to STAGING, Deploy to staging', ...partsOf('Deploy to staging'))).toEqual(['weak: inexact'])
    expect(judge('Deploy to staging', ...partsOf('Deploy to staging'))).toEqual(['strong: text'])
  })

  it('is doubtful beside an option that was not chosen, unless that is a part of it', () => {
    const parts = partsOf('Deploy to staging', ['Deploy', 'Deploy to staging'])
    expect(judge('Deploy to staging', ...parts)).toEqual(['strong: text'])
    expect(judge('Deploy, or Deploy to staging', ...parts)).toEqual(['weak: other-option'])
  })

  it('is doubtful inside another option, at its beginning, middle and end', () => {
    const labels = [
      'Deploy to staging',
      'Deploy to staging now',
      'Rather Deploy to staging',
      'Do Deploy to staging now',
    ]
    const parts = partsOf('Deploy to staging', labels)
    for (const other of labels.slice(1)) expect(judge(other, ...parts)).toEqual(['weak: part-of-other'])
    expect(judge('Deploy to staging now. Deploy to staging', ...parts)).toEqual(['weak: other-option'])
  })

  it.each([
    ['question', question([], { question: 'Shall I deploy to staging?' })],
    ['heading', question([], { header: 'Deploy to staging?' })],
    ['description of an option', question([], { options: [{ label: 'x', description: 'not: deploy to staging' }] })],
  ])('is doubtful when it stands in the %s too', (_, asked) => {
    const parts = answerParts([answer(['Deploy to staging'])], [asked])
    expect(judge('Deploy to staging', ...parts)).toEqual(['weak: in-question'])
  })

  it('is as doubtful for each question that got it, if it stands there less often', () => {
    const asks = ['a', 'b', 'c'].flatMap(id =>
      answerParts([{ id, selected: [], custom: 'Go ahead now' }], [question([], { id })]),
    )
    const text = 'Go ahead now. '
    expect(judge(text.repeat(2), ...asks)).toEqual(['weak: too-few', 'weak: too-few', 'weak: too-few'])
    expect(judge(text.repeat(3), ...asks)).toEqual(['strong: text', 'strong: text', 'strong: text'])
  })

  it('counts with and without its recommendation, but no place twice', () => {
    const parts = [...partsOf('Keep the name (Recommended)'), ...partsOf('Keep the name (Recommended)')]
    expect(judge('Keep the name (Recommended)', ...parts)).toEqual(['weak: too-few', 'weak: too-few'])
    expect(judge('Keep the name (Recommended), Keep the name', ...parts)).toEqual(['strong: text', 'strong: text'])
  })
})

describe('what has to arrive', () => {
  it('is every label and every free text of every answered question', () => {
    const answers = [
      answer(['A', 'B'], { id: 'a' }),
      answer([], { id: 'b', custom: 'soon' }),
      answer([], { custom: ' ' }),
    ]
    expect(answerParts(answers, []).map(({ question: id, said }) => [id, said])).toEqual([
      ['a', 'A'],
      ['a', 'B'],
      ['b', 'soon'],
    ])
  })

  it('is nothing of an answer that has no characters to look for', () => {
    expect(answerParts([answer(['\\\\'])], [])).toEqual([])
  })

  it('is the first thousand labels, if there are more', () => {
    const labels = Array.from({ length: 2_000 }, (_, n) => `label ${n}`)
    expect(answerParts([answer(labels)], [question(labels)])).toHaveLength(1_000)
  })

  it('is the message of a failure, whatever its length', () => {
    expect(judge('code run failed: No!', ...messageParts('no!'))).toEqual(['strong: text'])
    expect(judge('code run failed', ...messageParts('no!'))).toEqual(['none: absent'])
    expect(judge('{"error":"no!"}', ...messageParts('no!'))).toEqual(['strong: text'])
    expect(messageParts(' ')).toEqual([])
  })
})
