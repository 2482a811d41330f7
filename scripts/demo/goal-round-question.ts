/**
 * Report #6074: in an autonomous goal round the model asks a question, in Code Mode. The model is as stubborn as in the
 * report: each round it asks again and ends its turn "awaiting your decisions", until a tool result tells it better.
 */
import { GoalService } from '@deepseek-ai/dsh-goal'
import * as goalRoundDriver from '@deepseek-ai/dsh-goal-round-driver'
import * as toolGoal from '@deepseek-ai/dsh-tool-goal'
import {
  ANSWER,
  ASK_AND_FORGET,
  layerRows,
  mountQuestions,
  runCode,
  threeLayers,
  type ThreeLayers,
} from './questions.ts'
import { lastText, mountRuntime, until, type Reply } from './runtime.ts'
import type { Section } from './section.ts'

/** What one run of the incident came to. */
export interface GoalRoundQuestion {
  readonly rounds: number
  readonly questionsPutToAHuman: number
  readonly modelRequests: number
  readonly goal: { readonly phase: string; readonly code: string; readonly message: string }
  readonly firstQuestion: ThreeLayers
  /** Whether the next model request tells the model what became of its question. */
  readonly outcomeReachedTheModel: boolean
}

/** The report's cap. */
const MAX_GOAL_ROUNDS = 256

const BLOCK = `const { goal } = await tools.get_goal({})
try {
  await tools.update_goal({
    goal_id: goal.id,
    revision: goal.revision,
    action: 'blocked',
    blocked_reason: 'A human must decide: which database? PostgreSQL or SQLite.',
  })
  return 'goal blocked'
} catch (error) {
  return error.message
}`

function stubbornModel(text: string): Reply {
  if (text.includes('<goal_round>')) return ASK_AND_FORGET
  if (text.includes('update_goal')) return runCode(BLOCK, 'block the goal')
  return 'Awaiting your decisions.'
}

/**
 * Run the incident to its end.
 * @returns the figures and the three layers of the first question.
 */
export async function runGoalRoundQuestion(): Promise<GoalRoundQuestion> {
  const { ctx, model, createAgent } = await mountRuntime(request => stubbornModel(lastText(request)), 'code')
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
  const firstQuestion = threeLayers(agent, model)
  await ctx.fiber.dispose()
  return {
    rounds: ended?.roundsStarted ?? 0,
    questionsPutToAHuman: asked(),
    modelRequests: model.requests.length,
    goal: {
      phase: ended?.phase ?? 'none',
      code: ended?.blockedReason?.code ?? '',
      message: ended?.blockedReason?.message ?? '',
    },
    firstQuestion,
    outcomeReachedTheModel: [ANSWER, 'nobody is waiting'].some(text => firstQuestion.nextRequest.includes(text)),
  }
}

/**
 * Lay the stock run beside ours.
 * @param stock - the run on the published packages.
 * @param fork - the run on the packages of this repository.
 * @returns the section to print.
 */
export function presentGoalRoundQuestion(stock: GoalRoundQuestion, fork: GoalRoundQuestion): Section {
  const end = ({ goal }: GoalRoundQuestion) => `${goal.phase} (${goal.code}): ${goal.message}`
  const reached = (run: GoalRoundQuestion) => (run.outcomeReachedTheModel ? 'yes' : 'no')
  return {
    title: '#6074  A question in an autonomous goal round',
    setting:
      'The model works on a goal by itself, round by round, and asks the user in a program (Code Mode).'
      + ` At most ${MAX_GOAL_ROUNDS} rounds; a human answers every question at once.`,
    rows: [
      ['goal rounds used', stock.rounds, fork.rounds],
      ['questions to the human', stock.questionsPutToAHuman, fork.questionsPutToAHuman],
      ['model requests', stock.modelRequests, fork.modelRequests],
      ['end of the goal', end(stock), end(fork)],
      ...layerRows(stock.firstQuestion, fork.firstQuestion),
      ['the model learns of it', reached(stock), reached(fork)],
    ],
    checks: [
      { what: 'no question is put to a human in a goal round', holds: fork.questionsPutToAHuman === 0 },
      { what: 'the refusal reaches the model', holds: fork.outcomeReachedTheModel },
      {
        what: 'the model blocks the goal in the first round that the goal tools allow (3)',
        holds: fork.goal.code === 'model-reported' && fork.rounds === 3,
      },
    ],
  }
}
