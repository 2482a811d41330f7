/**
 * Logs that somebody made to break the trace: texts of repetitions, and small files that unpack to large ones.
 * @module
 */
import { zstdCompressSync } from 'node:zlib'

type Event = Readonly<Record<string, unknown>>

const text = (value: string) => [{ type: 'text', text: value }]
const ids = (n: number) => ({
  rootCallId: 'a',
  parentCallId: 'a',
  subCallId: `a:code:${n}`,
  name: 'ask_user_question',
})

/** A question in a program: what was asked, what the human said, what the program returned, what else was sent. */
interface Question {
  readonly question?: string
  readonly options?: readonly string[]
  readonly said: string
  readonly returned?: string
  readonly message?: string
}

function* asking({ question = 'Which?', options = [], said }: Question, n = 1): Generator<Event> {
  const asked = { questions: [{ id: `q${n}`, question, options: options.map(label => ({ label })) }] }
  const receipt = JSON.stringify({ answers: [{ id: `q${n}`, selected: [said] }] })
  yield { type: 'tool/code-dispatch-start', data: { ...ids(n), arguments: asked } }
  yield { type: 'tool/code-dispatch', data: { ...ids(n), arguments: asked, content: text(receipt) } }
}

function* session(asks: Iterable<Event>, { returned = '', message = '' }: Omit<Question, 'said'>): Generator<Event> {
  yield { type: 'turn/start', data: { turn: 1 } }
  yield { type: 'step/start', data: {} }
  yield { type: 'tool/call', data: { callId: 'a', name: 'run_code' } }
  yield* asks
  const content = [{ type: 'tool-result', content: text(returned) }]
  yield { type: 'tool/result', data: { message: { source: { kind: 'tool', callId: 'a' }, content } } }
  yield { type: 'user/message', data: { id: 'm', source: { kind: 'user' }, content: text(message) } }
  yield { type: 'step/start', data: {} }
  yield { type: 'assistant/chunk', data: {} }
}

/**
 * @param chars - how long the texts are.
 * @returns for each kind of hostile text the events of a log with it.
 */
export function hostileTexts(chars: number): Record<string, Event[]> {
  const fill = (unit: string, size = chars) => unit.repeat(Math.ceil(size / unit.length)).slice(0, size)
  const nested = Array.from({ length: Math.floor(Math.sqrt(chars)) }, (_, n) => fill('a ', 2 * n + 2))
  const questions: Record<string, Question> = {
    'one word over and over': {
      said: 'Blue',
      question: fill('Blue '),
      returned: fill('Blue '),
      message: fill('Blue '),
    },
    'a long answer of one word': { said: fill('a ', chars / 2), returned: fill('a '), question: fill('a ') },
    'an answer that almost repeats': { said: `${fill('ab ', chars / 2)}c`, returned: fill('ab ') + fill('c ') },
    'options inside of options': { said: 'a a a', options: nested, returned: fill('a '), question: fill('a ') },
    blanks: { said: `a${fill(' ')}b`, returned: fill(' '), question: fill(' ') },
    'open brackets': { said: fill('( '), returned: fill('(recommended ') },
    'open braces': { said: 'Blue', returned: fill('{') },
    'fields of an item': { said: 'Blue', returned: `{${fill('"id":"q1","selected":["Blue"],')}}` },
    backslashes: { said: fill('\\'), returned: fill('\\') },
    'escaped backslashes': { said: 'Blue', returned: fill('\\u005c') },
    entities: { said: 'Blue', returned: fill('&#38;') + fill('&#') },
    'open elements': { said: 'Blue', message: fill('<user_answer>') },
    'a script without spaces': { said: fill('是', chars / 2), returned: fill('是') },
    'marks on one letter': { said: 'x', returned: `x${fill('\u0301')}` },
    'halves of characters': { said: 'x', returned: fill('\ud800') },
  }
  const many = Array.from({ length: Math.floor(chars / 100) }, (_, n) => ({ said: `option ${n}` }))
  const returned = many.map(({ said }) => said).join(', ')
  const parallel = session(
    many.flatMap((question, n) => [...asking(question, n)]),
    { returned, message: returned },
  )
  return {
    ...Object.fromEntries(Object.entries(questions).map(([name, each]) => [name, [...session(asking(each), each)]])),
    'many questions at once': [...parallel],
  }
}

const HEADER = `${JSON.stringify({ type: 'session', version: 0, id: 's', createdAt: 0 })}\n`
const MIB = 2 ** 20

const line = (event: Event) => `${JSON.stringify(event)}\n`
const lineOf = (value: string) =>
  line({ type: 'user/message', data: { source: { kind: 'user' }, content: text(value) } })
const zstd = (...parts: readonly string[]) => Buffer.concat(parts.map(part => zstdCompressSync(Buffer.from(part))))

/** @returns files of at most 1 MB that try to take much memory. */
export function hostileFiles(): Record<string, () => Buffer> {
  const asks = [...asking({ said: 'Blue' })].map(line).join('')
  const labels = JSON.stringify({
    answers: [{ id: 'q', selected: Array.from({ length: 300_000 }, (_, n) => `l ${n}`) }],
  })
  const filler = Buffer.from(Array.from({ length: 400_000 }, (_, n) => (n * 2_654_435_761) % 251)).toString('base64')
  return {
    'one line of 60 MiB': () => zstd(HEADER, lineOf('x'.repeat(60 * MIB))),
    'one line of 150 MiB': () => zstd(HEADER, 'x'.repeat(150 * MIB)),
    'lines of 4 MiB, with a question': () =>
      zstd(HEADER, lineOf(filler), asks, ...Array.from({ length: 15 }, () => lineOf('Blue '.repeat(0.79 * MIB)))),
    'lines of 4 MiB in another script, with a question': () =>
      zstd(HEADER, asks, ...Array.from({ length: 15 }, () => lineOf('蓝 '.repeat(0.99 * MIB)))),
    'values in one line': () =>
      zstd(HEADER, lineOf(filler), line({ type: 'x', data: [] }).replace('[]', `[${'{},'.repeat(2 * MIB)}0]`)),
    'values in a plain line': () => Buffer.from(`${HEADER}{"type":"x","data":[${'[],'.repeat(330_000)}0]}\n`),
    'questions without end': () => zstd(HEADER, asks.repeat(Math.floor((60 * MIB) / asks.length))),
    'calls without end': () =>
      zstd(
        HEADER,
        Array.from({ length: 700_000 }, (_, n) => line({ type: 'tool/call', data: { callId: `${n}` } })).join(''),
      ),
    'an answer of 300,000 labels': () =>
      zstd(HEADER, line({ type: 'tool/code-dispatch', data: { ...ids(1), content: text(labels) } })),
    'questions in a plain file': () =>
      Buffer.from(
        HEADER
          + Array.from({ length: 9_000 }, (_, n) =>
            line({ type: 'tool/code-dispatch', data: { ...ids(n), content: [] } }),
          )
            .join('')
            .slice(0, 990_000),
      ),
    'deep nesting': () =>
      Buffer.from(`${HEADER}{"type":"user/message","data":{"content":${'['.repeat(450_000)}${']'.repeat(450_000)}}}\n`),
  }
}
