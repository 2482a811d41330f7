/** What programs do with an answer, run by the real loop; the published question tool, which writes nothing back. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { AskUserQuestionAnswerItem } from '@deepseek-ai/dsh-user-questions'
import { traceLog, type TracedAsk } from '../src/index.ts'
import { realSession, type Step } from './real-session.ts'

/** One question with its options, what the human says to it, and a program that asks. */
interface Program {
  readonly options?: readonly string[]
  readonly question?: string
  /** What is selected; free text with a leading `=`. */
  readonly said: string | readonly string[]
  /** The program; `item` is the answer's item, `answer` the whole answer, `Q` the question. */
  readonly code: string
  /** How often the same is asked. */
  readonly times?: number
}

const one = (program: Program) => program

const STAGING = { options: ['Deploy to staging', 'Deploy to production'], said: 'Deploy to staging' }
const BLUE = { options: ['Blue', 'Red'], said: 'Blue' }

const DELIVERED = {
  'returns the whole answer': one({ ...BLUE, code: 'return answer' }),
  'returns the answer to a question about numbers': one({ options: ['1', '2'], said: '1', code: 'return answer' }),
  'returns the item': one({ said: '=no', code: 'return item' }),
  'prints the answer': one({ ...BLUE, code: 'console.log(answer)' }),
  'prints the item and returns a number': one({ ...BLUE, code: 'console.log(item); return 7' }),
  'returns the answer as JSON': one({ ...BLUE, code: 'return JSON.stringify(answer)' }),
  'returns the answer as JSON in JSON': one({
    ...BLUE,
    code: 'return { out: JSON.stringify({ log: JSON.stringify(answer) }) }',
  }),
  'returns the item as JavaScript prints it': one({
    ...BLUE,
    code: "return `{ id: '${item.id}', selected: [ '${item.selected[0]}' ] }`",
  }),
  'returns the item together with its question and options': one({ ...BLUE, code: 'return { ...Q, ...item }' }),
  'returns the fields of the item in another order': one({
    ...BLUE,
    code: 'return { selected: item.selected, at: { x: 1 }, id: item.id }',
  }),
  'returns an item in which everything is chosen': one({
    options: ['A', 'B', 'C'],
    said: ['A', 'C'],
    code: 'return answer',
  }),
  'returns a selection with free text': one({ options: ['A', 'B'], said: ['A', '=but soon'], code: 'return item' }),
  'returns a long label': one({ ...STAGING, code: 'return item.selected[0]' }),
  'returns a long label as a string in a list': one({ ...STAGING, code: 'return [item.selected[0], 3]' }),
  'returns a long label in a sentence': one({ ...STAGING, code: 'return `They said ${item.selected[0]}.`' }),
  'returns free text of several lines': one({
    said: '=first line\nthe "second" line',
    code: 'return { t: item.custom }',
  }),
  'returns a label without its recommendation': one({
    options: ['Keep the old name (Recommended)', 'Rename'],
    said: 'Keep the old name (Recommended)',
    code: 'return item.selected[0].replace(" (Recommended)", "")',
  }),
  'returns free text with HTML escapes': one({
    said: '=R&D budget <first>',
    code: 'return item.custom.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")',
  }),
  'returns free text in another normal form': one({
    said: '=the café by the river',
    code: 'return item.custom.normalize("NFD")',
  }),
  'returns free text with other white space': one({
    said: '=go on  with   part two',
    code: 'return item.custom.split(/ +/).join("\\n\\t")',
  }),
  'returns a long label in Chinese, inside a sentence': one({
    options: ['部署到预发布环境中去', '算了'],
    said: '部署到预发布环境中去',
    code: 'return `我选${item.selected[0]}吧`',
  }),
}

const DOUBTFUL: Record<string, Program & { readonly reason: string }> = {
  'returns a count that happens to be the answer': {
    options: ['1', '2'],
    said: '1',
    code: 'return { asked: 1 }',
    reason: 'short',
  },
  'returns the number that was the answer': { options: ['1', '2'], said: '1', code: 'return 1', reason: 'short' },
  'returns the label under another key': { ...BLUE, code: 'return { label: item.selected[0] }', reason: 'short' },
  'returns the label as JavaScript prints it': {
    ...BLUE,
    code: "return `{ colour: '${item.selected[0]}' }`",
    reason: 'short',
  },
  'returns a short label alone': { ...BLUE, code: 'return item.selected[0]', reason: 'short' },
  'says no for another reason': { said: '=no', code: 'return { ok: true, errors: "no" }', reason: 'short' },
  'says true for another reason': {
    options: ['true', 'false'],
    said: 'true',
    code: 'return { done: true }',
    reason: 'short',
  },
  'says yes in another case': { options: ['Yes', 'No'], said: 'Yes', code: 'return "yes, asked"', reason: 'short' },
  'has a one-character label inside a Chinese sentence': {
    options: ['是', '否'],
    said: '是',
    code: 'return "这是问题"',
    reason: 'short',
  },
  'has a two-character label inside a Chinese sentence': {
    options: ['蓝色', '红色'],
    said: '蓝色',
    code: 'return "天空的蓝色很美"',
    reason: 'short',
  },
  'returns the options': { ...STAGING, code: 'return { asked: Q }', reason: 'other-option' },
  'returns the labels, the chosen one among them': {
    ...STAGING,
    code: 'return Q.options.map(o => o.label)',
    reason: 'other-option',
  },
  'returns the question, whose text has the answer': {
    question: 'Shall I deploy to staging, or wait?',
    options: ['Deploy to staging', 'Wait'],
    said: 'Deploy to staging',
    code: 'return Q.question.slice(0, 26)',
    reason: 'in-question',
  },
  'returns the question in other words': {
    question: 'Shall I deploy to staging, or wait?',
    options: ['Deploy to staging', 'Wait'],
    said: 'Deploy to staging',
    code: 'return "asked whether to deploy to  staging"',
    reason: 'in-question',
  },
  'returns a long label in another case': {
    ...STAGING,
    code: 'return item.selected[0].toUpperCase()',
    reason: 'inexact',
  },
  'returns a long label in full-width letters': {
    options: ['ＡＢＣＤ exactly', 'no'],
    said: 'ＡＢＣＤ exactly',
    code: 'return item.selected[0].normalize("NFKC")',
    reason: 'inexact',
  },
  'returns another option, in which the answer is a word': {
    options: ['Deploy everything', 'Deploy everything later'],
    said: 'Deploy everything',
    code: 'return Q.options[1].label',
    reason: 'part-of-other',
  },
  'asks twice, and returns one of the two equal answers': {
    ...STAGING,
    times: 2,
    code: 'return item.selected[0]',
    reason: 'too-few',
  },
  'asks twice, and returns one of the two equal items': { ...BLUE, times: 2, code: 'return item', reason: 'too-few' },
}

