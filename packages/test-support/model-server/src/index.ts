/**
 * A model on 127.0.0.1 for tests and demonstrations that run the real `dsh` as a process: it answers DeepSeek's
 * streaming `POST /chat/completions` from a script, a function of the request, and keeps every request it saw.
 *
 * @module @deepseek-ai/dsh-test-model-server
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { renderEvents, type ModelReply, type ModelRequest } from './wire.ts'

export type { ModelReply, ModelRequest, ToolCall, WireMessage } from './wire.ts'

/**
 * Decides what the model says to one request.
 * @param request - the request; requests for a session's title never come here.
 * @param index - how many requests the script answered before this one.
 */
export type ModelScript = (request: ModelRequest, index: number) => ModelReply | Promise<ModelReply>

/** Where to listen. */
export interface ModelServerOptions {
  /** Port on 127.0.0.1; a free one by default. */
  readonly port?: number
}

/** A running model. Disposing it closes every connection. */
export interface ModelServer extends AsyncDisposable {
  /** What `DEEPSEEK_BASE_URL` has to be. */
  readonly url: string
  /** Every request that the script was asked to answer, in order of arrival. */
  readonly requests: readonly ModelRequest[]
  /** Requests without tools, answered with a fixed title. */
  readonly titleRequests: readonly ModelRequest[]
  /** What the script threw. Each was answered with status 400, which the harness does not retry. */
  readonly failures: readonly unknown[]
}

/**
 * Start a model.
 * @param script - decides every reply.
 * @param options - where to listen.
 * @returns the model, listening.
 * @throws an error that names the port when it cannot be listened on.
 */
export async function startModelServer(script: ModelScript, options: ModelServerOptions = {}): Promise<ModelServer> {
  const model = new ScriptedModel(script)
  const server = createServer((request, response) => {
    // Only a client that went away in the middle makes this reject, and then nobody is left to be told.
    model.handle(request, response).catch(() => response.destroy())
  })
  const port = await listen(server, options.port ?? 0)
  return {
    url: `http://127.0.0.1:${port}`,
    requests: model.requests,
    titleRequests: model.titleRequests,
    failures: model.failures,
    [Symbol.asyncDispose]: () => close(server),
  }
}

class ScriptedModel {
  readonly requests: ModelRequest[] = []
  readonly titleRequests: ModelRequest[] = []
  readonly failures: unknown[] = []
  private readonly script: ModelScript

  constructor(script: ModelScript) {
    this.script = script
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = parseRequest(await readBody(request))
    const { method = '', url = '' } = request
    if (method !== 'POST' || url !== '/chat/completions')
      refuse(response, 404, `the model answers POST /chat/completions only, not ${method} ${url}`)
    else if (body === undefined) refuse(response, 400, 'the request is no JSON object with a list of messages')
    else await this.answer(body, response)
  }

  private async answer(request: ModelRequest, response: ServerResponse): Promise<void> {
    try {
      const reply = await this.reply(request)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of renderEvents(reply, `completion-${this.requests.length}`)) response.write(event)
      response.end()
    } catch (error) {
      this.failures.push(error)
      refuse(response, 400, `the script failed: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  private reply(request: ModelRequest): ModelReply | Promise<ModelReply> {
    if (request.tools === undefined) {
      this.titleRequests.push(request)
      return { text: 'A scripted session' }
    }
    return this.script(request, this.requests.push(request) - 1)
  }
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new Error(`model server: cannot listen on port ${port} of 127.0.0.1; is it in use?`, { cause: error })
  }
  return (server.address() as AddressInfo).port
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function parseRequest(body: string): ModelRequest | undefined {
  try {
    const value = JSON.parse(body) as ModelRequest | null
    return Array.isArray(value?.messages) ? value : undefined
  } catch {
    return undefined
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message } }))
}
