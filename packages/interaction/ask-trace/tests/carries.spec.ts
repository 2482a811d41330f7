import { describe, expect, it } from 'vitest'
import { answerNeedles, messageNeedles, needlesIn } from '../src/carries.ts'
import type { TracedQuestion } from '../src/types.ts'

const NO_QUESTION: TracedQuestion[] = []

function carries(haystack: string, said: string, questions = NO_QUESTION): boolean {
  return needlesIn(haystack, answerNeedles([{ id: 'q', selected: [said] }], questions)).length === 1
}

describe('a text carries an answer', () => {
  it.each([
    ['as the whole text', 'Blue', 'Blue'],
    ['as a word among words', 'they chose Blue, again', 'Blue'],
    ['at the end of a quotation', '{"selected":["Blue"]}', 'Blue'],
    ['after a line break inside JSON', String.raw`{"log":"chosen:\nBlue"}`, 'Blue'],
    ['after a code point inside JSON', String.raw`"\u00a0Blue"`, 'Blue'],
    ['with quotes, as JSON', String.raw`["the \"best\" one"]`, 'the "best" one'],
    ['over two lines, as JSON', String.raw`{"custom":"first\nsecond"}`, 'first\nsecond'],
    ['over two lines, as JSON in JSON', String.raw`{"out":"{\"custom\":\"a\\nb\"}"}`, 'a\nb'],
    ['although the human left blanks around it', 'so: Blue.', '  Blue\n'],
    ['although it begins and ends with no letter', 'x(a)y', '(a)'],
    ['inside a text without spaces', '我选蓝色吧', '蓝色'],
    ['beside another occurrence that is none', 'Bluebird Blue', 'Blue'],
    ['beside a letter that is two units long', '😀Blue', 'Blue'],
    ['right behind a line break inside JSON', String.raw`\nBlue`, 'Blue'],
  ])('%s', (_, haystack, said) => {
    expect(carries(haystack, said)).toBe(true)
  })

  it.each([
    ['a part of a word', 'Bluebird', 'Blue'],
    ['the end of a word', 'skyBlue', 'Blue'],
    ['a word with an accent', 'cafe\u0301', 'cafe'],
    ['a word beside a letter that is two units long', '𝐁lue', 'lue'],
    ['the second letter on', 'xBlue', 'Blue'],
    ['another case', 'blue', 'Blue'],
    ['nothing', '', 'Blue'],
  ])('but not as %s', (_, haystack, said) => {
    expect(carries(haystack, said)).toBe(false)
  })
})

describe('the wording of the question is no answer', () => {
  const question: TracedQuestion = {
    id: 'q',
    question: 'Blue or "Red"?',
    header: 'The Blue question',
    options: [{ label: 'Blue', description: 'Blue calms' }, { label: 'Red' }],
  }

  it.each([
    ['its text', 'asked: Blue or "Red"?'],
    ['its text, as JSON', JSON.stringify({ asked: question.question })],
    ['its heading', 'The Blue question'],
    ['the description of an option', 'Blue calms'],
    ['its options, as JSON', JSON.stringify(question.options)],
    ['its options, as JSON in JSON', JSON.stringify({ asked: JSON.stringify(question) })],
    ['its options, as an object prints', "{ label: 'Blue' }"],
  ])('%s', (_, haystack) => {
    expect(carries(haystack, 'Blue', [question])).toBe(false)
  })

  it('but an answer beside it is one', () => {
    expect(carries('Blue or "Red"? Blue', 'Blue', [question])).toBe(true)
  })

  it('but an answer that repeats it is one', () => {
    expect(carries('The human said: Blue or "Red"?', 'Blue or "Red"?', [question])).toBe(true)
    expect(carries('Blue or "Red"? No, green.', 'Blue or "Red"? No, green.', [question])).toBe(true)
  })
})

describe('what has to arrive', () => {
  it('is every label and every free text of every answered question', () => {
    const needles = answerNeedles(
      [
        { id: 'a', selected: ['Blue', 'Red'] },
        { id: 'b', selected: [], custom: 'soon' },
        { id: 'skipped', selected: [], custom: ' ' },
      ],
      NO_QUESTION,
    )
    expect(needles).toHaveLength(3)
    expect(needlesIn('Blue soon', needles)).toEqual([0, 2])
  })

  it('is the message of a failure', () => {
    expect(needlesIn('code run failed: go away', messageNeedles('go away'))).toEqual([0])
    expect(messageNeedles(' ')).toEqual([])
  })
})
