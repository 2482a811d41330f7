import { describe, expect, it } from 'vitest'
import { failureOf } from '../src/failure.ts'

describe('why a question failed', () => {
  it.each([
    ['ask_user_question was aborted before the user answered', 'ASK_ABORTED'],
    ['ask_user_question requires at least one question', 'EMPTY_QUESTIONS'],
    ['human interaction requires the exact live calling agent when an agent is supplied', 'CALLER_NOT_LIVE'],
    ['no user-questions provider is registered', 'NO_PROVIDER'],
    ['tool call aborted', 'ABORTED'],
    ['tool call aborted before dispatch', 'ABORTED_BEFORE_DISPATCH'],
    ['the browser is gone', 'UNKNOWN'],
  ])('is told by its text: %s', (message, code) => {
    expect(failureOf(`Error: ${message}`, {})).toEqual({ kind: 'failed', code, message })
  })

  it('is told by its code where the receipt has one', () => {
    const hints = { code: 'UNKNOWN_TOOL' }
    expect(failureOf('Error: tool call aborted', hints)).toMatchObject({ kind: 'failed', code: 'UNKNOWN_TOOL' })
    expect(failureOf('Error: x', { code: 'DELEGATED_CALLER' })).toMatchObject({
      kind: 'denied',
      rule: 'delegated-caller',
    })
  })

  it('keeps a text that is no error of the registry', () => {
    expect(failureOf('blocked by policy', {})).toMatchObject({ message: 'blocked by policy' })
  })
})
