/**
 * Ends a goal whose rounds come to nothing but questions that nobody can answer, whatever the model does about their
 * denials. Each round is recorded from the claim of its message to the end of its turn (`round-record.ts`), and counted
 * (`round-counts.ts`). At a limit the driver's next pass blocks the goal ({@link blockUnanswered}). At the limit of
 * denials in one turn that turn is ended, and the idle that follows blocks the goal ({@link blockOverrun}).
 *
 * | the record | when |
 * | --- | --- |
 * | begins | a goal round message is claimed; a second one in the same turn changes nothing |
 * | is void | a human message is inserted meanwhile, or was claimed in the same turn; the goal changes |
 * | is counted, once | `turn/end` of the agent's session |
 * | is dropped, and the counts with it | `agent/session-start`; the agent is disposed; the plugin unloads |
 * @module @deepseek-ai/dsh-goal-round-driver/stuck-rounds
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { GoalRef, GoalView } from '@deepseek-ai/dsh-goal'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import type {} from '@deepseek-ai/dsh-system-prompt'
import { type AskGuardState, type AskWindowOwner, isHuman, isRound, watchAskWindow } from './ask-guard.ts'
import { denialText, GOAL_ROUNDS_SECTION, type GoalOfRound } from './denial-text.ts'
import { watchDenials } from './denial-watch.ts'
import { overrunReason, RoundCounts } from './round-counts.ts'
import type { RoundRecord } from './round-record.ts'
import type { RoundSettings } from './round-settings.ts'

/** The part of an agent's state that belongs to the guard, the record and the counts. */
export interface RoundsState extends AskGuardState {
  /** What is known of the agent's rounds, from its first one on. */
  roundCounts: RoundCounts | undefined
}

/**
 * Block a goal that cannot go on without an answer: called before a round is reserved. The counts start anew.
 * @param ctx - the plugin's context.
 * @param state - the agent's state.
 * @param goal - the agent's goal, active and armed.
 * @returns whether the goal was blocked.
 * @throws whatever the goal service throws.
 */
export function blockUnanswered(ctx: Context, state: RoundsState, goal: GoalView): boolean {
  const { agent, roundCounts } = state
  const reason = roundCounts?.takeUnanswered(goal)
  if (reason !== undefined) ctx.goals.block(agent, { id: goal.id, revision: goal.revision }, reason)
  return reason !== undefined
}

/**
 * Block a goal whose round was ended because it asked too often: called when the agent is idle, before the goal of a
 * cancelled round is paused. The goal is disarmed where that fails.
 * @param ctx - the plugin's context.
 * @param state - the agent's state; the round is taken from it.
 * @param readGoal - reads the agent's goal; called only if there is such a round.
 * @param disarm - disarms the agent's goal.
 */
export function blockOverrun<State extends RoundsState>(
  ctx: Context,
  state: State,
  readGoal: (state: State) => GoalView | undefined,
  disarm: (state: State) => void,
): void {
  const { agent } = state
  const overrun = state.roundCounts?.takeOverrun()
  if (overrun === undefined) return
  const goal = readGoal(state)
  if (goal?.id !== overrun.goalId || goal.phase !== 'active' || goal.activation !== 'armed') return
  try {
    ctx.goals.block(agent, { id: goal.id, revision: goal.revision }, overrunReason(goal, overrun))
  } catch (error: unknown) {
    const message = error instanceof Error ? error.message : String(error)
    const what = 'could not block goal with an unanswered question'
    ctx.logger.warn(`goal-round-driver: ${what} for agent "${agent.id}": ${message}`)
    disarm(state)
  }
}

/**
 * Wire all that concerns questions in goal rounds: the guard, the record, the counts, and the section of the system
 * prompt. It belongs first in the plugin's composite effect, as the guard's window does.
 * @param ctx - the plugin's context.
 * @param owner - the driver's states.
 * @param settings - the plugin's settings; nothing is wired where questions are allowed.
 * @returns the disposers, for the composite effect to yield.
 */
