/**
 * The model's `ask_user_question`: translates its arguments into a request to `ctx.userQuestions`, waits, and returns
 * the human's answer. An answer to a call from Code Mode is also written back (`write-back.ts`).
 * @module @deepseek-ai/dsh-tool-ask-user
 */
import type { Context } from '@deepseek-ai/cordis'
import { defineTool, type ParameterSchemaSpec } from '@deepseek-ai/dsh-tools'
import '@deepseek-ai/dsh-user-questions'
import { ANSWER_SCHEMA, ASK_TOOL_NAME, takeAnswer } from './answer.ts'
import { writeBack } from './write-back.ts'

/** Name of the plugin. */
export const name = 'tool-ask-user'

/** Services the tool is made of. */
export const inject = ['tools', 'userQuestions']

const DESCRIPTION =
  'Ask the user a concise question when you need confirmation, a choice, or missing information before proceeding. '
  + 'Send one or more questions, each with a stable id that will be echoed in the answer.'

const PARAMETERS = {
  questions: {
    type: 'array',
    required: true,
    description: 'Questions to ask the user before continuing.',
    items: {
      type: 'object',
      additionalProperties: true,
      properties: {
        id: { type: 'string', required: true, description: 'Stable id for this question; echoed in the answer.' },
        question: { type: 'string', required: true, description: 'The specific question to ask the user.' },
        header: {
          type: 'string',
          description: 'Optional short heading for the question, such as "Confirm" or "Choose Mode".',
        },
        options: {
          type: 'array',
          description:
            'Optional choices to show the user. '
            + 'If you recommend one, put it first and append "(Recommended)" to that label.',
          items: {
            type: 'object',
            additionalProperties: true,
            properties: {
              label: { type: 'string', required: true, description: 'Short user-facing option label.' },
              description: { type: 'string', description: 'One sentence explaining the tradeoff or impact.' },
            },
          },
        },
        multi_select: {
          type: 'boolean',
          description: 'Whether the user may select more than one option. Defaults to false.',
        },
      },
    },
  },
} as const satisfies ParameterSchemaSpec

/**
 * Register the tool; it goes with the plugin's context.
 * @param ctx - the plugin's context.
 */
export function apply(ctx: Context): void {
  ctx.tools.register(
    defineTool({
      name: ASK_TOOL_NAME,
      description: DESCRIPTION,
      parameters: PARAMETERS,
      output: {
        schema: ANSWER_SCHEMA,
        render: (_args, value) => [{ type: 'text', text: JSON.stringify(value) }],
      },
      async execute({ questions }, exec) {
        const given = await ctx.userQuestions.ask({
          questions: questions.map(({ id, question, header, options, multi_select: multiSelect }) => ({
            id,
            question,
            ...(header === undefined ? {} : { header }),
            ...(options === undefined ? {} : { options }),
            ...(multiSelect === undefined ? {} : { multiSelect }),
          })),
          ...(exec.agent === undefined ? {} : { agent: exec.agent }),
          signal: exec.signal,
        })
        const answer = takeAnswer(questions, given)
        writeBack(exec, answer)
        return answer
      },
    }),
  )
}
