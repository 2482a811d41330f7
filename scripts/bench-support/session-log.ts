/**
 * Session logs of any size, in the format of the harness's own JSONL backend: a header frame, then a frame for each
 * batch of events, with runs of stream chunks packed into rows.
 * @module
 */
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { constants, zstdCompressSync } from 'node:zlib'
import { packChunkRuns, SESSION_FORMAT_VERSION, type SessionEvent } from '@deepseek-ai/dsh-session'

/** What a generated log is made of. */
export interface LogOptions {
  /** Events, at least; the last turn is completed. */
  readonly events: number
  /** Chunks in the model's output of one step. */
  readonly chunksPerStep?: number
  /** Characters in one chunk. */
  readonly chunkChars?: number
  /** Events in one batch, which is one zstd frame. */
  readonly batch?: number
  readonly compression?: 'zstd' | 'none'
  /** Every how many turns a program asks and throws the answer away; 0 for never. */
  readonly lossEvery?: number
}

type Draft = Pick<SessionEvent, 'type'> & { readonly data: unknown }

const WORDS = ['paint', 'the', 'fence', 'again', 'and', 'measure', 'it', 'twice', 'before', 'noon']
const QUESTION = {
  questions: [{ id: 'q', question: 'Which colour?', options: [{ label: 'Azure' }, { label: 'Crimson' }] }],
}
const ANSWER = JSON.stringify({ answers: [{ id: 'q', selected: ['Azure'] }] })

/**
 * Every turn is one model step that runs a program which asks the user, and one step that ends the turn.
 * @param options - the log's size and shape.
 * @returns the events in order, made on demand.
 */
export function* sessionEvents(options: LogOptions): Generator<SessionEvent> {
  let seq = 0
  for (let turn = 1; seq < options.events; turn += 1) {
    for (const draft of turnEvents(turn, options)) {
      yield { ...draft, seq, time: 1_800_000_000_000 + 20 * seq } as SessionEvent
      seq += 1
    }
  }
}

function* turnEvents(
  turn: number,
  { chunksPerStep = 40, chunkChars = 12, lossEvery = 10 }: LogOptions,
): Generator<Draft> {
  const lost = lossEvery > 0 && turn % lossEvery === 0
  const root = `call-${turn}`
  const ids = { rootCallId: root, parentCallId: root, subCallId: `${root}:code:1`, name: 'ask_user_question' }
  yield { type: 'turn/start', data: { turn } }
  yield { type: 'step/start', data: { turn, step: 1 } }
  yield { type: 'user/message', data: message({ kind: 'user' }, `Go on with part ${turn}.`) }
  yield* output(turn, 1, chunksPerStep, chunkChars)
  yield { type: 'tool/call', data: { turn, step: 1, callId: root, name: 'run_code', arguments: '{}' } }
  yield { type: 'tool/code-dispatch-start', data: { ...ids, arguments: QUESTION } }
  yield { type: 'tool/code-dispatch', data: { ...ids, arguments: QUESTION, isError: false, content: text(ANSWER) } }
  const content = [{ type: 'tool-result', toolCallId: root, isError: false, content: text(lost ? 'asked' : ANSWER) }]
  const source = { kind: 'tool', callId: root }
  yield { type: 'tool/result', data: { turn, step: 1, message: { id: root, role: 'user', source, content } } }
  yield { type: 'step/end', data: { turn, step: 1 } }
  yield { type: 'step/start', data: { turn, step: 2 } }
  yield* output(turn, 2, chunksPerStep, chunkChars)
  yield { type: 'step/end', data: { turn, step: 2 } }
  yield { type: 'turn/end', data: { turn, reason: { kind: 'completed' } } }
}

function* output(turn: number, step: number, chunks: number, chars: number): Generator<Draft> {
  let whole = ''
  for (let index = 0; index < chunks; index += 1) {
    const word = WORDS[(turn * 7 + index * 3 + step) % WORDS.length] ?? ''
    const delta = `${word}${index}`.padEnd(chars, ' ')
    whole += delta
    yield { type: 'assistant/chunk', data: { turn, step, chunk: { type: 'text-delta', index: 0, text: delta } } }
  }
  const source = { kind: 'model', provider: 'p', model: 'm' }
  const assistant = { id: `a-${turn}-${step}`, role: 'assistant', source, content: text(whole) }
  yield { type: 'assistant/message', data: { turn, step, message: assistant } }
}

const text = (value: string) => [{ type: 'text', text: value }]

const message = (source: unknown, value: string) => ({ id: value, role: 'user', source, content: text(value) })

/** One log on disk, measured. */
export interface WrittenLog {
  readonly events: number
  /** Size of the text, and of the file. */
  readonly plainBytes: number
  readonly fileBytes: number
}

/**
 * Write a log; it is never held whole.
 * @param path - the file.
 * @param options - its size and shape.
 */
export async function writeSessionLog(path: string, options: LogOptions): Promise<WrittenLog> {
  const { batch = 200, compression = 'zstd' } = options
  const file = createWriteStream(path)
  let plainBytes = 0
  let events = 0
  let fileBytes = 0
  const write = async (lines: readonly unknown[]) => {
    const plain = Buffer.from(lines.map(line => `${JSON.stringify(line)}\n`).join(''))
    const bytes = compression === 'zstd' ? frame(plain) : plain
    plainBytes += plain.length
    fileBytes += bytes.length
    if (!file.write(bytes)) await once(file, 'drain')
  }
  await write([{ type: 'session', version: SESSION_FORMAT_VERSION, id: 's', createdAt: 0, delegationDepth: 0 }])
  let pending: SessionEvent[] = []
  for (const event of sessionEvents(options)) {
    pending.push(event)
    events += 1
    if (pending.length < batch) continue
    await write(packChunkRuns(pending))
    pending = []
  }
  await write(packChunkRuns(pending))
  file.end()
  await finished(file)
  return { events, plainBytes, fileBytes }
}

/** @returns the bytes as one checksummed frame, as the backend writes them. */
export function frame(plain: Buffer): Buffer {
  return zstdCompressSync(plain, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
}
