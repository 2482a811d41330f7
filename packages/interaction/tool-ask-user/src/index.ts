/**
 * The model's `ask_user_question`: translates its arguments into a request to `ctx.userQuestions`, waits, and returns
 * the human's answer. What a call from Code Mode came to is also written back (`write-back.ts`).
 * @module @deepseek-ai/dsh-tool-ask-user
 */
import type { Context } from '@deepseek-ai/cordis'
import { defineTool, type ParameterSchemaSpec } from '@deepseek-ai/dsh-tools'
import '@deepseek-ai/dsh-user-questions'
import z from '@deepseek-ai/schemastery'
import { ANSWER_SCHEMA, ASK_TOOL_NAME, takeAnswer } from './answer.ts'
import { WRITE_BACK_FIELDS, writeBack, type WriteBackConfig } from './write-back.ts'

/** Name of the plugin. */
export const name = 'tool-ask-user'

/** Services the tool is made of. */
export const inject = ['tools', 'userQuestions']

/** Configures the tool. */
export type Config = WriteBackConfig

/** The schema of the configuration, with its defaults. */
export const Config: z<Config> = z.object(WRITE_BACK_FIELDS)

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
 * Register the tool and its write-back; both go with the plugin's context.
 * @param ctx - the plugin's context.
 * @param config - the configuration; what it leaves out has its default.
 * @throws an error that names the field, if a value is out of range or there is no such field.
 */
export function apply(ctx: Context, config: Config = {}): void {
  writeBack(ctx, config)
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
        return takeAnswer(given)
      },
    }),
  )
}
