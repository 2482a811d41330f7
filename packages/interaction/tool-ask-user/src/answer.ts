/**
 * What the tool takes over from an answerer: a UI is another plugin, often another process, so its answer is checked
 * before it becomes the tool's value.
 * @module @deepseek-ai/dsh-tool-ask-user/answer
 */
import {
  ToolOutputError,
  validateJsonSchemaValue,
  valueSchemaSpecToJsonSchema,
  type ValueSchemaSpec,
} from '@deepseek-ai/dsh-tools'
import type { AskUserQuestionAnswer } from '@deepseek-ai/dsh-user-questions'

/** Name of the tool. */
export const ASK_TOOL_NAME = 'ask_user_question'

/** The tool's output: one item per answered question, and nothing else. */
export const ANSWER_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    answers: {
      type: 'array',
      required: true,
      items: {
        type: 'object',
        additionalProperties: false,
        properties: {
          id: { type: 'string', required: true },
          selected: { type: 'array', required: true, items: { type: 'string' } },
          custom: { type: 'string' },
        },
      },
    },
  },
} as const satisfies ValueSchemaSpec

const ANSWER_JSON_SCHEMA = valueSchemaSpecToJsonSchema(ANSWER_SCHEMA)

/**
 * Take over an answer: `id`, `selected` and `custom` of every item, whatever else the answerer sent along.
 * @param given - what the answerer returned.
 * @returns a detached answer that fits {@link ANSWER_SCHEMA}.
 * @throws {ToolOutputError} with every fault, each with its path.
 */
export function takeAnswer(given: unknown): AskUserQuestionAnswer {
  const candidate = pickAnswer(given)
  const misshapen = validateJsonSchemaValue(ANSWER_JSON_SCHEMA, candidate, 'value')
  if (misshapen.length > 0) throw new ToolOutputError(ASK_TOOL_NAME, misshapen)
  // The schema has just been checked, and it is this type's.
  return candidate as AskUserQuestionAnswer
}

/** Whatever does not look like an answer is left as it is, for the schema to say what is wrong with it. */
function pickAnswer(given: unknown): unknown {
  if (!isRecord(given) || !Array.isArray(given.answers)) return given
  return { answers: Array.from(given.answers, pickItem) }
}

function pickItem(item: unknown): unknown {
  if (!isRecord(item)) return item
  const { id, selected, custom } = item
  return {
    id,
    selected: Array.isArray(selected) ? Array.from<unknown>(selected) : selected,
    ...(custom === undefined ? {} : { custom }),
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
