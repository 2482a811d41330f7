/** The 0.1.5 generation: `user-questions/request` listeners, and both generations together. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { AgentRegistry, type Agent } from '@deepseek-ai/dsh-agent'
import { createScope } from '@deepseek-ai/dsh-scope'
import { UserQuestionError, UserQuestionService, type AskUserQuestionRequest } from '../src/index.ts'
import type { AskUserQuestionAnswer } from '../src/types.ts'

const questions = [{ id: 'a', question: '?' }]
let ctx: Context

beforeEach(async () => {
  ctx = new Context()
  await ctx.plugin(AgentRegistry)
  await ctx.plugin(UserQuestionService)
})

afterEach(async () => {
  await ctx.fiber.dispose()
})

function answered(by: string): AskUserQuestionAnswer {
  return { answers: [{ id: 'a', selected: [by] }] }
}

/** A root that is nothing but a handle: its `ctx` is not there to be used. */
function enterRoot(id: string): Agent {
  const agent = { id, session: { id } } as unknown as Agent
  ctx.agents.enter(agent, undefined)
  return agent
}

function listenAs(agent: Agent, label: string): void {
  createScope(ctx, agent).ctx.on('user-questions/request', () => Promise.resolve(answered(label)))
}

function askedFrom(agent?: Agent): Promise<AskUserQuestionAnswer> {
  return ctx.userQuestions.ask({ questions, ...(agent && { agent }) })
}

describe('listeners and the provider', () => {
  it('asks the listeners first, in order, and the provider at the end', async () => {
    const order: string[] = []
    const delegating =
      (name: string) => (_request: AskUserQuestionRequest, next: () => Promise<AskUserQuestionAnswer>) => {
        order.push(name)
        return next()
      }
    ctx.on('user-questions/request', delegating('first'))
    ctx.on('user-questions/request', delegating('second'))
    ctx.userQuestions.registerProvider({ ask: () => (order.push('provider'), Promise.resolve(answered('provider'))) })

    expect(await askedFrom()).toEqual(answered('provider'))
    expect(order).toEqual(['first', 'second', 'provider'])
  })

  it('leaves the provider alone when a listener claims the request', async () => {
    ctx.userQuestions.registerProvider({ ask: () => Promise.reject(new Error('asked')) })
    ctx.on('user-questions/request', () => Promise.resolve(answered('listener')))

    expect(await askedFrom()).toEqual(answered('listener'))
  })

  it('fails with NO_PROVIDER when every listener delegates and there is no provider', async () => {
    ctx.on('user-questions/request', (_request, next) => next())

    await expect(askedFrom()).rejects.toMatchObject({
      code: 'NO_PROVIDER',
      message: 'no user-questions provider is registered',
    })
  })

  it('lets a listener recover from a provider that throws', async () => {
    ctx.userQuestions.registerProvider({
      ask: () => {
        throw new Error('boom')
      },
    })
    ctx.on('user-questions/request', (_request, next) => next().catch(() => answered('listener')))

    expect(await askedFrom()).toEqual(answered('listener'))
  })

  it("gives a listener the caller's own fields, the agent and the very signal", async () => {
    const agent = enterRoot('root')
    const { signal } = new AbortController()
    const seen: AskUserQuestionRequest[] = []
    ctx.on('user-questions/request', request => (seen.push(request), Promise.resolve(answered('listener'))))
    await ctx.userQuestions.ask({ questions, agent, signal })

    expect(seen).toHaveLength(1)
    expect(seen[0]?.questions).toBe(questions)
    expect(seen[0]?.agent).toBe(agent)
    expect(seen[0]?.signal).toBe(signal)
  })

  it('drops a listener with the plugin that registered it', async () => {
    const ui = await ctx.plugin({
      name: 'ui',
      apply: (child: Context) => void child.on('user-questions/request', () => Promise.resolve(answered('ui'))),
    })

    expect(await askedFrom()).toEqual(answered('ui'))
    await ui.dispose()
    await expect(askedFrom()).rejects.toMatchObject({ code: 'NO_PROVIDER' })
  })

  it('takes its turn in the teardown of the effect that registered the provider', async () => {
    const outcomes: unknown[] = []
    const record = async () => outcomes.push(await askedFrom().catch((error: unknown) => error))
    const ui = await ctx.plugin({
      name: 'ui',
      inject: ['userQuestions'],
      apply: (child: Context) => {
        child.effect(function* () {
          yield record
          yield child.userQuestions.registerProvider({ ask: () => Promise.resolve(answered('provider')) })
          yield record
        })
      },
    })
    await ui.dispose()

    expect(outcomes).toEqual([answered('provider'), expect.objectContaining({ code: 'NO_PROVIDER' })])
  })

  it('refuses before any listener hears of the request', async () => {
    let heard = false
    ctx.on('user-questions/request', () => ((heard = true), Promise.resolve(answered('listener'))))

    await expect(ctx.userQuestions.ask({ questions: [] })).rejects.toMatchObject({ code: 'EMPTY_QUESTIONS' })
    expect(heard).toBe(false)
  })
})

