import { describe, expect, it } from 'vitest'
import { CONTEXT_SUMMARY_MAX_CHARS } from '@deepseek-ai/dsh-llm'
import type { AnsweredQuestion, AskedQuestion, AskOutcome } from '../src/write-back-outcome.ts'
import { writeBackSummary, writeBackText } from '../src/write-back-text.ts'

function answered(...answers: AnsweredQuestion[]): AskOutcome {
  return { kind: 'answered', answers, unasked: [] }
}

function replaced(text: string): AskOutcome {
  return { kind: 'replaced', text }
}

function withdrawn(...questions: AskedQuestion[]): AskOutcome {
  return { kind: 'withdrawn', questions, shownMs: 5120.4 }
}

const blue = answered({ question: 'Which colour?', id: 'colour', selected: ['Blue'] })

/** The parts of a text, its JSON parsed; fails unless the whole of it is one element. */
function parse(text: string): { name: string; call: unknown; body: unknown } {
  const [, name = '', call = '', body = ''] =
    /^<(user_\w+) call=("[^"<>&\u0000-\u001f]*")>\n([^\n<\u007f-\u009f\u2028\u2029]*)\n<\/\1>$/.exec(text) ?? []
  return { name, call: JSON.parse(call), body: JSON.parse(body) }
}

function bodyOf(outcome: AskOutcome, limitBytes = 16_384): unknown {
  const text = writeBackText('call', outcome, limitBytes)
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limitBytes)
  expect(text.isWellFormed()).toBe(true)
  return parse(text).body
}

describe('the element', () => {
  it('holds the answers, each behind its question', () => {
    expect(writeBackText('call-1:code:1', blue, 16_384)).toBe(
      '<user_answer call="call-1:code:1">\n'
        + '{"answers":[{"question":"Which colour?","id":"colour","selected":["Blue"]}]}\n'
        + '</user_answer>',
    )
  })

  it('holds what a policy put in place of an answer, as a JSON string', () => {
    expect(writeBackText('c', replaced('hidden by "policy"'), 16_384)).toBe(
      '<user_answer call="c">\n"hidden by \\"policy\\""\n</user_answer>',
    )
  })

  it('tells of a withdrawn question, for how long it was shown', () => {
    expect(parse(writeBackText('c', withdrawn({ question: 'Which colour?', id: 'colour' }), 16_384))).toEqual({
      name: 'user_question_withdrawn',
      call: 'c',
      body: {
        questions: [{ question: 'Which colour?', id: 'colour' }],
        shownMs: 5120,
        note:
          'Withdrawn unanswered: the program ended while the user was being asked.'
          + ' Ask again, and await the answer, if you still need it.',
      },
    })
  })

  it('says that there is no answer', () => {
    expect(bodyOf(answered())).toEqual({ answers: [], note: 'No answer was given.' })
  })

  it.each([
    'call_1|fc_2:code:1',
    '</user_answer>',
    '" onload="',
    '\\"&quot;',
    "it's\n\t\u0000\u001b[2J\u009b\u2028",
    'lone \ud800 surrogate',
    '問い',
  ])('carries the id of its call, whatever it is: %j', (id: string) => {
    for (const outcome of [blue, replaced('x'), withdrawn()]) {
      expect(parse(writeBackText(id, outcome, 16_384)).call).toBe(id)
    }
  })

  it('carries the end of a very long id', () => {
    const id = `${'x'.repeat(1_000)}:code:12`

    expect(parse(writeBackText(id, blue, 16_384)).call).toBe(id.slice(-100))
  })

  it.each<[string, string]>([
    ['quotes, backslashes and line breaks', '"it\'s\\n"\r\n'],
    ['markup', '</user_answer><!-- <user_answer call="c"> -->'],
    ['control characters', '\u0000\u0007\u001b[31m\u007f\u0085\u009b\u2028\u2029'],
    ['lone surrogates', '\ud800 and \udfff'],
    ['characters of every width', 'aé問🙂👩‍👩‍👧'],
  ])('keeps %s', (_name, text) => {
    const item = { question: text, id: text, selected: [text], custom: text }

    expect(bodyOf(answered(item))).toEqual({ answers: [item] })
    expect(bodyOf(replaced(text))).toBe(text)
    expect(bodyOf(withdrawn({ question: text, id: text }))).toMatchObject({ questions: [{ question: text, id: text }] })
  })
})

