/**
 * The ask guard: while a goal round owns an agent's turn, nobody waits to answer, so the agent's own questions are denied
 * with a text that says what to do instead. Everything else passes.
 *
 * The window of one agent:
 *
 * | it opens | it closes; closing twice is nothing |
 * | --- | --- |
 * | a goal round message is claimed (1) | `turn/end` of the agent's session, whatever the reason |
 * | | the step fence refuses the round, downstream rejects it, `next()` throws, or the signal is aborted (`fence.ts`) |
 * | | a human message is inserted into either inbox list, or claimed in the same turn |
 * | | the very message that opened the window is discarded |
 * | | `agent/session-start`; `agent/disposed`; `agent/status` → `idle`, if the agent is still idle |
 * | | the plugin unloads, after the waits of its teardown (`index.ts`) |
 *
 * (1) and the driver drives the agent, and no human message was claimed in that turn.
 *
 * Input that is not human never closes it: a notice in the middle of a round would let the question through.
 * @module @deepseek-ai/dsh-goal-round-driver/ask-guard
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { GoalMessageSource } from '@deepseek-ai/dsh-goal'
import type { MessageId, UserMessage } from '@deepseek-ai/dsh-llm'
import type {} from '@deepseek-ai/dsh-session'
import type { ToolExecution, ToolGuard } from '@deepseek-ai/dsh-tools'
import { GOAL_ROUND_ASK_DENIAL } from './denial-text.ts'

export { GOAL_ROUND_ASK_DENIAL } from './denial-text.ts'

/** What is denied in a round, and with which text. */
export interface AskDenial {
  /** Names of the tools that wait for a human. */
  readonly tools: ReadonlySet<string>
  /** The text of a denial. */
  textOf(call: Readonly<ToolExecution>, agent: Agent): string
}

const ASK_DENIAL: AskDenial = { tools: new Set(['ask_user_question']), textOf: () => GOAL_ROUND_ASK_DENIAL }

/** The part of an agent's state that the guard owns. */
export interface AskGuardState {
  readonly agent: Agent
  /** Takes the guard away while one is installed. */
  askGuardDispose: (() => void) | undefined
}

/** What the window needs to know of the driver. */
export interface AskWindowOwner<State extends AskGuardState = AskGuardState> {
  /** The agent's state, made if it is new. */
  of(agent: Agent): State
  /** The agent's state, if there is one. */
  peek(agent: Agent): State | undefined
  /** Whether the driver is active for the agent and not unloading. */
  isDriving(agent: Agent): boolean
}

/**
 * Make the guard of one agent: it denies that agent's own question and nothing else, and decides that from the call alone.
 * @param agent - the agent whose round is running.
 * @param denial - what is denied, and with which text; `ask_user_question`, with one text, if it is left out.
 * @returns a guard for `ctx.tools.guard()`.
 */
export function denyAskDuringRound(agent: Agent, denial: AskDenial = ASK_DENIAL): ToolGuard {
  return call => (denial.tools.has(call.name) && call.agent === agent ? denial.textOf(call, agent) : undefined)
}

/**
 * Install the guard in the agent's own scope, unless it is there. Without a tool registry there is no tool to deny. A
 * failure is logged through the agent's logger and never breaks the round.
 * @param state - the agent's state; `askGuardDispose` is set on success.
 * @param denial - as for {@link denyAskDuringRound}.
 */
export function installAskGuard(state: AskGuardState, denial?: AskDenial): void {
  if (state.askGuardDispose !== undefined) return
  const { agent } = state
  try {
    state.askGuardDispose = agent.ctx.get('tools')?.guard(denyAskDuringRound(agent, denial))
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    agent.ctx.logger.warn(`goal-round-driver: could not install the ask guard for agent "${agent.id}": ${message}`)
  }
}

/**
 * Take the guard away, if there is one.
 * @param state - the agent's state; `askGuardDispose` is cleared.
 */
export function clearAskGuard(state: AskGuardState): void {
  const dispose = state.askGuardDispose
  state.askGuardDispose = undefined
  dispose?.()
}

/** What was claimed in an agent's open turn, as far as it decides about the window. */
interface ClaimedTurn {
  /** The turn in which a human message was claimed. */
  humanTurn?: number
  /** The message that opened the window. */
  openedBy?: MessageId
}

/**
 * Wire the window's listeners. They belong first in the plugin's composite effect: the driver's own listeners start the
 * next round from inside an idle event.
 * @param ctx - the plugin's context.
 * @param owner - the driver's states.
 * @param denial - as for {@link denyAskDuringRound}.
 * @returns the disposers, for the composite effect to yield.
 */
export function* watchAskWindow(
  ctx: Context,
  owner: AskWindowOwner,
  denial?: AskDenial,
): Generator<() => boolean, void, void> {
  const claimed = new WeakMap<Agent, ClaimedTurn>()
  const close = (agent: Agent) => {
    claimed.delete(agent)
    const state = owner.peek(agent)
    if (state !== undefined) clearAskGuard(state)
  }

  yield ctx.on('agent/inbox/claimed', ({ agent, message, turn }) => {
    const known = claimed.get(agent)
    if (isHuman(message)) {
      close(agent)
      claimed.set(agent, { humanTurn: turn })
    } else if (isRound(message) && known?.humanTurn !== turn && owner.isDriving(agent)) {
      const state = owner.of(agent)
      if (state.askGuardDispose === undefined) claimed.set(agent, { openedBy: message.id })
      installAskGuard(state, denial)
    }
  })
  yield ctx.on('agent/inbox/inserted', ({ agent, message }) => {
    const state = owner.peek(agent)
    if (state !== undefined && isHuman(message)) clearAskGuard(state)
  })
  yield ctx.on('agent/inbox/discarded', ({ agent, message }) => {
    if (claimed.get(agent)?.openedBy === message.id) close(agent)
  })
  yield ctx.on('session/event', (session, event) => {
    if (event.type !== 'turn/end') return
    const agent = ctx.agents.get(session.id)
    if (agent?.session === session) close(agent)
  })
  yield ctx.on('agent/status', ({ agent, status }) => {
    if (status === 'idle' && agent.status === 'idle') close(agent)
  })
  yield ctx.on('agent/session-start', ({ agent }) => {
    close(agent)
  })
  yield ctx.on('agent/disposed', ({ agent }) => {
    close(agent)
  })
}

/**
 * Tell a human's message from every other.
 * @param message - any user message.
 * @returns whether a human wrote it.
 */
export function isHuman(message: UserMessage): boolean {
  return message.source.kind === 'user'
}

/**
 * Tell the message of a numbered round from every other.
 * @param message - any user message.
 * @returns whether it opens a round of a goal.
 */
export function isRound(message: UserMessage): message is UserMessage & { readonly source: GoalMessageSource } {
  return message.source.kind === 'goal' && message.source.round > 0
}
