/** The other half of #6074: in an ordinary turn a human answers, and the program throws the answer away. */
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { ANSWER, ASK_AND_FORGET, layerRows, mountQuestions, threeLayers, type ThreeLayers } from './questions.ts'
import { lastText, mountRuntime } from './runtime.ts'
import type { Section } from './section.ts'

/** What became of the answer. */
export interface ThrownAwayAnswer {
  readonly firstQuestion: ThreeLayers
  readonly answerReachedTheModel: boolean
}

/**
 * One turn: the model asks in a program, the human answers, the program returns something else.
 * @returns the three layers of the question.
 */
export async function runThrownAwayAnswer(): Promise<ThrownAwayAnswer> {
  const { ctx, model, createAgent } = await mountRuntime(
    request => (lastText(request) === 'Set up the service' ? ASK_AND_FORGET : 'Thank you.'),
    'code',
  )
  await mountQuestions(ctx)
  const agent = await createAgent()
  const content = [{ type: 'text' as const, text: 'Set up the service' }]
  agent.followup(createUserMessage({ content, source: { kind: 'user' } }))
  await agent.whenIdle()
  const firstQuestion = threeLayers(agent, model)
  await ctx.fiber.dispose()
  return { firstQuestion, answerReachedTheModel: firstQuestion.nextRequest.includes(ANSWER) }
}

/**
 * Lay the stock run beside ours.
 * @param stock - the run on the published packages.
 * @param fork - the run on the packages of this repository.
 * @returns the section to print.
 */
export function presentThrownAwayAnswer(stock: ThrownAwayAnswer, fork: ThrownAwayAnswer): Section {
  const reached = (run: ThrownAwayAnswer) => (run.answerReachedTheModel ? 'yes' : 'no')
  return {
    title: '#6074  An answer that a program throws away',
    setting: 'The user answers a question that a program (Code Mode) asks, and the program ends with `return "asked"`.',
    rows: [
      ...layerRows(stock.firstQuestion, fork.firstQuestion),
      ['the model has the answer', reached(stock), reached(fork)],
    ],
    checks: [{ what: 'the answer reaches the model', holds: fork.answerReachedTheModel }],
  }
}
