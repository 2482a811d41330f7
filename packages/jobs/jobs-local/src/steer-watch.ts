/**
 * The steers of an agent's user that wait for its next step, as one wait of that agent sees them.
 * @module @deepseek-ai/dsh-jobs-local/steer-watch
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
function steersIn({ inbox }: { readonly inbox?: Agent['inbox'] }): string[] {
  return (inbox?.nextStep ?? []).filter(({ source }) => source.kind === 'user').map(({ id }) => id)
}

/**
 * One wait's view. The window of a steer opens when the wait first sees it; a steer that is replaced leaves its window
 * to its successor, or somebody who edits a message again and again would never be heard.
 */
export class SteerWatch {
  /** The agent that waits. */
  readonly agent: Agent
  private readonly graceMs: number
  private readonly wakes: SteerWakes
  private readonly warn: (fault: string) => void
  private readonly windowEnds = new Map<string, number>()
  private deaf = false

  /**
   * @param agent - the agent that waits.
   * @param graceMs - the wait's window.
   * @param wakes - the counts that all waits share.
   * @param warn - takes the report of an inbox that throws; no steer is seen after that.
   */
  constructor(agent: Agent, graceMs: number, wakes: SteerWakes, warn: (fault: string) => void) {
    this.agent = agent
    this.graceMs = graceMs
    this.wakes = wakes
    this.warn = warn
  }

  /**
   * When a steer ends the wait. To be asked after every change of the inbox.
   * @param now - the present; windows of steers not seen before open now.
   * @returns the first end of a window since steers were last pending without a break, or `Infinity` while none is.
   */
  due(now: number): number {
    const pending = this.pending()
    if (pending.length === 0) this.windowEnds.clear()
    for (const id of pending) {
      if (!this.windowEnds.has(id)) this.windowEnds.set(id, now + steerWindow(this.graceMs, this.wakesOf(id)))
    }
    return Math.min(...this.windowEnds.values())
  }

  /** Count the wake for every pending steer, and forget those that are no longer pending. */
  woke(): void {
    this.wakes.set(this.agent, new Map(this.pending().map(id => [id, this.wakesOf(id) + 1])))
  }

  private pending(): string[] {
    if (this.deaf) return []
    try {
      return steersIn(this.agent)
    } catch (error) {
      this.deaf = true
      this.warn(`is waited for by an agent whose inbox throws, and whose user cannot end the wait: ${String(error)}`)
      return []
    }
  }

  private wakesOf(id: string): number {
    return this.wakes.get(this.agent)?.get(id) ?? 0
  }
}
