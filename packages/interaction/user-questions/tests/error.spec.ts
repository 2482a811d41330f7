import { describe, expect, it } from 'vitest'
import { HarnessError } from '@deepseek-ai/dsh-llm'
import { restoreQuestionError, UserQuestionError } from '../src/error.ts'

describe('UserQuestionError', () => {
  it('is a harness error with its own name, for a subclass too', () => {
    class Special extends UserQuestionError {}
    const error = new Special('m', 'C', { cause: 'why' })

    expect(error).toBeInstanceOf(HarnessError)
    expect(error).toMatchObject({ name: 'UserQuestionError', message: 'm', code: 'C', cause: 'why' })
  })
})

describe('restoreQuestionError', () => {
  it('keeps an error that is one', () => {
    const error = new UserQuestionError('m', 'C')
    expect(restoreQuestionError(error)).toBe(error)
  })

  it.each([
    ['a plain object', { name: 'UserQuestionError', message: 'm', code: 'C' }],
    ['an error of another copy', Object.assign(new Error('m'), { name: 'UserQuestionError', code: 'C' })],
  ])('restores %s and keeps it as the cause', (_name, given) => {
    const restored = restoreQuestionError(given)

    expect(restored).toBeInstanceOf(UserQuestionError)
    expect(restored).toMatchObject({ message: 'm', code: 'C' })
    expect(restored?.cause).toBe(given)
  })

  it.each([
    ['another name', { name: 'Error', message: 'm', code: 'C' }],
    ['no text', { name: 'UserQuestionError', message: 1, code: 'C' }],
    ['no code', { name: 'UserQuestionError', message: 'm' }],
    ['null', null],
    ['a string', 'UserQuestionError'],
  ])('takes nothing else for one: %s', (_name, given) => {
    expect(restoreQuestionError(given)).toBeUndefined()
  })
})
