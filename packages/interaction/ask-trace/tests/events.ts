/** Events in the shapes of a log, for what the real loop cannot be made to write. */

export type Event = Record<string, unknown>

export const answerJson = (label: string) => JSON.stringify({ answers: [{ id: 'q', selected: [label] }] })

/** What the receipt of a question says whose answer is `Blue`. */
export const ANSWER = answerJson('Blue')

export const question = (label = 'Blue') => ({ questions: [{ id: 'q', question: 'Which?', options: [{ label }] }] })

const block = (text: string) => [{ type: 'text', text }]

export const turnStart = (turn: number): Event => ({ type: 'turn/start', data: { turn } })
export const turnEnd = (turn: number): Event => ({ type: 'turn/end', data: { turn, reason: { kind: 'completed' } } })
export const stepStart = (): Event => ({ type: 'step/start', data: { turn: 1, step: 1 } })
export const chunk = (): Event => ({ type: 'assistant/chunk', data: { chunk: { type: 'text-delta', text: 'Blue' } } })

export const call = (callId: string, name = 'run_code', args = '{}'): Event => ({
  type: 'tool/call',
  data: { callId, name, arguments: args },
})

export const result = (callId: string, text: string, extra: Event = {}): Event => ({
  type: 'tool/result',
  data: {
    message: {
      source: { kind: 'tool', callId },
      content: [{ type: 'tool-result', toolCallId: callId, isError: extra.isError === true, content: block(text) }],
    },
    ...(extra.code === undefined ? {} : { error: { name: 'E', code: extra.code } }),
  },
})

const ids = (root: string, n: number) => ({ rootCallId: root, parentCallId: root, subCallId: `${root}:code:${n}` })

export const started = (root: string, n = 1, name = 'ask_user_question'): Event => ({
  type: 'tool/code-dispatch-start',
  data: { ...ids(root, n), name, arguments: question() },
})

export const settled = (root: string, text: string, n = 1, isError = false, name = 'ask_user_question'): Event => ({
  type: 'tool/code-dispatch',
  data: { ...ids(root, n), name, arguments: question(), isError, content: block(text) },
})

export const message = (source: Event, text: string, id = 'm'): Event => ({
  type: 'user/message',
  data: { id, role: 'user', source, content: block(text) },
})

export const human = (text: string) => message({ kind: 'user' }, text)
export const round = (n: number) => message({ kind: 'goal', goalId: 'g', revision: 1, round: n }, 'Go on')

export const writeBack = (json: string, id = 'm') =>
  message({ kind: 'plugin', plugin: 'tool-ask-user', form: 'notice' }, `<user_answer>${json}</user_answer>`, id)

export const inserted = (event: Event): Event => ({ type: 'agent/inbox/spliced', data: { inserted: [event.data] } })

/** @returns the event as a later one that takes the place of another. */
export const replacing = (event: Event, seq: number): Event => ({
  ...event,
  surfaceOp: { op: 'replace', start: seq, end: seq },
  sourceEventSeqs: [seq],
})

/** A program that asks, gets `Blue`, and returns something. */
export const asking = (root: string, returned: string): Event[] => [
  stepStart(),
  call(root),
  started(root),
  settled(root, answerJson('Blue')),
  result(root, returned),
]

/** The request that follows. */
export const request = (): Event[] => [stepStart(), chunk()]
