/**
 * Models that ask in every goal round and never block the goal themselves, each played to the end of its goal: what that
 * takes, and what the human finds. The published driver's runs end only at the cap, or never, where nobody answers.
 */
import type { Context, Plugin } from '@deepseek-ai/cordis'
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread'
import { GoalService, type GoalView } from '@deepseek-ai/dsh-goal'
import * as goalRoundDriver from '@deepseek-ai/dsh-goal-round-driver'
import type { GenerateOptions } from '@deepseek-ai/dsh-llm'
import * as toolAskUser from '@deepseek-ai/dsh-tool-ask-user'
import * as toolGoal from '@deepseek-ai/dsh-tool-goal'
import { defineTool, type ToolPresentationMode } from '@deepseek-ai/dsh-tools'
import { UserQuestionService } from '@deepseek-ai/dsh-user-questions'
import { ANSWER, runCode } from '../demo/questions.ts'
import { lastText, mountRuntime, until, type Reply } from '../demo/runtime.ts'

/** Whether a human answers at once, or nobody ever does. */
export type Human = 'answers' | 'absent'

/** What a run came to. */
export interface AskingRun {
  readonly rounds: number
  readonly requests: number
  /** Characters of all requests: system prompt, tools and messages. */
  readonly characters: number
  /** Questions put to the human. */
  readonly questions: number
  /** The goal as the human finds it, or that it waits for an answer. */
  readonly end: string
}

/** A model: what it answers in the n-th step of a round, counted from 1, to a request's last message. */
export interface AskingModel {
  readonly name: string
  readonly mode: ToolPresentationMode
  readonly maxGoalRounds: number
  readonly reply: (step: number, text: string) => Reply
  /** Whether a hook refuses every `update_goal`. */
  readonly cannotBlock?: boolean
}

/** The report's cap. */
const CAP = 256

/** A turn that loops costs a request, or a call, each time: the published driver's runs are cut short. */
const LOOPS = 50
const LOOP_CAP = 4

const QUESTIONS = {
  questions: [
    {
      id: 'database',
      question: 'Which database shall the service use?',
      options: [{ label: ANSWER }, { label: 'SQLite' }],
    },
  ],
}
const AWAITING = 'Awaiting your decision.'
const ASK = `tools.ask_user_question(${JSON.stringify(QUESTIONS)})`

const ask: Reply = { name: 'ask_user_question', args: QUESTIONS }
const look: Reply = { name: 'look', args: {} }
const getGoal: Reply = { name: 'get_goal', args: {} }

function updateGoal(text: string, action: string): Reply {
  const [, id = '', revision = '1'] = /"id":"([^"]+)","revision":(\d+)/.exec(text) ?? []
  const reason = action === 'blocked' ? { blocked_reason: 'Which database?' } : {}
  return { name: 'update_goal', args: { goal_id: id, revision: Number(revision), action, ...reason } }
}

/** The same steps in every round. */
function steps(...replies: readonly (Reply | ((text: string) => Reply))[]) {
  return (step: number, text: string): Reply => {
    const reply = replies[step - 1] ?? AWAITING
    return typeof reply === 'function' ? reply(text) : reply
  }
}

const COMPLETE = `const { goal } = await tools.get_goal({})
await tools.update_goal({ goal_id: goal.id, revision: goal.revision, action: 'complete' })
return 'complete'`

/** The models, in the order of the table. The last one's questions are no calls, and nothing can deny them. */
export const ASKING_MODELS: readonly AskingModel[] = [
  {
    name: 'obeys: takes a default',
    mode: 'native',
    maxGoalRounds: CAP,
    reply: steps(ask, look, getGoal, text => updateGoal(text, 'complete'), 'Done.'),
  },
  {
    name: 'obeys: takes a default',
    mode: 'code',
    maxGoalRounds: CAP,
    // As in the report: without a denial it does not know what became of its question.
    reply: (step, text) => {
      if (step === 1) return runCode(`await ${ASK}\nreturn "asked"`, 'ask')
      return text.includes('default') ? runCode(COMPLETE, 'complete the goal') : AWAITING
    },
  },
  { name: 'ignores the denial', mode: 'native', maxGoalRounds: CAP, reply: steps(ask) },
  {
    name: 'ignores the denial',
    mode: 'code',
    maxGoalRounds: CAP,
    reply: steps(runCode(`await ${ASK}\nreturn "asked"`, 'ask')),
  },
  {
    name: 'swallows the denial',
    mode: 'code',
    maxGoalRounds: CAP,
    reply: steps(runCode(`await ${ASK}.catch(() => undefined)\nreturn "asked"`, 'ask')),
  },
  {
    name: 'may not block',
    mode: 'native',
    maxGoalRounds: CAP,
    cannotBlock: true,
    reply: steps(ask, getGoal, text => updateGoal(text, 'blocked')),
  },
  {
    name: 'asks, then looks',
    mode: 'native',
    maxGoalRounds: CAP,
    reply: steps(ask, look),
  },
  {
    name: 'asks, then looks',
    mode: 'code',
    maxGoalRounds: CAP,
    reply: steps(runCode(`await ${ASK}.catch(() => undefined)\nawait tools.look({})\nreturn "looked"`, 'ask and look')),
  },
  {
    name: 'loops on it',
    mode: 'native',
    maxGoalRounds: LOOP_CAP,
    reply: step => (step <= LOOPS ? ask : AWAITING),
  },
  {
    name: 'loops on it',
    mode: 'code',
    maxGoalRounds: LOOP_CAP,
    reply: steps(
      runCode(`for (let n = 0; n < ${LOOPS}; n++) await ${ASK}.catch(() => undefined)\nreturn "asked"`, 'ask'),
    ),
  },
  { name: 'asks in its text', mode: 'native', maxGoalRounds: CAP, reply: () => 'Which database shall it use?' },
]

