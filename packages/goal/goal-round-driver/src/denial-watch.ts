/**
 * Sees the denials in a goal round, by whomever, and sees to it that the model does, too: a program may catch a denial
 * and return something else, so the model is told behind the program's result.
 * @module @deepseek-ai/dsh-goal-round-driver/denial-watch
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { boundContextSummary, createUserMessage, type ContentBlock, type UserMessage } from '@deepseek-ai/dsh-llm'
import type { PostToolDecision, ToolExecution } from '@deepseek-ai/dsh-tools'
import type { RoundRecord } from './round-record.ts'

/**
 * How long the denial of a nested question is held back. The calls that a program begins together arrive one after the
 * other; those that have arrived by then are beside the question, and those that come later were begun after its denial.
 */
const HOLD_MS = 20

/**
 * Wire the listeners of tool calls.
 * @param ctx - the plugin's context.
 * @param recordOf - the record of an agent's open round.
 * @param onDenied - told of each denial, from inside the call.
 * @returns the disposers, for the composite effect to yield.
 */
export function* watchDenials(
  ctx: Context,
  recordOf: (agent: Agent) => RoundRecord | undefined,
  onDenied: (agent: Agent, record: RoundRecord) => void,
): Generator<() => boolean, void, void> {
  const open = ({ agent }: Pick<ToolExecution, 'agent'>) => (agent === undefined ? undefined : recordOf(agent))

  yield ctx.on('tools/execute', (exec, next) => {
    open(exec)?.begin(exec)
    return next()
  })
  // In front of every other listener: sees what they made of the result.
  yield ctx.on(
    'tools/post-execute',
    async (exec, result, next) => {
      const decision = await next()
      const record = open(exec)
      if (record === undefined) return decision
      if (exec.parent === undefined) return relay(record, exec, contentOf(decision) ?? result.content, decision)
      if (result.isError && record.isDenied(exec)) await hold(exec.signal)
      return decision
    },
    { prepend: true },
  )
  yield ctx.on('tools/result', (exec, result) => {
    const { agent } = exec
    const record = open(exec)
    if (agent === undefined || record === undefined || !result.isError || !record.isDenied(exec)) return undefined
    const handOver = record.deny(exec, result.error.message)
    // Behind the microtasks in which the registry begins what has arrived, and before the program can answer.
    process.nextTick(handOver)
    onDenied(agent, record)
    return undefined
  })
}

/** Ends with the program at the latest. */
async function hold(signal: AbortSignal): Promise<void> {
  await delay(HOLD_MS, undefined, { signal }).catch(() => undefined)
}

function contentOf(decision: PostToolDecision): ContentBlock[] | undefined {
  return decision.kind === 'block' ? decision.feedback : decision.content
}

/** Add the denial of a program's question, once a turn, unless the result carries it. */
function relay(
  record: RoundRecord,
  { rootCallId }: ToolExecution,
  content: readonly ContentBlock[],
  decision: PostToolDecision,
): PostToolDecision {
  const denials = record.denialsIn(rootCallId)
  const [denial] = denials
  if (denial === undefined || record.isRelayed) return decision
  const shown = JSON.stringify(content)
  // As it is, or in a result that is JSON itself.
  if (denials.map(escaped).some(text => shown.includes(text) || shown.includes(escaped(text)))) return decision
  record.isRelayed = true
  return { ...decision, additionalContexts: [...(decision.additionalContexts ?? []), denialMessage(denial)] }
}

/** The text as it stands in JSON. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function denialMessage(text: string): UserMessage {
  const summary = boundContextSummary(`A question was denied: ${text}`)
  return createUserMessage({
    content: [{ type: 'text', text }],
    source: { kind: 'plugin', plugin: 'goal-round-driver', form: 'notice', summary },
  })
}