describe('scope', () => {
  it("keeps one agent's requests from another agent's listeners", async () => {
    const [one, two] = [enterRoot('one'), enterRoot('two')]
    listenAs(one, 'of one')
    listenAs(two, 'of two')

    expect(await askedFrom(two)).toEqual(answered('of two'))
    expect(await askedFrom(one)).toEqual(answered('of one'))
  })

  it("keeps a request without an agent from every agent's listeners", async () => {
    listenAs(enterRoot('one'), 'of one')
    ctx.userQuestions.registerProvider({ ask: () => Promise.resolve(answered('provider')) })

    expect(await askedFrom()).toEqual(answered('provider'))
  })

  it('lets an unscoped listener hear every request', async () => {
    ctx.on('user-questions/request', () => Promise.resolve(answered('global')))

    expect(await askedFrom(enterRoot('one'))).toEqual(answered('global'))
    expect(await askedFrom()).toEqual(answered('global'))
  })
})

describe('errors', () => {
  it('turns a rejection after the abort into ASK_ABORTED and keeps the cause', async () => {
    const cause = new Error('window closed')
    ctx.on(
      'user-questions/request',
      ({ signal }) =>
        new Promise((_resolve, reject) =>
          signal?.addEventListener('abort', () => {
            reject(cause)
          }),
        ),
    )
    const caller = new AbortController()
    const asked = ctx.userQuestions.ask({ questions, signal: caller.signal })
    caller.abort()

    await expect(asked).rejects.toMatchObject({
      name: 'UserQuestionError',
      code: 'ASK_ABORTED',
      message: 'ask_user_question was aborted before the user answered',
      cause,
    })
  })

  it("keeps an answerer's own ASK_ABORTED as it is", async () => {
    const own = new UserQuestionError('the window was closed', 'ASK_ABORTED')
    const caller = new AbortController()
    ctx.userQuestions.registerProvider({
      ask: () => {
        caller.abort()
        return Promise.reject(own)
      },
    })

    await expect(ctx.userQuestions.ask({ questions, signal: caller.signal })).rejects.toBe(own)
  })

  it('restores a question error that a wire made plain, and leaves other errors alone', async () => {
    const plain = { name: 'UserQuestionError', message: 'dismissed', code: 'ASK_CANCELLED' }
    const other = new Error('boom')
    const failures: unknown[] = [plain, other]
    ctx.on('user-questions/request', () => Promise.reject(failures.shift() as Error))

    const restored: unknown = await askedFrom().catch((error: unknown) => error)
    expect(restored).toBeInstanceOf(UserQuestionError)
    expect(restored).toMatchObject({ code: 'ASK_CANCELLED', message: 'dismissed' })
    await expect(askedFrom()).rejects.toBe(other)
  })
})
