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
  'Put one or more questions to the user and wait for the answers. Use it when a decision, a preference or a fact is'
  + ' missing that only the user can give and that no sensible default replaces. Inside an autonomous goal round the'
  + ' call is refused, because nobody is there to answer.'

const PARAMETERS = {
  questions: {
    type: 'array',
    required: true,
    description: 'What to ask; put questions that belong together into one call.',
    items: {
      type: 'object',
      additionalProperties: true,
      properties: {
        id: {
          type: 'string',
          required: true,
          description: 'A name for this question; its answer carries the same id.',
        },
        question: { type: 'string', required: true, description: 'The question itself, in full.' },
        header: { type: 'string', description: 'A heading of one or two words, such as "Database".' },
        options: {
          type: 'array',
          description:
            'Answers to choose from; without them the user writes one. Put the one you recommend first and end its label'
            + ' with "(Recommended)". The user may always answer in their own words instead.',
          items: {
            type: 'object',
            additionalProperties: true,
            properties: {
              label: {
                type: 'string',
                required: true,
                description: 'The choice in a few words; the answer repeats it.',
              },
              description: { type: 'string', description: 'What follows from this choice, in one sentence.' },
            },
          },
        },
        multi_select: {
          type: 'boolean',
          description: 'True if more than one option may be chosen; one only if left out.',
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
