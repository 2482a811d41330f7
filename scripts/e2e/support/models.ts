/** What the scripted models of the scenarios say: plain functions of the request that reached them. */
import type { ModelReply, ModelRequest, ModelScript, ToolCall } from '@deepseek-ai/dsh-test-model-server'

/** The question of the #6074 scenarios, and what the human answers. The answer is in no option and in no program. */
export const QUESTION = 'Which database?'
export const ANSWER = 'the one on port 5433'

const questions = [{ id: 'db', question: QUESTION, options: [{ label: 'Postgres' }, { label: 'SQLite' }] }]
const blockedReason = 'Which database: Postgres or SQLite?'

/** Calls one tool, and nothing else. */
export function call(name: string, args: ToolCall['arguments'] = {}): ModelReply {
  return { calls: [{ name, arguments: args }] }
}

/** Runs one Code Mode program. */
export function program(code: string): ModelReply {
  return call('run_code', { code, description: 'one step of the scenario' })
}

/** The program of the report: it asks, and throws the answer away. */
export const ASK_AND_FORGET = `await tools.ask_user_question({ questions: ${JSON.stringify(questions)} }); return 'asked'`

const BLOCK = `
const { goal } = await tools.get_goal({})
await tools.update_goal({
  goal_id: goal.id,
  revision: goal.revision,
  action: 'blocked',
  blocked_reason: ${JSON.stringify(blockedReason)},
})`

const COMPLETE = `
const { goal } = await tools.get_goal({})
await tools.update_goal({ goal_id: goal.id, revision: goal.revision, action: 'complete' })`

/** What a model can tell from the messages since the current goal round began. */
interface Round {
  /** The latest tool result, if any. */
  readonly result: string | undefined
  /** Whether the human's answer is before its eyes. */
  readonly answered: boolean
  /** Whether the harness asks for a closing message, after the goal was completed or blocked. */
  readonly closing: boolean
}

function currentRound({ messages }: ModelRequest): Round {
  const start = messages.findLastIndex(({ role, content }) => role === 'user' && content.includes('<goal_round>'))
  const results = messages.slice(start + 1).filter(({ role }) => role === 'tool')
  return {
    result: results.at(-1)?.content,
    answered: messages.some(({ role, content }) => role !== 'assistant' && content.includes(ANSWER)),
    closing: /^<goal_(complete|blocked)>/.test(messages.at(-1)?.content ?? ''),
  }
}

/** A result that sends the model to `update_goal`, other than that tool's own refusal to block so early. */
function tellsToBlock(result: string): boolean {
  return result.includes('update_goal') && !result.includes('blocked requires at least')
}

/**
 * The model of #6074, in Code Mode: it asks in a goal round and throws the answer away, blocks the goal when a result
 * tells it to, completes it when it has the answer, and otherwise ends the round waiting for the human.
 */
export const askingInCode: ModelScript = request => {
  const { result, answered, closing } = currentRound(request)
  if (closing) return { text: 'The end.' }
  if (answered) return program(COMPLETE)
  if (result === undefined) return program(ASK_AND_FORGET)
  return tellsToBlock(result) ? program(BLOCK) : { text: 'Awaiting your decisions.' }
}

/** The same model with native tools, where the result of a question is always before its eyes. */
export const askingNatively: ModelScript = request => {
  const { result, answered, closing } = currentRound(request)
  if (closing) return { text: 'The end.' }
  if (result === undefined) return call('ask_user_question', { questions })
  const goal = goalIn(result)
  if (goal !== undefined)
    return call('update_goal', {
      goal_id: goal.id,
      revision: goal.revision,
      ...(answered ? { action: 'complete' } : { action: 'blocked', blocked_reason: blockedReason }),
    })
  return answered || tellsToBlock(result) ? call('get_goal') : { text: 'Awaiting your decisions.' }
}

/** The goal that a `get_goal` result shows. */
function goalIn(result: string): { id: string; revision: number } | undefined {
  return result.startsWith('{"goal":')
    ? (JSON.parse(result) as { goal: { id: string; revision: number } }).goal
    : undefined
}

/** An ordinary turn in Code Mode: one program that asks and forgets, then a closing word. */
export const askingOnce: ModelScript = (_request, index) => (index === 0 ? program(ASK_AND_FORGET) : { text: 'Done.' })

/** Starts a background job, waits for it, and kills it: the next step comes when the wait has ended. */
export function waitingFor(command: string, timeoutMs: number): ModelScript {
  const steps = [
    call('bash', { command, description: 'the job', run_in_background: true }),
    call('job_output', { job_id: 'bash-1', wait: true, timeout_ms: timeoutMs }),
    call('job_kill', { job_id: 'bash-1' }),
  ]
  return (_request, index) => steps[index] ?? { text: 'Done.' }
}
