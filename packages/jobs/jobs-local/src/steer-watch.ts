/**
 * The steers of an agent's user that wait for its next step, as one wait of that agent sees them.
 * @module @deepseek-ai/dsh-jobs-local
 */
import type { Agent } from '@deepseek-ai/dsh-agent'

/** How many waits each pending steer of an agent has ended, by message id. */
export type SteerWakes = WeakMap<Agent, ReadonlyMap<string, number>>

const LONGEST_WINDOW_MS = 10_000

/**
 * How long a pending steer leaves the job to finish. The window doubles with each wait that the same steer has ended:
 * it stays pending until a Code Mode program ends, and a program that ignores the wake and waits again would spin.
 * @param graceMs - the first window.
 * @param wakes - how many waits the steer has ended.
 * @returns the window in milliseconds.
 */
export function steerWindow(graceMs: number, wakes: number): number {
  if (wakes === 0) return graceMs
  return Math.max(graceMs, Math.min(Math.max(graceMs, 1) * 2 ** wakes, LONGEST_WINDOW_MS))
}

/** A stand-in without an inbox is an agent that nobody can steer. */
function pendingSteers({ inbox }: { readonly inbox?: Agent['inbox'] }): string[] {
  return (inbox?.nextStep ?? []).filter(({ source }) => source.kind === 'user').map(({ id }) => id)
}

/** One wait's view: the window of a steer opens when the wait first sees it. */
export class SteerWatch {
  /** The agent that waits. */
  readonly agent: Agent
  private readonly graceMs: number
  private readonly wakes: SteerWakes
  private readonly windowEnds = new Map<string, number>()

  /**
   * @param agent - the agent that waits.
   * @param graceMs - the wait's window.
   * @param wakes - the counts that all waits share.
   */
  constructor(agent: Agent, graceMs: number, wakes: SteerWakes) {
    this.agent = agent
    this.graceMs = graceMs
    this.wakes = wakes
  }

  /**
   * When a steer ends the wait.
   * @param now - the present; windows of steers not seen before open now.
   * @returns the first end of a window whose steer is still pending, or `Infinity`.
   */
  due(now: number): number {
    const ends = pendingSteers(this.agent).map(id => {
      const end = this.windowEnds.get(id) ?? now + steerWindow(this.graceMs, this.wakesOf(id))
      this.windowEnds.set(id, end)
      return end
    })
    return Math.min(...ends)
  }

  /**
   * A message came in. It may have been withdrawn before: its window opens anew.
   * @param id - the message.
   */
  inserted(id: string): void {
    this.windowEnds.delete(id)
  }

  /** Count the wake for every pending steer, and forget those that are no longer pending. */
  woke(): void {
    this.wakes.set(this.agent, new Map(pendingSteers(this.agent).map(id => [id, this.wakesOf(id) + 1])))
  }

  private wakesOf(id: string): number {
    return this.wakes.get(this.agent)?.get(id) ?? 0
  }
}
