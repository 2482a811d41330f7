/**
 * `ctx.userQuestions`: a tool or plugin asks, and waits until a person has answered. A UI answers as a listener of
 * `user-questions/request` or as the registered provider; both can be there at once.
 * @module @deepseek-ai/dsh-user-questions
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { scopeTarget, type Scoped } from '@deepseek-ai/dsh-scope'
import { ABORTED_MESSAGE, refusal } from './admission.ts'
import { restoreQuestionError, UserQuestionError } from './error.ts'
import type { AskUserQuestionAnswer, AskUserQuestionItem } from './types.ts'

export { UserQuestionError } from './error.ts'
export type {
  AskUserQuestionAnswer,
  AskUserQuestionAnswerItem,
  AskUserQuestionIntent,
  AskUserQuestionItem,
  AskUserQuestionOption,
} from './types.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    userQuestions: UserQuestionService
  }
  interface Events {
    /**
     * A question is put. Return an answer to claim it, or `next()` to leave it to the next listener and, behind the
     * last one, to the registered provider. Scope-filtered: a listener registered through an agent's context sees that
     * agent's requests only, and a request without an agent reaches unscoped listeners only. Whoever claims a request
     * observes its signal.
     * @param request - the caller's own request.
     * @mode waterfall
     */
    'user-questions/request'(
      this: Scoped<UserQuestionService>,
      request: AskUserQuestionRequest,
      next: () => Promise<AskUserQuestionAnswer>,
    ): Promise<AskUserQuestionAnswer>
  }
}

/** A request for a person's answer. */
export interface AskUserQuestionRequest {
  /** What to ask; at least one question. */
  questions: AskUserQuestionItem[]
  /** The agent that asks, when an agent does: the registry's own live instance, and a root. */
  agent?: Agent
  /** Aborted when the caller no longer wants the answer. */
  signal?: AbortSignal
}

/** A UI that answers every question which no listener claims. */
export interface UserQuestionProvider {
  /**
   * Put the questions to a person.
   * @param request - the caller's own request.
   * @returns the answer; rejects when there will be none, and at the latest when the request's signal is aborted.
   */
  ask(request: AskUserQuestionRequest): Promise<AskUserQuestionAnswer>
}

/** The service `ctx.userQuestions`. */
export class UserQuestionService extends Service {
  private provider: UserQuestionProvider | undefined

  constructor(ctx: Context) {
    super(ctx, 'userQuestions')
  }

  /**
   * Register the provider. There is one at a time, and it goes with the context that registered it.
   * @param provider - the UI that answers.
   * @returns removes the provider; calling it again does nothing.
   * @throws {UserQuestionError} code `DUPLICATE_PROVIDER` when there is a provider already.
   */
  registerProvider(provider: UserQuestionProvider): () => void {
    // eslint-disable-next-line @typescript-eslint/no-misused-promises -- the exact disposer: a composite effect nests by it
    return this.ctx.effect(() => {
      if (this.provider !== undefined) {
        throw new UserQuestionError('a user-questions provider is already registered', 'DUPLICATE_PROVIDER')
      }
      this.provider = provider
      return () => {
        this.provider = undefined
      }
    }, 'userInteraction.registerProvider()') // the published label, older than the service's name
  }

  /**
   * Ask, and wait for the answer. Whoever answers owns the abort: an answer that comes after it still counts.
   * @param request - questions, the asking agent, and the caller's signal.
   * @returns what the listener or the provider answered, as it was given.
   * @throws {UserQuestionError} with the code of the check that the request failed; `NO_PROVIDER` when nobody claimed
   *   it; `ASK_ABORTED` when the answerer rejected after the signal was aborted, with its error as the cause. Any other
   *   error of an answerer is thrown as it is.
   */
  async ask(request: AskUserQuestionRequest): Promise<AskUserQuestionAnswer> {
    const refused = refusal(request, this.ctx.get('agents'))
    if (refused !== undefined) throw refused
    try {
      return await this.ctx.waterfall(scopeTarget(this, request.agent), 'user-questions/request', request, () =>
        this.askProvider(request),
      )
    } catch (error) {
      const restored = restoreQuestionError(error)
      if (request.signal?.aborted === true && restored?.code !== 'ASK_ABORTED') {
        throw new UserQuestionError(ABORTED_MESSAGE, 'ASK_ABORTED', { cause: error })
      }
      throw restored ?? error
    }
  }

  /** The end of the chain. */
  private async askProvider(request: AskUserQuestionRequest): Promise<AskUserQuestionAnswer> {
    if (this.provider === undefined) {
      throw new UserQuestionError('no user-questions provider is registered', 'NO_PROVIDER')
    }
    return this.provider.ask(request)
  }
}

export default UserQuestionService
