/**
 * The write-back (#6074). In Code Mode a nested tool's value reaches the model only if the program logs or returns it,
 * so a program that ends with `return "asked"` throws a human's answer away. What a nested `ask_user_question` came to is
 * therefore also attached to the enclosing call, as a context message behind its result.
 *
 * Every policy comes first. What is said is the nested call's final outcome (`tools/result`), not what the tool returned,
 * and what a policy took out of the enclosing call's own result is not brought back by the message:
 *
 * | the enclosing call | the message |
 * | --- | --- |
 * | returns, throws, is stopped or is cancelled | is attached |
 * | is blocked, or its result is replaced | is attached, unless the answer stood in its result and no longer does |
 * | ends in a `tools/execute` wrapper or a `tools/post-execute` listener that throws | is lost: the harness keeps none |
 * | never ends | goes with the call's token; the maps are weak in it |
 * @module @deepseek-ai/dsh-tool-ask-user/write-back
 */
import type { Context } from '@deepseek-ai/cordis'
import { createUserMessage, type UserMessage } from '@deepseek-ai/dsh-llm'
import type { PostToolDecision, ToolExecutionResult, ToolExecutionToken } from '@deepseek-ai/dsh-tools'
import z from '@deepseek-ai/schemastery'
import { contentText, outcomeOf, type AskOutcome } from './write-back-outcome.ts'
import { writeBackSummary, writeBackText } from './write-back-text.ts'

/** Configures the write-back. */
export interface WriteBackConfig {
  /** The most UTF-8 bytes of one written-back message (default 16,384, at least 1,024). */
  writeBackLimitBytes?: number
}

/** The settings' part of the plugin's schema. */
export const WRITE_BACK_FIELDS = {
  writeBackLimitBytes: z.number().step(1).min(1024).max(Number.MAX_SAFE_INTEGER).default(16_384),
}

/** `FiberState.ACTIVE`: the enum is not there at run time. */
const FIBER_ACTIVE = 2

/** What is kept for one enclosing call until it ends. */
interface Kept {
  readonly said: { readonly message: UserMessage; readonly answers: readonly string[] }[]
  /** The text of the result that the call's own body gave, before any policy. */
  ownText: string
}

/**
 * Write back what the nested questions of the context's calls come to.
 * @param ctx - the plugin's context; everything goes with it.
 * @param config - the configuration; what it leaves out has its default.
 * @throws an error that names the field, if a value is out of range or there is no such field.
 */
export function writeBack(ctx: Context, config: WriteBackConfig): void {
  const limitBytes = writeBackLimit(config)
  const shownAt = new WeakMap<ToolExecutionToken, number>()
  const keptFor = new WeakMap<ToolExecutionToken, Kept>()

  keepAtTheirEnds(ctx, [
    // The innermost of its chain: it gets the body's own result.
    () =>
      ctx.on('tools/execute', async (exec, next) => {
        shownAt.set(exec.token, performance.now())
        const result = await next()
        const kept = keptFor.get(exec.token)
        if (kept !== undefined) kept.ownText = contentText(result.content)
        return result
      }),
    // The outermost of its chain: it gets the decision that stands.
    () =>
      ctx.on(
        'tools/post-execute',
        async (exec, result, next) => {
          const decision = await next()
          const kept = keptFor.get(exec.token)
          return kept === undefined ? decision : attach(decision, result, kept)
        },
        { prepend: true },
      ),
  ])
  ctx.on('tools/result', (exec, result) => {
    if (exec.name !== 'ask_user_question' || exec.parent === undefined) return
    const shown = shownAt.get(exec.token)
    const outcome = outcomeOf(exec, result, shown === undefined ? shown : performance.now() - shown)
    if (outcome === undefined) return
    warnOfUnasked(ctx, outcome)
    const kept = keptFor.get(exec.parent) ?? { said: [], ownText: '' }
    keptFor.set(exec.parent, kept)
    kept.said.push({ message: writeBackMessage(exec.callId, outcome, limitBytes), answers: answerTexts(outcome) })
  })
}

