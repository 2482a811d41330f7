import { describe, expect, it } from 'vitest'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import type { ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import { contentText, outcomeOf, type AskOutcome } from '../src/write-back-outcome.ts'

const questions = [
  { id: 'db', question: 'Which database?', header: 'Database', options: [{ label: 'Postgres' }] },
  { id: 'name', question: 'What name?', header: '' },
]

function textBlock(text: string): ContentBlock {
  return { type: 'text', text }
}

function success(value: unknown, content = [textBlock(JSON.stringify(value))]): ToolExecutionResult {
  return { isError: false, value: value as never, content }
}

function failure(code?: string): ToolExecutionResult {
  const error = { message: 'failed', ...(code !== undefined && { info: { name: 'Error', code } }) }
  return { isError: true, error, content: [textBlock('Error: failed')] }
}

function outcome(result: ToolExecutionResult, more: { args?: unknown; reason?: unknown; shownMs?: number } = {}) {
  const { args = { questions }, reason, shownMs } = more
  const signal = 'reason' in more ? AbortSignal.abort(reason) : new AbortController().signal
  return outcomeOf({ arguments: args, signal }, result, shownMs)
}

describe('a success', () => {
  it.each<[string, unknown, AskOutcome]>([
    [
      'answers, each with the header of its question, or its text',
      {
        answers: [
          { id: 'db', selected: ['Postgres'], custom: 'version 17' },
          { id: 'name', selected: [] },
        ],
      },
      {
        kind: 'answered',
        answers: [
          { question: 'Database', id: 'db', selected: ['Postgres'], custom: 'version 17' },
          { question: 'What name?', id: 'name', selected: [] },
        ],
        unasked: [],
      },
    ],
    ['no answers', { answers: [] }, { kind: 'answered', answers: [], unasked: [] }],
    [
      'answers nobody asked for',
      {
        answers: [
          { id: 'x', selected: ['1'] },
          { id: 'db', selected: ['2'] },
          { id: 'y', selected: [] },
        ],
      },
      {
        kind: 'answered',
        answers: [{ question: 'Database', id: 'db', selected: ['2'] }],
        unasked: ['x', 'y'],
      },
    ],
    [
      'the known fields only',
      { by: 'UI', answers: [{ at: 1, id: 'db', selected: [] }] },
      { kind: 'answered', answers: [{ question: 'Database', id: 'db', selected: [] }], unasked: [] },
    ],
  ])('says %s', (_name, value, expected) => {
    expect(outcome(success(value))).toEqual(expected)
  })

  it('gives the nth answer under an id its nth question, and further ones the last', () => {
    const args = { questions: ['one', 'two'].map(question => ({ id: 'same', question })) }
    const value = { answers: ['a', 'b', 'c'].map(label => ({ id: 'same', selected: [label] })) }

    expect(outcome(success(value), { args })).toMatchObject({
      answers: [
        { question: 'one', selected: ['a'] },
        { question: 'two', selected: ['b'] },
        { question: 'two', selected: ['c'] },
      ],
      unasked: [],
    })
  })

  it.each<[string, ToolExecutionResult, string]>([
    ['that a policy replaced the content of', success({ answers: [] }, [textBlock('hidden')]), 'hidden'],
    ['that a policy emptied', success({ answers: [] }, []), ''],
    ['of a tool with another value under the same name', success('Blue', [textBlock('Blue')]), 'Blue'],
  ])('%s: says its content, and nothing of its value', (_name, result, text) => {
    expect(outcome(result)).toEqual({ kind: 'replaced', text })
  })

  it.each(['text', null, {}, { questions: 'one' }, { questions: [{ id: 'db' }] }])(
    'knows no question in arguments that the tool never saw: %j',
    (args: unknown) => {
      const value = { answers: [{ id: 'db', selected: [] }] }

      expect(outcome(success(value), { args })).toEqual({ kind: 'answered', answers: [], unasked: ['db'] })
    },
  )
})

describe('a failure', () => {
  it.each(['ASK_ABORTED', 'ABORTED'])('%s, because its program ended: the question was withdrawn', (code: string) => {
    expect(outcome(failure(code), { reason: 'run_code settled', shownMs: 12 })).toEqual({
      kind: 'withdrawn',
      questions: [
        { question: 'Database', id: 'db' },
        { question: 'What name?', id: 'name' },
      ],
      shownMs: 12,
    })
  })

  it.each<[string, ToolExecutionResult, { reason?: unknown; shownMs?: number }]>([
    ['of a cancelled turn', failure('ASK_ABORTED'), { reason: { kind: 'user' }, shownMs: 12 }],
    ['without an abort', failure('ASK_ABORTED'), { shownMs: 12 }],
    ['of a question that was never shown', failure('ASK_ABORTED'), { reason: 'run_code settled' }],
    ['of another kind', failure('NO_PROVIDER'), { reason: 'run_code settled', shownMs: 12 }],
    ['without a code', failure(), { reason: 'run_code settled', shownMs: 12 }],
  ])('%s: nothing', (_name, result, more) => {
    expect(outcome(result, more)).toBeUndefined()
  })
})

it('names the blocks of a content that are no text', () => {
  const image = { type: 'image', data: '', mimeType: 'image/png' } as unknown as ContentBlock

  expect(contentText([textBlock('a'), image, textBlock('b')])).toBe('a\n[image]\nb')
})
