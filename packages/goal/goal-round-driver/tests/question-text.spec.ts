import { describe, expect, it } from 'vitest'
import { DeniedQuestions } from '../src/question-text.ts'

function textOf(...calls: [tool: string, args: unknown][]): string {
  const questions = new DeniedQuestions()
  for (const [tool, args] of calls) questions.add(tool, args)
  return questions.toString()
}

const asking = (...questions: unknown[]): [string, unknown] => ['ask_user_question', { questions }]

describe('denied questions, for the human who comes back', () => {
  it('are told with their options', () => {
    const question = { id: 'q', question: 'Which database?', options: [{ label: 'PostgreSQL' }, { label: 'SQLite' }] }
    expect(textOf(asking(question))).toBe('"Which database?" (PostgreSQL / SQLite)')
  })

  it('are told without options if there are none', () => {
    expect(textOf(asking({ question: 'What is its name?' }))).toBe('"What is its name?"')
    expect(textOf(asking({ question: 'What is its name?', options: [] }))).toBe('"What is its name?"')
  })

  it('are all told, each once', () => {
    const [a, b] = [{ question: 'A?' }, { question: 'B?' }]
    expect(textOf(asking(a, b), asking(a))).toBe('"A?"; "B?"')
  })

  it.each([
    [undefined],
    ['{"questions":'],
    [{}],
    [{ questions: 'which?' }],
    [{ questions: [] }],
    [{ questions: [null, 'which?', { question: 1 }] }],
    [{ plan: '# Plan' }],
  ])('are told by the name of the tool where its arguments hold none: %j', (args: unknown) => {
    expect(textOf(['exit_plan_mode', args])).toBe('a call of exit_plan_mode')
  })

  it('are told as far as they can be read', () => {
    expect(textOf(asking({ question: 'A?', options: [null, { label: 2 }, { label: 'yes' }] }))).toBe('"A?" (yes)')
  })

  it('are cut at 200 characters, and so are their options; a pair of halves stays whole', () => {
    const long = '🙂'.repeat(201)
    const kept = `${'🙂'.repeat(200)}…`
    expect(textOf(asking({ question: long, options: [{ label: long }] }))).toBe(`"${kept}" (${kept})`)
    const fitting = '🙂'.repeat(200)
    expect(textOf(asking({ question: fitting }))).toBe(`"${fitting}"`)
  })

  it('are five at most', () => {
    const questions = ['1', '2', '3', '4', '5', '6'].map(question => ({ question }))
    expect(textOf(asking(...questions.slice(0, 5)))).toBe('"1"; "2"; "3"; "4"; "5"')
    expect(textOf(asking(...questions))).toBe('"1"; "2"; "3"; "4"; "5"; and more')
  })

  it('show what a terminal would obey, or not show', () => {
    const question = 'a\nb\u001b[2Kc\u0085d\u2028e\u202ef\ud800g'
    expect(textOf(asking({ question }))).toBe(String.raw`"a\u{a}b\u{1b}[2Kc\u{85}d\u{2028}e\u{202e}f\u{d800}g"`)
    expect(textOf(['ask\u0000', {}])).toBe(String.raw`a call of ask\u{0}`)
  })
})