const LOST: Record<string, Program & { readonly verdict: string }> = {
  'returns something else': { ...BLUE, code: 'return "asked"', verdict: 'lost-in-program' },
  'returns nothing': { ...BLUE, code: '', verdict: 'lost-in-program' },
  'returns another option': { ...STAGING, code: 'return Q.options[1].label', verdict: 'lost-in-program' },
  'prints too deep an object': {
    ...BLUE,
    code: 'return "{ answers: [ { id: \'q\', selected: [Array] } ] }"',
    verdict: 'lost-in-program',
  },
  'prints, and returns a number': { ...BLUE, code: 'console.log("asked"); return 0', verdict: 'lost-in-program' },
  'returns the index of the answer': { ...BLUE, code: 'return 0', verdict: 'lost?' },
  'returns whether it was the first': {
    ...BLUE,
    code: 'return item.selected[0] === Q.options[0].label',
    verdict: 'lost?',
  },
}

const ALL: Record<string, Program> = { ...DELIVERED, ...DOUBTFUL, ...LOST }
const idOf = (name: string) => `q${Object.keys(ALL).indexOf(name)}`

function step(name: string, { question = 'Which?', options = [], code, times = 1 }: Program): Step {
  const asked = { id: idOf(name), question, options: options.map(label => ({ label })) }
  const source = `
    const Q = ${JSON.stringify(asked)}
    const answers = []
    for (let n = 0; n < ${times}; n += 1) answers.push(await tools.ask_user_question({ questions: [Q] }))
    const [answer] = answers
    const [item] = answer.answers
    ${code}`
  return { call: 'run_code', args: { description: name, code: source }, id: `call-${name}` }
}

function itemOf(id: string, said: string | readonly string[]): AskUserQuestionAnswerItem {
  const all = typeof said === 'string' ? [said] : said
  const custom = all.find(text => text.startsWith('='))?.slice(1)
  return { id, selected: all.filter(text => !text.startsWith('=')), ...(custom === undefined ? {} : { custom }) }
}

let asks: readonly TracedAsk[]
const traceOf = (name: string) => asks.filter(({ calls }) => calls.root === `call-${name}`)

beforeAll(async () => {
  const saidTo = new Map(Object.entries(ALL).map(([name, { said }]) => [idOf(name), said]))
  const session = await realSession({
    mode: 'code',
    steps: Object.entries(ALL).map(([name, program]) => step(name, program)),
    human: ({ questions }) =>
      Promise.resolve({ answers: questions.map(({ id }) => itemOf(id, saidTo.get(id) ?? 'nobody asked that')) }),
  })
  await session.say('ask about everything')
  asks = (await traceLog(await session.flush())).report.asks
}, 120_000)

describe('an answer is delivered when its program', () => {
  it.each(Object.keys(DELIVERED))('%s', name => {
    expect(traceOf(name)).toMatchObject([{ outer: 'carries', context: 'carries', verdict: 'delivered' }])
  })
})

describe('an answer may be delivered when its program', () => {
  it.each(Object.entries(DOUBTFUL))('%s', (name, { reason, times = 1 }) => {
    expect(traceOf(name).map(({ verdict }) => verdict)).toEqual(Array.from({ length: times }, () => 'delivered?'))
    expect(traceOf(name)[0]?.evidence.outer?.matches).toMatchObject([{ strength: 'weak', reason }])
  })
})

describe('an answer is lost, or may be, when its program', () => {
  it.each(Object.entries(LOST))('%s', (name, { verdict }) => {
    expect(traceOf(name)).toMatchObject([{ outer: 'lacks', context: 'lacks', verdict }])
    expect(traceOf(name)[0]?.evidence.outer?.matches).toMatchObject([{ strength: 'none', reason: 'absent' }])
  })
})
