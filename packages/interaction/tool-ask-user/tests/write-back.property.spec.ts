/** Whatever a human answers, the model can read it back, and nothing outside the one element. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CONTEXT_SUMMARY_MAX_CHARS } from '@deepseek-ai/dsh-llm'
import type { AnsweredQuestion, AskOutcome } from '../src/write-back-outcome.ts'
import { writeBackSummary, writeBackText } from '../src/write-back-text.ts'
import { parseWriteBack } from './harness.ts'

const runs = { numRuns: Number(process.env.HUNT_RUNS ?? 25) }

/** Lone surrogates and control characters included. */
const hostile = fc
  .array(
    fc.constantFrom(
      '<',
      '>',
      '/',
      'user_answer',
      '\n',
      '"',
      '\\',
      '\\u003c',
      '\u2028',
      '\u0007',
      '\u009b',
      '\ud800',
      '🙂',
    ),
  )
  .map(parts => parts.join(''))
const text = fc.oneof(fc.string({ unit: 'binary' }), hostile)
const longText = fc.tuple(text, fc.nat(2_000)).map(([part, times]) => part.repeat(times))

function outcomes(word: fc.Arbitrary<string>): fc.Arbitrary<AskOutcome> {
  const question = { question: word, id: word }
  const answer: fc.Arbitrary<AnsweredQuestion> = fc.record(
    { ...question, selected: fc.array(word, { maxLength: 5 }), custom: word },
    { requiredKeys: ['question', 'id', 'selected'] },
  )
  return fc.oneof(
    fc.record({
      kind: fc.constant('answered' as const),
      answers: fc.array(answer, { maxLength: 6 }),
      unasked: fc.constant([]),
    }),
    fc.record({ kind: fc.constant('replaced' as const), text: word }),
    fc.record({
      kind: fc.constant('withdrawn' as const),
      questions: fc.array(fc.record(question), { maxLength: 6 }),
      shownMs: fc.nat(),
    }),
  )
}

it('every outcome that fits survives the round trip', () => {
  fc.assert(
    fc.property(text, outcomes(text), (call, outcome) => {
      const element = parseWriteBack(writeBackText(call, outcome, 1_000_000))

      expect(element?.call).toBe(call.slice(-100))
      if (outcome.kind === 'replaced') expect(element?.body).toBe(outcome.text)
      if (outcome.kind === 'answered')
        expect(element?.body).toMatchObject({ answers: structuredClone(outcome.answers) })
      if (outcome.kind === 'withdrawn') expect(element?.body).toMatchObject({ questions: [...outcome.questions] })
    }),
    runs,
  )
})

it('every outcome is one well-formed element within its limit', () => {
  fc.assert(
    fc.property(longText, outcomes(longText), fc.integer({ min: 1_024, max: 20_000 }), (call, outcome, limitBytes) => {
      const written = writeBackText(call, outcome, limitBytes)

      expect(Buffer.byteLength(written)).toBeLessThanOrEqual(limitBytes)
      expect(written.isWellFormed()).toBe(true)
      expect(parseWriteBack(written)).toBeDefined()
      expect(written.split('<')).toHaveLength(3)
    }),
    runs,
  )
})

it('every summary is one bounded line', () => {
  fc.assert(
    fc.property(outcomes(text), outcome => {
      const summary = writeBackSummary(outcome)

      expect(summary.length).toBeLessThanOrEqual(CONTEXT_SUMMARY_MAX_CHARS)
      expect(summary.isWellFormed()).toBe(true)
      expect(summary).not.toMatch(/[\p{Cc}\u2028\u2029]/u)
    }),
    runs,
  )
})
