/** Whatever a human answers, the model can read it back, and nothing outside the one element. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CONTEXT_SUMMARY_MAX_CHARS } from '@deepseek-ai/dsh-llm'
import { renderAnswer, summarizeAnswer } from '../src/write-back.ts'
import { parseWriteBack } from './harness.ts'

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.constantFrom('<', '>', '/', 'user_answer', '\n', '"', '\\', '\\u003c', '\u2028'), { maxLength: 12 })
    .map(parts => parts.join('')),
)

const answer = fc.record({
  answers: fc.array(
    fc.record({ id: text, selected: fc.array(text), custom: text }, { requiredKeys: ['id', 'selected'] }),
  ),
})

it('every answer survives the round trip, in an element that it cannot close', () => {
  fc.assert(
    fc.property(answer, given => {
      const rendered = renderAnswer(given)
      expect(parseWriteBack(rendered)).toEqual(structuredClone(given))
      expect(rendered.split('<')).toHaveLength(3)
    }),
  )
})

it('every summary is one bounded line', () => {
  fc.assert(
    fc.property(answer, given => {
      const summary = summarizeAnswer(given)
      expect(summary.length).toBeLessThanOrEqual(CONTEXT_SUMMARY_MAX_CHARS)
      expect(summary).not.toMatch(/[\p{Cc}\u2028\u2029]/u)
    }),
  )
})