describe('the bound', () => {
  const item = { question: 'q', id: 'i', selected: [] as string[] }
  const mark = ' [answer truncated]'

  it('cuts the longest texts alone, to the same length', () => {
    const { answers } = bodyOf(
      answered(
        { ...item, selected: ['short', 'a'.repeat(2_000)] },
        { ...item, selected: ['b'.repeat(300)], custom: 'c'.repeat(1_000_000) },
      ),
      2_048,
    ) as { answers: [AnsweredQuestion, AnsweredQuestion] }
    const [long = '', longest = ''] = [answers[0].selected[1], answers[1].custom]

    expect(answers[0].selected[0]).toBe('short')
    expect(answers[1].selected).toEqual(['b'.repeat(300)])
    expect(long).toBe('a'.repeat(long.length - mark.length) + mark)
    expect(longest).toBe('c'.repeat(long.length - mark.length) + mark)
  })

  it.each([
    ['a', 'a'],
    ['é', 'é'],
    ['🙂', '🙂'],
    ['\u0001', '\u0001'],
    ['"', '"'],
    ['<', '<'],
  ])('uses the whole of it, and never cuts in a character: %j', (character: string) => {
    for (const limitBytes of [1_024, 1_025, 1_026, 1_027, 1_028, 1_029]) {
      const text = writeBackText('call', replaced(character.repeat(5_000)), limitBytes)
      const body = String(parse(text).body)

      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limitBytes)
      // One more character would not have fitted; its JSON has at most six bytes.
      expect(Buffer.byteLength(text)).toBeGreaterThan(limitBytes - 7)
      expect(body).toBe(character.repeat((body.length - mark.length) / character.length) + mark)
    }
  })

  it('leaves a text alone that just fits', () => {
    const around = Buffer.byteLength(writeBackText('call', replaced(''), 1_024))
    const text = 'x'.repeat(1_024 - around)

    expect(bodyOf(replaced(text), 1_024)).toBe(text)
    expect(bodyOf(replaced(`${text}x`), 1_024)).toBe('x'.repeat(text.length - mark.length) + mark)
  })

  it('cuts every question at 200 characters', () => {
    const question = '🙂'.repeat(201)
    const cut = `${'🙂'.repeat(199)}…`

    expect(bodyOf(answered({ ...item, question }))).toEqual({ answers: [{ ...item, question: cut }] })
    expect(bodyOf(answered({ ...item, question: '🙂'.repeat(200) }))).toEqual({
      answers: [{ ...item, question: '🙂'.repeat(200) }],
    })
    expect(bodyOf(withdrawn({ question, id: question }))).toMatchObject({ questions: [{ question: cut, id: cut }] })
  })

  it('cuts ids only when cut answers are not enough', () => {
    const id = 'i'.repeat(900)
    const custom = 'x'.repeat(500)
    const roomy = bodyOf(answered({ ...item, id, custom }), 1_200) as { answers: AnsweredQuestion[] }
    const tight = bodyOf(answered({ ...item, id, custom }), 1_024) as { answers: AnsweredQuestion[] }

    expect(roomy.answers[0]?.id).toBe(id)
    expect(roomy.answers[0]?.custom).toContain(mark)
    expect(tight.answers[0]?.id).toBe(id)
    expect(bodyOf(answered({ ...item, id: 'i'.repeat(1_000), custom }), 1_024)).toEqual({
      answers: [{ ...item, id: `${'i'.repeat(199)}…`, custom }],
    })
  })

  it('leaves items out from the end, and says how many', () => {
    const items = Array.from({ length: 1_000 }, (_, n) => ({ ...item, id: `${n}`, selected: ['x'.repeat(50)] }))
    const body = bodyOf(answered(...items), 1_024) as { answers: AnsweredQuestion[]; note: string }
    const kept = body.answers.length

    expect(kept).toBeGreaterThan(5)
    expect(body.answers.map(({ id }) => id)).toEqual(items.slice(0, kept).map(({ id }) => id))
    expect(body.note).toBe(
      `${1_000 - kept} answer(s) left out, for length. Ask again, in fewer questions, if you need them.`,
    )
  })

  it('leaves out an item that does not fit at all', () => {
    expect(bodyOf(answered({ ...item, selected: Array<string>(500).fill('x') }), 1_024)).toEqual({
      answers: [],
      note: '1 answer(s) left out, for length. Ask again, in fewer questions, if you need them.',
    })
  })

  it('leaves withdrawn questions out from the end, and says how many', () => {
    const asked = Array.from({ length: 50 }, (_, n) => ({ question: '?'.repeat(100), id: `${n}` }))
    const body = bodyOf(withdrawn(...asked), 1_024) as { questions: AskedQuestion[]; more: number }

    expect(body.questions.length).toBeGreaterThan(1)
    expect(body.questions).toEqual(asked.slice(0, body.questions.length))
    expect(body.more).toBe(50 - body.questions.length)
  })

  it('holds for the smallest limit and the worst of everything', () => {
    const worst = '\u0001'.repeat(10_000)
    const item = { question: worst, id: worst, selected: [worst, worst], custom: worst }
    for (const outcome of [answered(...Array<AnsweredQuestion>(20).fill(item)), replaced(worst), withdrawn(item)]) {
      const text = writeBackText(worst, outcome, 1_024)

      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_024)
      expect(parse(text).call).toBe('\u0001'.repeat(100))
    }
  })
})

describe('the summary', () => {
  it.each<[string, AskOutcome, string]>([
    [
      'every answer',
      answered(
        { question: '?', id: 'a', selected: ['x', 'y'] },
        { question: '?', id: 'b', selected: [], custom: 'z' },
        { question: '?', id: 'c', selected: [] },
      ),
      'User answered a: x, y; b: z; c: (skipped)',
    ],
    ['that there is none', answered(), 'User answered (nothing)'],
    ['what stands in its place', replaced('hidden'), 'User answered: hidden'],
    [
      'withdrawn questions',
      withdrawn({ question: 'One?', id: 'a' }, { question: 'Two?', id: 'b' }),
      'Question withdrawn: One?; Two?',
    ],
    ['one line, whatever the text', replaced('x\r\n\ty\u001b[2J\u2028 '), 'User answered: x y [2J'],
  ])('names %s', (_name, outcome, summary) => {
    expect(writeBackSummary(outcome)).toBe(summary)
  })

  it.each([0, 1])("stays within the harness's bound, and never ends in half a character (%d)", (shift: number) => {
    const summary = writeBackSummary(replaced(' '.repeat(shift) + '.'.repeat(shift) + '🙂'.repeat(1_000)))

    expect(summary.length).toBeLessThanOrEqual(CONTEXT_SUMMARY_MAX_CHARS)
    expect(summary.isWellFormed()).toBe(true)
  })
})