export function* watchRounds(
  ctx: Context,
  owner: AskWindowOwner<RoundsState>,
  settings: RoundSettings | undefined,
): Generator<() => unknown, void, void> {
  if (settings === undefined) return
  const recordOf = (agent: Agent) => owner.peek(agent)?.roundCounts?.record
  yield* watchAskWindow(ctx, owner, {
    tools: settings.deniedTools,
    textOf(call, agent) {
      const record = recordOf(agent)
      if (record === undefined) return denialText(call.name, false, 'active')
      return record.denialText(call, goalOfRound(ctx, agent, record.goalId))
    },
  })
  yield* watchTurns(ctx, owner, settings)
  yield* watchDenials(ctx, recordOf, (agent, record) => {
    if (settings.maxDenialsPerTurn === 0 || record.denials < settings.maxDenialsPerTurn) return
    // Not from within the call.
    queueMicrotask(() => {
      endTurn(agent, owner.peek(agent)?.roundCounts, record)
    })
  })
  yield ctx.inject(['systemPrompt'], function goalRoundsSection(inner) {
    inner.systemPrompt.section(GOAL_ROUNDS_SECTION)
  }).dispose
}

function goalOfRound(ctx: Context, agent: Agent, goalId: GoalRef['id']): GoalOfRound {
  try {
    const goal = ctx.goals.get(agent)
    return goal?.id === goalId && goal.phase === 'active' ? 'active' : 'decided'
  } catch {
    return 'unreadable'
  }
}

function* watchTurns(
  ctx: Context,
  owner: AskWindowOwner<RoundsState>,
  settings: RoundSettings,
): Generator<() => boolean, void, void> {
  const humanTurns = new WeakMap<Agent, number>()
  const configured = new Set([...settings.deniedTools].filter(tool => tool !== 'ask_user_question'))
  const countsOf = (agent: Agent) => owner.peek(agent)?.roundCounts

  yield ctx.on('agent/inbox/claimed', ({ agent, message, turn }) => {
    if (isHuman(message)) humanTurns.set(agent, turn)
    if (!isRound(message)) return
    warnOfUnknown(agent, configured)
    const state = owner.of(agent)
    state.roundCounts ??= new RoundCounts(settings)
    state.roundCounts.claim(message.source.goalId, message.id, turn)
    if (humanTurns.get(agent) === turn) state.roundCounts.interfere(true)
  })
  yield ctx.on('agent/inbox/inserted', ({ agent, message }) => {
    if (isHuman(message)) countsOf(agent)?.interfere(true)
  })
  yield ctx.on('goal/changed', ({ agent }) => {
    countsOf(agent)?.interfere()
  })
  yield ctx.on('session/event', (session, event) => {
    const agent = ctx.agents.get(session.id)
    if (agent?.session === session) recordEvent(countsOf(agent), event)
  })
  yield ctx.on('agent/session-start', ({ agent }) => {
    const state = owner.peek(agent)
    if (state !== undefined) state.roundCounts = undefined
  })
}

/** A name that no tool has denies nothing. Tools may load after the plugin, so that this is known only in a round. */
function warnOfUnknown(agent: Agent, names: Set<string>): void {
  const tools = agent.ctx.get('tools')
  for (const name of names) {
    if (tools === undefined || tools.get(name, agent) !== undefined) continue
    names.delete(name)
    agent.ctx.logger.warn(`goal-round-driver: deniedTools names ${name}, and agent "${agent.id}" has no such tool`)
  }
}

/** Only marks: from inside `session/event`, touching that session throws. */
function recordEvent(counts: RoundCounts | undefined, { type, data }: SessionEvent): void {
  const open = counts?.record
  if (counts === undefined || open === undefined) return
  switch (type) {
    case 'step/start':
      open.step = data.step
      break
    case 'user/message':
      open.isAdmitted ||= data.id === open.messageId
      break
    case 'tool/call':
      open.call(data.name, data.callId)
      break
    case 'tool/code-dispatch-start':
      open.call(data.name, data.subCallId, data.rootCallId)
      break
    case 'turn/end':
      counts.endTurn(data.reason.kind)
      break
    default:
  }
}

/** End the turn of a round that asks too often, unless a human came, or it is over. */
function endTurn(agent: Agent, counts: RoundCounts | undefined, overrun: RoundRecord): void {
  if (counts?.record !== overrun || overrun.hasHuman) return
  counts.overrun = overrun
  agent.cancel({ kind: 'hook', reason: `a goal round asked ${overrun.denials} times` }, { keepInbox: true })
}
