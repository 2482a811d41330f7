/**
 * Who may ask what: the checks that a request passes before anybody is asked, as one pure decision.
 * @module @deepseek-ai/dsh-user-questions/admission
 */
import type { Agent, AgentRegistry } from '@deepseek-ai/dsh-agent'
import { UserQuestionError } from './error.ts'
import type { AskUserQuestionItem } from './types.ts'

/** What the checks look at. */
export interface Admissible {
  /** The questions of the request. */
  readonly questions: readonly AskUserQuestionItem[]
  /** The agent that asks, if one does. */
  readonly agent?: Agent
  /** The caller's signal. */
  readonly signal?: AbortSignal
}

/** What the checks need of the agent registry. */
export type LiveAgents = Pick<AgentRegistry, 'get' | 'roots'>

/** Message of `ASK_ABORTED`, before the question is put and while it is pending. */
export const ABORTED_MESSAGE = 'ask_user_question was aborted before the user answered'

const NO_QUESTIONS = 'ask_user_question requires at least one question'
const NOT_LIVE = 'human interaction requires the exact live calling agent when an agent is supplied'
const DELEGATED =
  'human interaction is unavailable while the calling agent is owned by another live agent; '
  + "include the unresolved question or decision in the child agent's final result"

/**
 * Decide whether a request may be put to a person. The first check that fails names the error, in this order:
 *
 * | check                                                          | code               |
 * | -------------------------------------------------------------- | ------------------ |
 * | the signal is aborted already                                  | `ASK_ABORTED`      |
 * | there is no question                                           | `EMPTY_QUESTIONS`  |
 * | an agent is given that is not the registry's own live instance | `CALLER_NOT_LIVE`  |
 * | that agent is owned by another live agent                      | `DELEGATED_CALLER` |
 * | an intent without its approving option, or without a `detail`  | `BAD_INTENT`       |
 *
 * Ownership at run time decides, not the lineage in the session's header: a session that was once a child's may ask
 * after it has been resumed as a root.
 * @param request - the request.
 * @param agents - the agent registry, if there is one; without it no agent is live.
 * @returns the error to throw, or `undefined` when the request may be put.
 */
export function refusal(request: Admissible, agents: LiveAgents | undefined): UserQuestionError | undefined {
  const { questions, agent, signal } = request
  if (signal?.aborted === true) return new UserQuestionError(ABORTED_MESSAGE, 'ASK_ABORTED')
  if (questions.length === 0) return new UserQuestionError(NO_QUESTIONS, 'EMPTY_QUESTIONS')
  return (agent && callerRefusal(agent, agents)) ?? intentRefusal(questions)
}

function callerRefusal(agent: Agent, agents: LiveAgents | undefined): UserQuestionError | undefined {
  if (agents?.get(agent.id) !== agent) return new UserQuestionError(NOT_LIVE, 'CALLER_NOT_LIVE')
  if (!agents.roots().includes(agent)) return new UserQuestionError(DELEGATED, 'DELEGATED_CALLER')
  return undefined
}

/** The two facts about an intent that no type can state. */
function intentRefusal(questions: readonly AskUserQuestionItem[]): UserQuestionError | undefined {
  for (const { id, intent, options, detail } of questions) {
    if (intent === undefined) continue
    const declared = `question ${id} declares intent ${intent.kind}`
    if (!options?.some(({ label }) => label === intent.approve)) {
      const approve = JSON.stringify(intent.approve)
      return new UserQuestionError(`${declared} whose approve label ${approve} names none of its options`, 'BAD_INTENT')
    }
    if (detail === undefined) {
      return new UserQuestionError(`${declared} without the detail it reviews`, 'BAD_INTENT')
    }
  }
  return undefined
}
