import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { startModelServer, type ModelReply } from '../src/index.ts'

const tools = [{ type: 'function', function: { name: 'bash', description: 'Run a command' } }]

function post(url: string, body: unknown, path = '/chat/completions') {
  return fetch(url + path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })
}

function ask(text: string) {
  return { model: 'm', messages: [{ role: 'user', content: text }], tools }
}

interface Chunk {
  id: string
  choices: {
    delta: { content?: string; tool_calls?: { index: number; id?: string; function: Record<string, string> }[] }
    finish_reason: string | null
  }[]
  usage?: object
}

/** The data of a streamed reply; its sentinel is checked here. */
async function chunksOf(response: Response): Promise<Chunk[]> {
  const data = (await response.text())
    .split('\n\n')
    .filter(line => line !== '')
    .map(line => line.replace(/^data: /, ''))
  expect(data.pop()).toBe('[DONE]')
  return data.map(line => JSON.parse(line) as Chunk)
}

describe('a scripted model', () => {
  it('streams a text in pieces and stops', async () => {
    const text = `${'日本語 '.repeat(20)}end`
    await using server = await startModelServer(() => ({ text }))

    const response = await post(server.url, ask('hi'))
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const chunks = await chunksOf(response)

    expect(chunks.length).toBeGreaterThan(2)
    expect(chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join('')).toBe(text)
    expect(chunks.map(chunk => chunk.choices[0]?.finish_reason)).toEqual([...chunks.slice(1).map(() => null), 'stop'])
    expect(chunks.at(-1)?.usage).toBeDefined()
  })

  it('streams tool calls, each under its own index and id', async () => {
    const command = 'echo '.repeat(30)
    await using server = await startModelServer(() => ({
      calls: [
        { name: 'bash', arguments: { command } },
        { name: 'job_list', arguments: {} },
      ],
    }))

    const chunks = await chunksOf(await post(server.url, ask('run')))
    const deltas = chunks.flatMap(chunk => chunk.choices[0]?.delta.tool_calls ?? [])
    const heads = deltas.filter(delta => delta.id !== undefined)

    expect(heads.map(head => head.function.name)).toEqual(['bash', 'job_list'])
    expect(new Set(heads.map(head => head.id)).size).toBe(2)
    const sent = [0, 1].map(index =>
      deltas
        .filter(delta => delta.index === index)
        .map(delta => delta.function.arguments)
        .join(''),
    )
    expect(sent.map(text => JSON.parse(text) as unknown)).toEqual([{ command }, {}])
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls')
  })

  it('hands the script each request and its number, and keeps them', async () => {
    const seen: number[] = []
    await using server = await startModelServer(async (_request, index): Promise<ModelReply> => {
      seen.push(index)
      return Promise.resolve({ text: 'ok' })
    })

    await post(server.url, ask('one'))
    await post(server.url, ask('two'))

    expect(seen).toEqual([0, 1])
    expect(server.requests.map(request => request.messages[0]?.content)).toEqual(['one', 'two'])
  })

  it('answers a request for a title by itself', async () => {
    await using server = await startModelServer(() => {
      throw new Error('not asked')
    })

    const chunks = await chunksOf(await post(server.url, { model: 'm', messages: [] }))

    expect(chunks[0]?.choices[0]?.delta.content).toBe('A scripted session')
    expect(server.titleRequests).toHaveLength(1)
    expect(server.requests).toHaveLength(0)
  })

  it.each([new Error('no line for that'), 'no line for that'])(
    'answers 400 when the script fails with %o',
    async thrown => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- a script may throw anything
      await using server = await startModelServer(() => Promise.reject(thrown))

      const response = await post(server.url, ask('hi'))

      expect(response.status).toBe(400)
      expect(await response.json()).toEqual({ error: { message: 'the script failed: no line for that' } })
      expect(server.failures).toEqual([thrown])
    },
  )

  it.each(['not json', 'null', '{"messages":"none"}'])('refuses the body %s', async body => {
    await using server = await startModelServer(() => ({}))

    const response = await post(server.url, body)

    expect(response.status).toBe(400)
    expect(await response.text()).toContain('no JSON object with a list of messages')
  })

  it('refuses other paths and methods', async () => {
    await using server = await startModelServer(() => ({}))

    const path = await post(server.url, ask('hi'), '/models')
    const method = await fetch(`${server.url}/chat/completions`)

    expect([path.status, method.status]).toEqual([404, 404])
    expect(await path.text()).toContain('POST /models')
  })

  it('outlives a client that goes away in the middle of a request', async () => {
    await using server = await startModelServer(() => ({ text: 'ok' }))
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write('POST /chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{')
    socket.destroy()

    expect((await post(server.url, ask('hi'))).status).toBe(200)
  })

  it('names a port that is in use', async () => {
    await using server = await startModelServer(() => ({}))
    const port = Number(new URL(server.url).port)

    await expect(startModelServer(() => ({}), { port })).rejects.toThrow(
      `model server: cannot listen on port ${port} of 127.0.0.1`,
    )
  })

  it('closes open connections when it is disposed', async () => {
    const server = await startModelServer(() => new Promise<ModelReply>(() => undefined))
    const pending = post(server.url, ask('hi')).then(
      () => 'answered',
      () => 'closed',
    )
    await expect.poll(() => server.requests.length).toBe(1)

    await server[Symbol.asyncDispose]()

    expect(await pending).toBe('closed')
    await expect(fetch(server.url)).rejects.toThrow()
  })
})
