/**
 * The ask guard: while a goal round owns an agent's turn, nobody waits to answer, so the agent's own
 * `ask_user_question` is denied with a text that says what to do instead. Everything else passes.
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
import type { MessageId, UserMessage } from '@deepseek-ai/dsh-llm'
import type {} from '@deepseek-ai/dsh-goal'
import type {} from '@deepseek-ai/dsh-session'
import type { ToolGuard } from '@deepseek-ai/dsh-tools'

/** What the model reads when its question is denied. */
export const GOAL_ROUND_ASK_DENIAL =
  'ask_user_question is unavailable in this autonomous goal round: nobody is waiting to answer, and asking again fails'
  + ' again unless the user writes during this round. If the goal cannot go on without a human decision, read the goal'
  + ' with get_goal, then call update_goal with action "blocked" and a blocked_reason that states the question and its'
  + ' options. If update_goal refuses because too few rounds have run, go on with work that does not depend on the'
  + ' answer and report the blocker in a later round. Otherwise choose a reasonable default, say which one you chose,'
  + ' and continue.'

/** The part of an agent's state that the guard owns. */
export interface AskGuardState {
  readonly agent: Agent
  /** Takes the guard away while one is installed. */
  askGuardDispose: (() => void) | undefined
}

/** What the window needs to know of the driver. */
export interface AskWindowOwner {
  /** The agent's state, made if it is new. */
  of(agent: Agent): AskGuardState
  /** The agent's state, if there is one. */
  peek(agent: Agent): AskGuardState | undefined
  /** Whether the driver is active for the agent and not unloading. */
  isDriving(agent: Agent): boolean
}

/**
 * Make the guard of one agent: it denies that agent's own question and nothing else.
 * @param agent - the agent whose round is running.
 * @returns a pure guard for `ctx.tools.guard()`.
 */
export function denyAskDuringRound(agent: Agent): ToolGuard {
  return execution =>
    execution.name === 'ask_user_question' && execution.agent === agent ? GOAL_ROUND_ASK_DENIAL : undefined
}

/**
 * Install the guard in the agent's own scope, unless it is there. Without a tool registry there is no tool to deny. A
 * failure is logged through the agent's logger and never breaks the round.
 * @param state - the agent's state; `askGuardDispose` is set on success.
 */
export function installAskGuard(state: AskGuardState): void {
  if (state.askGuardDispose !== undefined) return
  const { agent } = state
  try {
    state.askGuardDispose = agent.ctx.get('tools')?.guard(denyAskDuringRound(agent))
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
 * @returns the disposers, for the composite effect to yield.
 */
export function* watchAskWindow(ctx: Context, owner: AskWindowOwner): Generator<() => boolean, void, void> {
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
      installAskGuard(state)
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

function isHuman(message: UserMessage): boolean {
  return message.source.kind === 'user'
}

function isRound(message: UserMessage): boolean {
  return message.source.kind === 'goal' && message.source.round > 0
}
