/**
 * The part of DeepSeek's chat-completions format that the harness's adapter speaks: the request it sends, and a reply
 * as the server-sent events it expects.
 *
 * @module @deepseek-ai/dsh-test-model-server/wire
 */

/** One message of a request, as the adapter puts it on the wire. */
export interface WireMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly tool_call_id?: string
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
}

/** The body of a request, reduced to the fields a script decides by. */
export interface ModelRequest {
  readonly model: string
  readonly messages: readonly WireMessage[]
  /** Absent where the harness offers no tools: the title of a session is asked for like that. */
  readonly tools?: readonly { readonly function: { readonly name: string; readonly description: string } }[]
}

/** What the model says: some text, some tool calls, or both. */
export interface ModelReply {
  readonly text?: string
  readonly calls?: readonly ToolCall[]
}

/** One tool call; its arguments are sent as JSON text. */
export interface ToolCall {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
}

/** Pieces in which text and arguments are streamed, in characters: small enough that every reply is several chunks. */
const PIECE = 40

/**
 * Render a reply as the events of one streamed completion.
 * @param reply - what the model says.
 * @param id - the completion's id; tool calls are numbered below it.
 * @returns server-sent events in order, the `[DONE]` sentinel last.
 */
export function renderEvents(reply: ModelReply, id: string): string[] {
  const calls = reply.calls ?? []
  const deltas = [
    ...pieces(reply.text ?? '').map(content => ({ content })),
    ...calls.flatMap((call, index) => callDeltas(call, index, `${id}-call-${index}`)),
  ]
  const finish = calls.length > 0 ? 'tool_calls' : 'stop'
  return [
    ...deltas.map(delta => event({ id, choices: [{ index: 0, delta, finish_reason: null }] })),
    event({
      id,
      choices: [{ index: 0, delta: {}, finish_reason: finish }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
    'data: [DONE]\n\n',
  ]
}

/** A call's id and name come once, then its arguments in pieces under the same index. */
function callDeltas(call: ToolCall, index: number, id: string): object[] {
  const head = { index, id, type: 'function', function: { name: call.name, arguments: '' } }
  const body = pieces(JSON.stringify(call.arguments)).map(piece => ({ index, function: { arguments: piece } }))
  return [head, ...body].map(delta => ({ tool_calls: [delta] }))
}

function pieces(text: string): string[] {
  const characters = Array.from(text)
  return Array.from({ length: Math.ceil(characters.length / PIECE) }, (_, index) =>
    characters.slice(index * PIECE, (index + 1) * PIECE).join(''),
  )
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`
}
