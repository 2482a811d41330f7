/** A question in Code Mode, and the human who answers it at once. */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread'
import * as toolAskUser from '@deepseek-ai/dsh-tool-ask-user'
import { UserQuestionService } from '@deepseek-ai/dsh-user-questions'
import { eventsOf, textOf, type Reply, type ScriptedModel } from './runtime.ts'
import { excerpt, type Row } from './section.ts'

/** What the human chooses. */
export const ANSWER = 'PostgreSQL'

const QUESTION = {
  id: 'database',
  question: 'Which database shall the service use?',
  options: [{ label: ANSWER }, { label: 'SQLite' }],
}

/** A program that asks, and throws the answer away. */
export const ASK_AND_FORGET = runCode(
  `await tools.ask_user_question(${JSON.stringify({ questions: [QUESTION] })})\nreturn "asked"`,
  'ask the user',
)

/**
 * Make a Code Mode call.
 * @param code - the program.
 * @param description - what it does.
 * @returns the model's reply.
 */
export function runCode(code: string, description: string): Reply {
  return { name: 'run_code', args: { code, description } }
}

/**
 * Mount Code Mode's runtime, the question tool, and a human who answers.
 * @param ctx - the runtime's context.
 * @returns a function that counts the questions put to the human so far.
 */
export async function mountQuestions(ctx: Context): Promise<() => number> {
  let asked = 0
  await ctx.plugin(WorkerThreadCodeRuntime)
  await ctx.plugin(UserQuestionService)
  ctx.userQuestions.registerProvider({
    ask: ({ questions }) => {
      asked += questions.length
      return Promise.resolve({ answers: questions.map(({ id }) => ({ id, selected: [ANSWER] })) })
    },
  })
  await ctx.plugin(toolAskUser)
  return () => asked
}

/** Where the outcome of the first question can be seen. */
export interface ThreeLayers {
  /** The receipt of the nested call. */
  readonly innerReceipt: string
  /** The result of the program. */
  readonly outerResult: string
  /** What the next model request says after that. */
  readonly nextRequest: string
}

/**
 * Take the three layers of an agent's first question.
 * @param agent - the agent that asked.
 * @param model - the model that was asked next.
 * @returns their texts.
 */
export function threeLayers(agent: Agent, model: ScriptedModel): ThreeLayers {
  const messages = model.requests[1]?.request.messages ?? []
  const call = messages.findLastIndex(message => message.role === 'assistant')
  return {
    innerReceipt: textOf(eventsOf(agent, 'tool/code-dispatch')[0]?.data.content ?? []),
    outerResult: textOf(eventsOf(agent, 'tool/result')[0]?.data.message.content ?? []),
    nextRequest: messages
      .slice(call + 1)
      .map(message => textOf(message.content))
      .join('\n'),
  }
}

/**
 * The three layers as rows of a table.
 * @param stock - those of the run on the published packages.
 * @param fork - those of the run on the packages of this repository.
 * @returns one row a layer.
 */
export function layerRows(stock: ThreeLayers, fork: ThreeLayers): Row[] {
  return [
    ['its question got', tell(stock.innerReceipt), tell(fork.innerReceipt)],
    ['its program returned', tell(stock.outerResult), tell(fork.outerResult)],
    ['then the model read', tell(stock.nextRequest), tell(fork.nextRequest)],
  ]
}

/** Show a layer. The refusal of a question in a goal round is what is wanted, and must not look like a failure. */
function tell(text: string): string {
  const refusal = text.indexOf('This tool is unavailable')
  return refusal < 0 ? excerpt(text) : `the refusal, as intended: ${excerpt(text.slice(refusal))}`
}
