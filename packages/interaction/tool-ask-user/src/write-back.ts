/**
 * The write-back (#6074). In Code Mode a nested tool's value reaches the model only if the program logs or returns it,
 * so a program that ends with `return "asked"` throws a human's answer away. An answer to a nested call therefore also
 * goes out as a context message on the call's own result: the harness carries it through the enclosing run and appends
 * it behind the outer result, whatever the program makes of the value.
 * @module @deepseek-ai/dsh-tool-ask-user/write-back
 */
import { boundContextSummary, createUserMessage, type UserMessage } from '@deepseek-ai/dsh-llm'
import type { ToolRunContext } from '@deepseek-ai/dsh-tools'
import type { AskUserQuestionAnswer, AskUserQuestionAnswerItem } from '@deepseek-ai/dsh-user-questions'

/** The fields that are written back, in their order; an answerer may have sent more. */
const ANSWER_FIELDS = ['answers', 'id', 'selected', 'custom']

/**
 * Write a human's answer back, if the call is nested: the result of a direct call already is the answer. To be called
 * before `execute` returns, and only when a human answered.
 * @param exec - the call that asked.
 * @param answer - the answer; one in which every question was skipped is an answer too.
 */
export function writeBack(exec: Pick<ToolRunContext, 'parent' | 'deferContext'>, answer: AskUserQuestionAnswer): void {
  if (exec.parent !== undefined) exec.deferContext(answerMessage(answer))
}

/**
 * The message that carries an answer to the model.
 * @param answer - what the human answered.
 * @returns a notice from this tool with {@link renderAnswer}'s text and a one-line summary.
 */
export function answerMessage(answer: AskUserQuestionAnswer): UserMessage {
  return createUserMessage({
    content: [{ type: 'text', text: renderAnswer(answer) }],
    source: { kind: 'plugin', plugin: 'tool-ask-user', form: 'notice', summary: summarizeAnswer(answer) },
  })
}

/**
 * The answer as JSON inside a `<user_answer>` element. JSON leaves `<` alone, so it is escaped here: no answer can
 * close the element or open another.
 * @param answer - what the human answered.
 * @returns the text of the message.
 */
export function renderAnswer(answer: AskUserQuestionAnswer): string {
  const json = JSON.stringify(answer, ANSWER_FIELDS).replaceAll('<', '\\u003c')
  return `<user_answer>\n${json}\n</user_answer>`
}

/**
 * One line for a collapsed transcript row, within the harness's bound.
 * @param answer - what the human answered.
 * @returns the summary, without line breaks or control characters.
 */
export function summarizeAnswer({ answers }: AskUserQuestionAnswer): string {
  const line = `User answered ${answers.map(summarizeItem).join('; ')}`
  return boundContextSummary(line.replace(/[\s\p{Cc}]+/gu, ' ').trimEnd())
}

function summarizeItem({ id, selected, custom }: AskUserQuestionAnswerItem): string {
  const given = custom === undefined ? selected : [...selected, custom]
  return `${id}: ${given.length === 0 ? '(skipped)' : given.join(', ')}`
}
