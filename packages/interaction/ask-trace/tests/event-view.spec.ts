import { expect, it } from 'vitest'
import { answersOf, contentText, questionsOf } from '../src/event-view.ts'

it('questions are read from an object or from JSON, and malformed fields count as absent', () => {
  const args = {
    questions: [
      { id: 'a', question: 'Which?', header: 'H', options: [{ label: 'X', description: 'D' }, { label: 1 }, 'Y'] },
      { id: 1, question: [], header: {}, options: {} },
      'no question',
    ],
  }
  const questions = [
    { id: 'a', question: 'Which?', header: 'H', options: [{ label: 'X', description: 'D' }, { label: '' }] },
    { id: '', question: '', options: [] },
  ]
  expect(questionsOf(args)).toEqual(questions)
  expect(questionsOf(JSON.stringify(args))).toEqual(questions)
  expect([questionsOf('{"questi'), questionsOf(null), questionsOf([])]).toEqual([[], [], []])
})

it('answers are read from the text of a receipt', () => {
  const json = JSON.stringify({ answers: [{ id: 'a', selected: ['X', 7] }, { custom: 'c' }, 7] })
  expect(answersOf(json)).toEqual([
    { id: 'a', selected: ['X'] },
    { id: '', selected: [], custom: 'c' },
  ])
  expect([answersOf('no JSON'), answersOf('[]'), answersOf('{"answers":{}}')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

it('the text of content blocks is what a model reads', () => {
  const blocks = [
    { type: 'text', text: 'a' },
    { type: 'image' },
    { type: 'tool-result', content: [{ type: 'text', text: 'b' }] },
  ]
  expect(contentText(blocks)).toBe('a\n\nb')
  expect(contentText('a')).toBe('')
})
