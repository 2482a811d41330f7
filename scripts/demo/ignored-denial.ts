/** Report #6074 with a model that does not obey: it asks in every round, whatever it is told, and never blocks the goal. */
import { GoalService } from '@deepseek-ai/dsh-goal'
import * as goalRoundDriver from '@deepseek-ai/dsh-goal-round-driver'
import * as toolGoal from '@deepseek-ai/dsh-tool-goal'
import { ASK_AND_FORGET, mountQuestions } from './questions.ts'
import { lastText, mountRuntime, textOf, until } from './runtime.ts'
import type { Section } from './section.ts'

/** What one run came to. */
export interface IgnoredDenial {
  readonly rounds: number
  readonly questionsPutToAHuman: number
  readonly modelRequests: number
  /** Of all requests together, as the model was sent them. */
  readonly charactersSent: number
  readonly goal: { readonly code: string; readonly message: string }
}

const MAX_GOAL_ROUNDS = 256

/**
 * Run the goal to its end.
 * @returns the figures.
 */
export async function runIgnoredDenial(): Promise<IgnoredDenial> {
  const { ctx, model, createAgent } = await mountRuntime(
    request => (lastText(request).includes('<goal_round>') ? ASK_AND_FORGET : 'Awaiting your decisions.'),
    'code',
  )
  const asked = await mountQuestions(ctx)
  await ctx.plugin(GoalService)
  await ctx.plugin(toolGoal, {})
  await ctx.plugin(goalRoundDriver)
  const agent = await createAgent()
  const goal = () => ctx.goals.get(agent)
  ctx.goals.create(agent, { objective: 'Set up the service', maxGoalRounds: MAX_GOAL_ROUNDS })
  await until(ctx, agent, () => goal()?.phase === 'blocked')
  await agent.whenIdle()
  const ended = goal()
  await ctx.fiber.dispose()
  const texts = model.requests.flatMap(({ request }) => request.messages.map(message => textOf(message.content)))
  return {
    rounds: ended?.roundsStarted ?? 0,
    questionsPutToAHuman: asked(),
    modelRequests: model.requests.length,
    charactersSent: texts.reduce((sum, text) => sum + text.length, 0),
    goal: { code: ended?.blockedReason?.code ?? '', message: ended?.blockedReason?.message ?? '' },
  }
}

/**
 * Lay the stock run beside ours.
 * @param stock - the run on the published packages.
 * @param fork - the run on the packages of this repository.
 * @returns the section to print.
 */
export function presentIgnoredDenial(stock: IgnoredDenial, fork: IgnoredDenial): Section {
  const end = ({ goal }: IgnoredDenial) => `blocked (${goal.code}): ${goal.message}`
  return {
    title: '#6074  A model that ignores the refusal',
    setting:
      'The same, but the model asks in every round whatever it is told, and never blocks the goal itself.'
      + ' A human answers at once where one is asked.',
    rows: [
      ['goal rounds used', stock.rounds, fork.rounds],
      ['questions to the human', stock.questionsPutToAHuman, fork.questionsPutToAHuman],
      ['model requests', stock.modelRequests, fork.modelRequests],
      ['characters sent', stock.charactersSent, fork.charactersSent],
      ['end of the goal', end(stock), end(fork)],
    ],
    checks: [
      {
        what: 'the driver blocks the goal after three rounds, with the question',
        holds: fork.rounds === 3 && fork.goal.code === 'question-unanswered' && fork.goal.message.includes('database'),
      },
      {
        what: 'the model is sent less text than by the published driver',
        holds: fork.charactersSent < stock.charactersSent,
      },
    ],
  }
}
