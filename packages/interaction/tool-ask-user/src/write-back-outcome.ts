/**
 * What the final outcome of a nested `ask_user_question` says to the model. It is read from the outcome as every policy
 * left it, never from what the tool itself returned.
 *
 * | the outcome | what is said |
 * | --- | --- |
 * | a success whose content is the rendering of its value | the answers of that value, each with its question |
 * | a success with other content: a policy replaced it | that content, and nothing of the value |
 * | aborted while it was shown, because its program ended | that the question was withdrawn |
 * | blocked, denied, failed, or aborted with its turn | nothing |
 * @module @deepseek-ai/dsh-tool-ask-user/write-back-outcome
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import {
  validateJsonSchemaValue,
  valueSchemaSpecToJsonSchema,
  type InferValue,
  type ToolExecution,
  type ToolExecutionResult,
  type ValueSchemaSpec,
} from '@deepseek-ai/dsh-tools'

/** A question as far as an answer needs it. */
export interface AskedQuestion {
  /** Its header, or its text if it has none. */
  readonly question: string
  readonly id: string
}

/** The answer to one question. */
export interface AnsweredQuestion extends AskedQuestion {
  readonly selected: readonly string[]
  readonly custom?: string
}

/** What is said; `unasked` are the ids of items that no question was asked for. */
export type AskOutcome =
  | { readonly kind: 'answered'; readonly answers: readonly AnsweredQuestion[]; readonly unasked: readonly string[] }
  | { readonly kind: 'replaced'; readonly text: string }
  | { readonly kind: 'withdrawn'; readonly questions: readonly AskedQuestion[]; readonly shownMs: number }

/** The reason with which `run_code` aborts what its program left pending. */
const PROGRAM_ENDED = 'run_code settled'

/** The codes of a call that was aborted in its body: by the questions seam, and by the tool registry. */
const ABORTED_CODES = ['ASK_ABORTED', 'ABORTED']

const text = { type: 'string', required: true } as const

/** The part of the tool's arguments that is read. They are checked again: a wrapper may answer without the tool. */
const QUESTIONS = {
  type: 'object',
  additionalProperties: true,
  properties: {
    questions: {
      type: 'array',
      required: true,
      items: {
        type: 'object',
        additionalProperties: true,
        properties: { id: text, question: text, header: { type: 'string' } },
      },
    },
  },
} as const satisfies ValueSchemaSpec

/** The tool's value. A tool that another plugin registered under the name may have another. */
const ANSWERS = {
  type: 'object',
  additionalProperties: true,
  properties: {
    answers: {
      type: 'array',
      required: true,
      items: {
        type: 'object',
        additionalProperties: true,
        properties: {
          id: text,
          selected: { type: 'array', required: true, items: { type: 'string' } },
          custom: { type: 'string' },
        },
      },
    },
  },
} as const satisfies ValueSchemaSpec

/**
 * Decide what the outcome of a nested call says.
 * @param exec - the call.
 * @param result - its final outcome.
 * @param shownMs - how long its questions were shown; `undefined` if they never were.
 * @returns what is to be said; `undefined` for nothing.
 */
export function outcomeOf(
  exec: Pick<ToolExecution, 'arguments' | 'signal'>,
  result: Readonly<ToolExecutionResult>,
  shownMs: number | undefined,
): AskOutcome | undefined {
  const { arguments: args, signal } = exec
  const questions = hasShape(QUESTIONS, args) ? args.questions.map(askedQuestion) : []
  if (result.isError) {
    const isAborted = ABORTED_CODES.includes(result.error.info?.code ?? '') && signal.reason === PROGRAM_ENDED
    return isAborted && shownMs !== undefined ? { kind: 'withdrawn', questions, shownMs } : undefined
  }
  const content = contentText(result.content)
  return hasShape(ANSWERS, result.value) && content === JSON.stringify(result.value)
    ? { kind: 'answered', ...matchAnswers(questions, result.value.answers) }
    : { kind: 'replaced', text: content }
}

/**
 * The text of a result's content.
 * @param content - the content.
 * @returns its text blocks; blocks of other types are named.
 */
export function contentText(content: readonly ContentBlock[]): string {
  return content.map(block => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n')
}

function askedQuestion({ id, question, header }: { id: string; question: string; header?: string }): AskedQuestion {
  return { question: header === undefined || header === '' ? question : header, id }
}

/** The nth answer for an id belongs to the nth question with that id; further ones belong to the last. */
function matchAnswers(
  questions: readonly AskedQuestion[],
  given: InferValue<typeof ANSWERS>['answers'],
): { answers: AnsweredQuestion[]; unasked: string[] } {
  const open = Map.groupBy(questions, ({ id }) => id)
  const answers: AnsweredQuestion[] = []
  const unasked: string[] = []
  for (const { id, selected, custom } of given) {
    const asked = open.get(id) ?? []
    const question = asked.length > 1 ? asked.shift() : asked[0]
    if (question === undefined) unasked.push(id)
    else answers.push({ ...question, selected, ...(custom === undefined ? {} : { custom }) })
  }
  return { answers, unasked }
}

function hasShape<S extends ValueSchemaSpec>(schema: S, value: unknown): value is InferValue<S> {
  return validateJsonSchemaValue(valueSchemaSpecToJsonSchema(schema), value).length === 0
}
