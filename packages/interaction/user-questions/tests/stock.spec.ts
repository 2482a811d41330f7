/** The 0.1.0 generation: what the published service does, ours does too. */
import { afterEach, describe, expect, it } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { AgentRegistry, type Agent } from '@deepseek-ai/dsh-agent'
import * as stock from 'stock-user-questions'
import * as stockInvariant from 'stock-user-questions/invariant'
import * as ours from '../src/index.ts'
import * as oursInvariant from '../src/invariant.ts'

type Service = Pick<ours.UserQuestionService, 'ask' | 'registerProvider'>
type Request = ours.AskUserQuestionRequest

const contexts: Context[] = []

async function mount(implementation: typeof ours | typeof stock): Promise<{ ctx: Context; service: Service }> {
  const ctx = new Context()
  contexts.push(ctx)
  await ctx.plugin(AgentRegistry)
  await ctx.plugin(implementation.UserQuestionService)
  return { ctx, service: ctx.get('userQuestions') as Service }
}

afterEach(async () => {
  await Promise.all(contexts.splice(0).map(ctx => ctx.fiber.dispose()))
})

/** What a caller can see of an outcome. */
async function outcome(run: () => unknown): Promise<unknown> {
  try {
    return { value: await run() }
  } catch (error) {
    const { name, message, code } = error as { name: string; message: string; code?: string }
    return { name, message, code }
  }
}

const question = { id: 'a', question: '?' }
const plainError = { name: 'UserQuestionError', message: 'm', code: 'X' }
const intent = { kind: 'plan-review', approve: 'Y"es' } as const

describe('the same as the published service', () => {
  it('exports', () => {
    expect(Object.keys(ours).sort()).toEqual(Object.keys(stock).sort())
    expect(ours.default).toBe(ours.UserQuestionService)
    expect([oursInvariant.name, oursInvariant.inject]).toEqual([stockInvariant.name, stockInvariant.inject])
  })

  it.each<[string, Request]>([
    ['no provider', { questions: [question] }],
    ['an agent that is undefined', { questions: [question], agent: undefined as never }],
    ['aborted beforehand, and empty', { questions: [], signal: AbortSignal.abort('why') }],
    ['empty, and a stale agent', { questions: [], agent: { id: 'x' } as Agent }],
    ['a stale agent, and a bad intent', { questions: [{ ...question, intent }], agent: { id: 'x' } as Agent }],
    ['an intent without options', { questions: [{ ...question, detail: 'd', intent }] }],
    [
      'an intent that approves no option',
      { questions: [{ ...question, detail: 'd', options: [{ label: 'N' }], intent }] },
    ],
    ['an intent without detail', { questions: [{ ...question, options: [{ label: 'Y"es' }], intent }] }],
    [
      'an intent with an empty detail',
      { questions: [{ ...question, detail: '', options: [{ label: 'Y"es' }], intent }] },
    ],
  ])('refusal: %s', async (_name, request) => {
    const [theirs, mine] = [await mount(stock), await mount(ours)]
    const expected = await outcome(() => theirs.service.ask(request))

    expect(expected).toHaveProperty('code')
    expect(await outcome(() => mine.service.ask(request))).toEqual(expected)
  })

  it('refusal: a child agent, and not a root', async () => {
    const results = await Promise.all(
      [stock, ours].map(async implementation => {
        const { ctx, service } = await mount(implementation)
        const parent = bareAgent('parent')
        const child = bareAgent('child')
        ctx.agents.enter(parent, undefined)
        ctx.agents.enter(child, parent)
        return [
          await outcome(() => service.ask({ questions: [question], agent: child })),
          await outcome(() => service.ask({ questions: [question], agent: parent })),
        ]
      }),
    )

    expect(results[1]).toEqual(results[0])
    expect(results[0]).toMatchObject([{ code: 'DELEGATED_CALLER' }, { code: 'NO_PROVIDER' }])
  })

  it.each<[string, (request: Request) => unknown]>([
    ['an answer', () => Promise.resolve({ answers: [{ id: 'a', selected: ['x'] }], extra: 1 })],
    ['an answer of the wrong shape', () => Promise.resolve('nonsense')],
    ['a rejection', () => Promise.reject(new Error('boom'))],
    ['a throw', () => throws(new Error('sync boom'))],
    ['a plain question error', () => rejects(plainError)],
  ])('provider: %s', async (_name, ask) => {
    const [expected, mine] = await Promise.all(
      [stock, ours].map(async implementation => {
        const { service } = await mount(implementation)
        service.registerProvider({ ask } as ours.UserQuestionProvider)
        return outcome(() => service.ask({ questions: [question] }))
      }),
    )
    expect(mine).toEqual(expected)
  })

  it.each([stock, ours])('hands the very request to the provider and its very answer back', async implementation => {
    const { service } = await mount(implementation)
    const seen: Request[] = []
    const answer = { answers: [] }
    service.registerProvider({ ask: request => (seen.push(request), Promise.resolve(answer)) })
    const request = { questions: [question], signal: new AbortController().signal, extra: 1 }

    expect(await service.ask(request)).toBe(answer)
    expect(seen).toHaveLength(1)
    expect(seen[0]).toBe(request)
  })

  it.each([stock, ours])('lets an answer count that comes after the abort', async implementation => {
    const { service } = await mount(implementation)
    const caller = new AbortController()
    const answer = { answers: [] }
    service.registerProvider({
      ask: ({ signal }) =>
        new Promise(resolve =>
          signal?.addEventListener('abort', () => {
            resolve(answer)
          }),
        ),
    })
    const asked = service.ask({ questions: [question], signal: caller.signal })
    caller.abort()

    expect(await asked).toBe(answer)
  })

  it.each([stock, ours])('has one provider at a time, until it is disposed', async implementation => {
    const { service } = await mount(implementation)
    const named = (id: string) => ({ ask: () => Promise.resolve({ answers: [{ id, selected: [] }] }) })
    const dispose = service.registerProvider(named('first'))

    expect(await outcome(() => service.registerProvider(named('second')))).toEqual({
      name: 'UserQuestionError',
      message: 'a user-questions provider is already registered',
      code: 'DUPLICATE_PROVIDER',
    })
    dispose()
    service.registerProvider(named('third'))
    dispose()
    expect(await service.ask({ questions: [question] })).toEqual({ answers: [{ id: 'third', selected: [] }] })
  })

  it.each([stock, ours])('drops the provider with the plugin that registered it', async implementation => {
    const { ctx, service } = await mount(implementation)
    const ui = await ctx.plugin({
      name: 'ui',
      inject: ['userQuestions'],
      apply: (child: Context) => {
        child.userQuestions.registerProvider({ ask: () => Promise.resolve({ answers: [] }) })
      },
    })

    expect(await service.ask({ questions: [question] })).toEqual({ answers: [] })
    expect(ui.getEffects().map(({ label }) => label)).toEqual(['userInteraction.registerProvider()'])
    await ui.dispose()
    expect(await outcome(() => service.ask({ questions: [question] }))).toMatchObject({ code: 'NO_PROVIDER' })
  })
})

function bareAgent(id: string): Agent {
  return { id, session: { id } } as unknown as Agent
}

function rejects(error: Error): Promise<never> {
  return Promise.reject(error)
}

function throws(error: Error): never {
  throw error
}
