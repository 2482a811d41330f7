/**
 * A human at the keyboard, for a test: answers every question with the same words and writes down what was asked.
 */
import { appendFileSync } from 'node:fs'
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-user-questions'

export const name = 'e2e-human'
export const inject = ['userQuestions']

interface Config {
  /** What the human answers, as free text. */
  readonly answer: string
  /** File that gets one line a question, the question as JSON. */
  readonly record: string
}

export function apply(ctx: Context, config: Config): void {
  ctx.userQuestions.registerProvider({
    ask({ questions }) {
      for (const { question } of questions) appendFileSync(config.record, `${JSON.stringify(question)}\n`)
      return Promise.resolve({ answers: questions.map(({ id }) => ({ id, selected: [], custom: config.answer })) })
    },
  })
}
