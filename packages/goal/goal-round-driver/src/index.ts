/**
 * Same-session goal rounds: an agent's active, armed goal becomes numbered rounds in the agent's own session, one at a
 * time, fenced against everything that can come between. While a round owns the turn, the agent cannot ask the user.
 * @module @deepseek-ai/dsh-goal-round-driver
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session'
import { clearAskGuard } from './ask-guard.ts'
import { disarm, failClosed, readGoal, warn } from './authority.ts'
import { isDriving, requestDrive } from './driver.ts'
import { createFence } from './fence.ts'
import { type Config, roundSettings } from './round-settings.ts'
import { isDrivable, refOf, sameMessage } from './round.ts'
import { type DriverState, DriverStates } from './state.ts'
import { blockOverrun, watchRounds } from './stuck-rounds.ts'

export { GOAL_ROUND_ASK_DENIAL, GOAL_ROUND_DENIAL_PREFIX, isGoalRoundDenial } from './denial-text.ts'
export { renderGoalRoundPrompt } from './prompt.ts'
export { Config } from './round-settings.ts'

/** Name of the plugin. */
export const name = 'goal-round-driver'

/** Services that must be there before the plugin loads. */
export const inject = ['agents', 'goals', 'sessions']

/**
 * Drive the goals of all live agents until the context goes. Everything is one composite effect: its disposers run in
 * reverse, so the listeners outlive the asynchronous teardown that is yielded last.
 * @param ctx - the plugin's context.
 * @param config - the configuration; what it leaves out has its default.
 * @throws an error that names the field, if a value is out of range.
 */
export function apply(ctx: Context, config: Config = {}): void {
  const settings = roundSettings(config)
  const states = new DriverStates()
  const owner = {
    of: (agent: Agent) => states.of(agent),
    peek: (agent: Agent) => states.peek(agent),
    isDriving: (agent: Agent) => isDriving(ctx, states.of(agent)),
  }
  ctx.effect(function* () {
    yield* watchRounds(ctx, owner, settings)
    yield* watchLifecycle(ctx, states)
    yield* watchInbox(ctx, states)
    yield ctx.on('session/event', (session, event) => {
      markSessionEvent(ctx, states, session, event)
    })
    yield ctx.on('agent/pre-step', createFence(ctx, states))
    // Authority is never inherited: what was armed before this plugin came must be armed again.
    for (const agent of ctx.agents.list()) disarm(ctx, states.of(agent).agent)
    yield () => tearDown(ctx, states)
  }, 'goal-round-driver lifecycle')
}

function* watchLifecycle(ctx: Context, states: DriverStates): Generator<() => boolean, void, void> {
  const readOwn = ({ agent }: DriverState) => readGoal(ctx, agent)
  const disarmOwn = ({ agent }: DriverState) => {
    disarm(ctx, agent)
  }
  yield ctx.on('agent/created', ({ agent }) => void states.of(agent))
  yield ctx.on('agent/disposed', ({ agent }) => {
    states.forget(agent)
  })
  yield ctx.on('agent/session-start', ({ agent }) => {
    const state = states.of(agent)
    state.attempt = undefined
    state.competingQueued = false
    state.needsCheckpoint = false
  })
  yield ctx.on('agent/error', ({ agent }) => {
    disarm(ctx, agent)
  })
  yield ctx.on('agent/status', ({ agent, status }) => {
    if (status !== 'idle') return
    const state = states.of(agent)
    state.competingQueued = false
    blockOverrun(ctx, state, readOwn, disarmOwn)
    pauseUnfinished(ctx, state)
    requestDrive(ctx, state)
  })
  yield ctx.on('goal/changed', ({ agent }) => {
    const state = states.of(agent)
    state.needsCheckpoint = true
    requestDrive(ctx, state)
  })
}

/** A round that was cancelled, or never admitted, must not restart by itself: pause its goal. */
function pauseUnfinished(ctx: Context, state: DriverState): void {
  const { agent, attempt } = state
  const goal = readGoal(ctx, agent)
  if (attempt === undefined || (attempt.phase === 'admitted' && !attempt.cancelled) || !isDrivable(goal)) return
  state.attempt = undefined
  try {
    ctx.goals.pause(agent, refOf(goal))
  } catch (error) {
    failClosed(ctx, agent, 'could not pause cancelled goal for', error)
  }
}

function* watchInbox(ctx: Context, states: DriverStates): Generator<() => boolean, void, void> {
  yield ctx.on('agent/inbox/inserted', ({ agent, message }) => {
    if (!agent.inbox.nextTurn.some(pending => pending.id === message.id)) return
    const state = states.of(agent)
    if (state.attempt !== undefined && sameMessage(state.attempt.message, message)) return
    state.competingQueued = true
    if (state.attempt?.phase === 'queued') state.attempt.stale = true
  })
  yield ctx.on('agent/inbox/claimed', ({ agent, message }) => {
    const { attempt } = states.of(agent)
    if (attempt !== undefined && sameMessage(attempt.message, message)) attempt.phase = 'claimed'
  })
  yield ctx.on('agent/inbox/discarded', ({ agent, message }) => {
    const { attempt } = states.of(agent)
    if (attempt !== undefined && sameMessage(attempt.message, message)) attempt.cancelled = true
  })
}

/** Only marks: from inside `session/event`, touching that session throws. What follows happens at idle. */
function markSessionEvent(ctx: Context, states: DriverStates, session: Session, event: SessionEvent): void {
  const agent = ctx.agents.get(session.id)
  if (agent?.session !== session) return
  if (event.type === 'user/message') {
    const { attempt } = states.of(agent)
    if (attempt?.message.id === event.data.id) attempt.phase = 'admitted'
  } else if (event.type === 'turn/end') {
    markTurnEnd(ctx, states.of(agent), event.data.reason.kind)
  }
}

function markTurnEnd(ctx: Context, { agent, attempt }: DriverState, reason: string): void {
  const started = attempt !== undefined && attempt.phase !== 'queued'
  if (reason === 'aborted' && started) attempt.cancelled = true
  else if (reason === 'aborted' || reason === 'max-tokens') disarm(ctx, agent)
}

/** Close admission, disarm, stop rounds in progress and wait for them; then nothing of the driver is left. */
async function tearDown(ctx: Context, states: DriverStates): Promise<void> {
  await Promise.allSettled(states.all().flatMap(state => stop(ctx, state)))
  for (const state of states.all()) clearAskGuard(state)
  states.clear()
}

function stop(ctx: Context, state: DriverState): Promise<void>[] {
  const { agent, attempt } = state
  const waits = state.run === undefined ? [] : [state.run]
  state.stopping = true
  disarm(ctx, agent)
  if (attempt !== undefined) {
    attempt.stale = true
    if (agent.status === 'running') {
      try {
        agent.cancel({ kind: 'parent' })
        // A round that unloads the plugin itself, by a tool, ends only after the unload.
        if (ctx.agents.currentInitiator() !== agent) waits.push(agent.whenIdle())
      } catch (error) {
        warn(ctx, agent, 'could not cancel the round in progress for', error)
      }
    }
  }
  return waits
}
