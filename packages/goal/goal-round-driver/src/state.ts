/**
 * What the driver remembers of one live agent.
 * @module @deepseek-ai/dsh-goal-round-driver/state
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { RoundCounts } from './round-counts.ts'
import type { GoalRoundMessage } from './round.ts'

/** One reserved round. */
export interface Attempt {
  /** The message that was queued for it: goal id, revision, round, message id and content. */
  readonly message: GoalRoundMessage
  /** `queued` in the inbox, `claimed` by a step, `admitted` to the session log. */
  phase: 'queued' | 'claimed' | 'admitted'
  /** Its message was discarded, or its turn was aborted. */
  cancelled: boolean
  /** It may not enter a step any more. */
  stale: boolean
}

/** The driver's state of one exact live agent object. */
export interface DriverState {
  readonly agent: Agent
  /** The reserved round, until the agent is idle again. */
  attempt: Attempt | undefined
  /** A message that is not the attempt's waits for a turn of its own. */
  competingQueued: boolean
  /** A goal change or a finished round is not known to be durable yet. */
  needsCheckpoint: boolean
  /** Another pass was asked for. */
  requested: boolean
  /** The run in progress, if any; it never rejects. */
  run: Promise<void> | undefined
  /** The plugin is unloading. */
  stopping: boolean
  /** Takes the ask guard away while one is installed. */
  askGuardDispose: (() => void) | undefined
  /** What is known of the agent's rounds, from its first one on. */
  roundCounts: RoundCounts | undefined
}

/** The states of the live agents, by the agent object: a new agent under an old id is another agent. */
export class DriverStates {
  private readonly states = new Map<Agent, DriverState>()

  /**
   * Find an agent's state, or make it.
   * @param agent - a live agent.
   * @returns the agent's one state.
   */
  of(agent: Agent): DriverState {
    let state = this.states.get(agent)
    if (state === undefined) {
      state = {
        agent,
        attempt: undefined,
        competingQueued: false,
        needsCheckpoint: false,
        requested: false,
        run: undefined,
        stopping: false,
        askGuardDispose: undefined,
        roundCounts: undefined,
      }
      this.states.set(agent, state)
    }
    return state
  }

  /**
   * Find an agent's state without making one.
   * @param agent - any agent object.
   * @returns its state, if the agent is known and not disposed.
   */
  peek(agent: Agent): DriverState | undefined {
    return this.states.get(agent)
  }

  /**
   * Forget an agent.
   * @param agent - the disposed agent.
   */
  forget(agent: Agent): void {
    this.states.delete(agent)
  }

  /** Forget every agent. */
  clear(): void {
    this.states.clear()
  }

  /**
   * Every known state.
   * @returns a copy, safe against changes while it is walked.
   */
  all(): DriverState[] {
    return [...this.states.values()]
  }
}