const lookTool = defineTool({
  name: 'look',
  description: 'Look at the workspace.',
  parameters: {},
  output: { schema: { type: 'string' }, render: (_args, value) => [{ type: 'text', text: value }] },
  execute: () => Promise.resolve('nothing new'),
})

/** The script of a model: it counts the steps of a round from the round's message on. */
function scriptOf({ reply }: AskingModel) {
  let step = 0
  return (request: GenerateOptions): Reply => {
    const text = lastText(request)
    step = text.includes('<goal_round>') ? 1 : step + 1
    return reply(step, text)
  }
}

function charactersOf({ system, tools, messages }: GenerateOptions): number {
  return JSON.stringify([system, tools, messages]).length
}

function describeEnd(goal: GoalView | undefined): string {
  if (goal === undefined) return 'no goal'
  return goal.blockedReason === undefined ? goal.phase : `${goal.blockedReason.code}: ${goal.blockedReason.message}`
}

/** What the human has seen. */
interface Seen {
  asked: number
  /** Resolves with a question that nobody answers. */
  readonly waits: Promise<void>
}

async function mountHuman(ctx: Context, human: Human): Promise<Seen> {
  const waits: PromiseWithResolvers<void> = Promise.withResolvers()
  const seen = { asked: 0, waits: waits.promise }
  await ctx.plugin(UserQuestionService)
  ctx.userQuestions.registerProvider({
    ask({ questions, signal }) {
      seen.asked += 1
      const answer = { answers: questions.map(({ id }) => ({ id, selected: [ANSWER] })) }
      if (human === 'answers') return Promise.resolve(answer)
      waits.resolve()
      const { promise, reject } = Promise.withResolvers<typeof answer>()
      signal?.addEventListener('abort', () => {
        reject(new Error('nobody answered'))
      })
      return promise
    },
  })
  await ctx.plugin(toolAskUser)
  return seen
}

/**
 * Play a model to the end of its goal.
 * @param model - the model.
 * @param human - whether somebody answers.
 * @param driver - the driver; that of this process, if it is left out.
 * @returns what the run came to.
 */
export async function playModel(
  model: AskingModel,
  human: Human,
  driver: Plugin = goalRoundDriver,
): Promise<AskingRun> {
  const { ctx, model: adapter, createAgent } = await mountRuntime(scriptOf(model), model.mode)
  try {
    if (model.mode === 'code') await ctx.plugin(WorkerThreadCodeRuntime)
    const seen = await mountHuman(ctx, human)
    await ctx.plugin(GoalService)
    await ctx.plugin(toolGoal, {})
    ctx.tools.register(lookTool)
    if (model.cannotBlock === true) {
      ctx.on('tools/pre-execute', (exec, next) =>
        exec.name === 'update_goal' ? Promise.resolve({ kind: 'deny', reason: 'not in this profile' }) : next(),
      )
    }
    await ctx.plugin(driver)
    const agent = await createAgent()
    ctx.goals.create(agent, { objective: 'Set up the service', maxGoalRounds: model.maxGoalRounds })
    const isDecided = until(ctx, agent, () => ctx.goals.get(agent)?.phase !== 'active')
    await Promise.race([isDecided.then(() => agent.whenIdle()), seen.waits])
    const goal = ctx.goals.get(agent)
    return {
      rounds: goal?.roundsStarted ?? 0,
      requests: adapter.requests.length,
      characters: adapter.requests.reduce((sum, { request }) => sum + charactersOf(request), 0),
      questions: seen.asked,
      end: goal?.phase === 'active' ? 'waits for an answer' : describeEnd(goal),
    }
  } finally {
    await ctx.fiber.dispose()
  }
}

/** A model's runs, with a human and without one. */
export type AskingRuns = Record<Human, AskingRun>

/**
 * Play every model on the driver of this process.
 * @returns the runs, in the order of {@link ASKING_MODELS}.
 */
export async function measureAskingModels(): Promise<AskingRuns[]> {
  const runs: AskingRuns[] = []
  for (const model of ASKING_MODELS) {
    runs.push({ answers: await playModel(model, 'answers'), absent: await playModel(model, 'absent') })
  }
  return runs
}