/**
 * Check the limit and put its default in place.
 * @param config - the plugin's configuration; it has no other settings.
 * @returns the most UTF-8 bytes of one written-back message.
 * @throws an error that names the field, if its value is out of range or there is no such field.
 */
export function writeBackLimit(config: WriteBackConfig): number {
  const unknown = Object.keys(config).find(field => !Object.hasOwn(WRITE_BACK_FIELDS, field))
  if (unknown !== undefined) {
    throw new Error(`tool-ask-user: there is no setting "${unknown}"; there is only writeBackLimitBytes`)
  }
  const { writeBackLimitBytes } = z.object(WRITE_BACK_FIELDS)(config)
  return writeBackLimitBytes
}

/**
 * The message that is written back for one call.
 * @param callId - id of the nested call.
 * @param outcome - what is said of it.
 * @param limitBytes - the most UTF-8 bytes of its text.
 * @returns a notice of this tool.
 */
export function writeBackMessage(callId: string, outcome: AskOutcome, limitBytes: number): UserMessage {
  return createUserMessage({
    content: [{ type: 'text', text: writeBackText(callId, outcome, limitBytes) }],
    source: { kind: 'plugin', plugin: 'tool-ask-user', form: 'notice', summary: writeBackSummary(outcome) },
  })
}

/** Attach what no policy took out. A block drops what was deferred, and keeps what its decision attaches. */
function attach(decision: PostToolDecision, result: Readonly<ToolExecutionResult>, kept: Kept): PostToolDecision {
  const left = remainingText(decision, result)
  const isTakenOut = (answer: string) => holds(kept.ownText, answer) && !holds(left, answer)
  const messages = kept.said.flatMap(({ message, answers }) => (answers.some(isTakenOut) ? [] : [message]))
  return { ...decision, additionalContexts: [...(decision.additionalContexts ?? []), ...messages] }
}

function remainingText(decision: PostToolDecision, result: Readonly<ToolExecutionResult>): string {
  if (decision.kind === 'block') return contentText(decision.feedback)
  if (decision.value !== undefined) return JSON.stringify(decision.value)
  return contentText(decision.content ?? result.content)
}

/** Whether a text holds an answer, as it is or as JSON writes it. */
function holds(text: string, answer: string): boolean {
  return text.includes(answer) || text.includes(JSON.stringify(answer).slice(1, -1))
}

function answerTexts(outcome: AskOutcome): string[] {
  switch (outcome.kind) {
    case 'answered':
      return outcome.answers.flatMap(({ selected, custom = [] }) => [...selected].concat(custom))
    case 'replaced':
      return [outcome.text]
    case 'withdrawn':
      return []
  }
}

function warnOfUnasked(ctx: Context, outcome: AskOutcome): void {
  const [first, ...more] = outcome.kind === 'answered' ? outcome.unasked : []
  if (first === undefined) return
  const others = more.length === 0 ? '' : ` and ${more.length} more`
  const ids = `${JSON.stringify(first.slice(0, 100))}${others}`
  ctx.logger.warn(`tool-ask-user: not written back: no question was asked for the answer with id ${ids}`)
}

/**
 * Other plugins register listeners when they like, so these go to the ends of their chains again before each call is
 * dispatched. A registration keeps the stack that it was made from, and with it the call. A promise's reaction has none;
 * `queueMicrotask` has a frame that holds the agent.
 */
function keepAtTheirEnds(ctx: Context, registrations: readonly (() => () => void)[]): void {
  let disposers = registrations.map(register => register())
  const move = () => {
    // A call that began before the plugin went still comes here.
    const state: number = ctx.fiber.state
    if (state !== FIBER_ACTIVE) return
    for (const dispose of disposers) dispose()
    disposers = registrations.map(register => register())
  }
  ctx.on(
    'tools/pre-execute',
    (_exec, next) => {
      void Promise.resolve().then(move)
      return next()
    },
    { prepend: true },
  )
}
