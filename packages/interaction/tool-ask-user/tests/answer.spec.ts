import { describe, expect, it } from 'vitest'
import { ToolOutputError } from '@deepseek-ai/dsh-tools'
import { takeAnswer } from '../src/answer.ts'

describe('takeAnswer', () => {
  it.each([
    ['labels', { answers: [{ id: 'a', selected: ['x', 'y'] }] }],
    ['free text', { answers: [{ id: 'a', selected: [], custom: 'x' }] }],
    ['a skipped question', { answers: [{ id: 'a', selected: [] }] }],
    [
      'one item per question',
      {
        answers: [
          { id: 'b', selected: [] },
          { id: 'a', selected: ['x'], custom: '' },
        ],
      },
    ],
    ['no items at all', { answers: [] }],
    ['several items for one id', { answers: Array(2).fill({ id: 'a', selected: ['x'] }) }],
  ])('takes %s', (_name, answer) => {
    expect(takeAnswer(answer)).toEqual(answer)
  })

  it('takes the known fields and leaves the others', () => {
    const given = { answers: [{ id: 'a', selected: ['x'], custom: undefined, at: 1 }], by: 'UI' }

    expect(takeAnswer(given)).toStrictEqual({ answers: [{ id: 'a', selected: ['x'] }] })
  })

  it('detaches from what the answerer holds', () => {
    const given = { answers: [{ id: 'a', selected: ['x'] }] }
    const taken = takeAnswer(given)
    given.answers[0]?.selected.push('later')

    expect(taken).toEqual({ answers: [{ id: 'a', selected: ['x'] }] })
  })

  it.each<[string, unknown, string]>([
    ['nothing', undefined, '"value" must be an object'],
    ['null', null, '"value" must be an object'],
    ['text', 'yes', '"value" must be an object'],
    ['no answers', {}, 'missing required property "value.answers"'],
    ['answers that are no list', { answers: 'yes' }, '"value.answers" must be an array'],
    ['an item that is no object', { answers: ['yes'] }, '"value.answers[0]" must be an object'],
    ['an item without an id', { answers: [{ selected: [] }] }, '"value.answers[0].id"'],
    [
      'selected that is no list',
      { answers: [{ id: 'a', selected: 'x' }] },
      '"value.answers[0].selected" must be an array',
    ],
    [
      'a hole in selected',
      { answers: [{ id: 'a', selected: new Array(1) }] },
      '"value.answers[0].selected[0]" must be a string',
    ],
    [
      'custom that is no text',
      { answers: [{ id: 'a', selected: [], custom: 1 }] },
      '"value.answers[0].custom" must be a string',
    ],
  ])('refuses %s and says where', (_name, given, fault) => {
    const take = () => takeAnswer(given)

    expect(take).toThrow(ToolOutputError)
    expect(take).toThrow(expect.objectContaining({ code: 'INVALID_TOOL_OUTPUT' }) as Error)
    expect(take).toThrow(fault)
  })
})
