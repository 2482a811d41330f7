/**
 * The steers of each agent: messages of its user that wait for the next step of the running turn. One record serves all
 * waits of an agent, on whatever jobs. It begins when a wait sees a steer, goes on while one of those that it has seen is
 * pending, is inherited by a message that replaces one, and is dropped when no steer is pending.
 * @module @deepseek-ai/dsh-jobs-local/steer-watch
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'

/** The steers of one agent that are pending together. */
export interface Steers {
  ids: readonly string[]
  /** When the first of them was seen. */
  readonly openedAt: number
  /** When they first ended a wait; `Infinity` before that. */
  firstEnd: number
  /** How many waits they have ended that had started after that. */
  laterEnds: number
}

/** When steers end a wait. */
export interface SteerDue {
  readonly at: number
  readonly by: 'steer'
  readonly steers: Steers
}

/**
 * When steers end a wait: after a grace in which the job may end; once they have ended one, at once. They stay pending
 * until a Code Mode program ends, so one that waits again and again is slowed down from the 17th such wait on.
 * @param steers - the pending steers.
 * @param startedAt - the start of the wait.
 * @param graceMs - the wait's grace.
 * @returns the time, on the clock of the others.
 */
export function steerDue(steers: Steers, startedAt: number, graceMs: number): SteerDue {
  const { openedAt, firstEnd, laterEnds } = steers
  const delayMs = laterEnds < 16 ? 0 : Math.min(250 * 2 ** (laterEnds - 16), 10_000)
  return { at: startedAt < firstEnd ? openedAt + graceMs : startedAt + delayMs, by: 'steer', steers }
}

/**
 * Take down that steers end a wait.
 * @param steers - the steers.
 * @param startedAt - the start of the wait.
 * @param now - the end of it.
 */
export function countEnd(steers: Steers, startedAt: number, now: number): void {
  if (startedAt >= steers.firstEnd) steers.laterEnds += 1
  steers.firstEnd = Math.min(steers.firstEnd, now)
}

/** The records, and who is to be called when an inbox has changed. */
export class SteerWatch {
  /** Called after each change. */
  readonly listeners = new Set<() => void>()
  private readonly records = new WeakMap<Agent, Steers>()
  private readonly faulty = new WeakSet<Agent>()
  private readonly warn: (fault: string) => void

  /**
   * @param ctx - the registry's own context: a listener there does not end with the plugin that happens to wait.
   * @param warn - takes the report of an inbox that throws, once an agent.
   */
  constructor(ctx: Context, warn: (fault: string) => void) {
    this.warn = warn
    for (const change of ['inserted', 'claimed', 'discarded'] as const) {
      ctx.on(`agent/inbox/${change}`, ({ agent }: { readonly agent: Agent }) => {
        if (this.records.has(agent)) this.pending(agent, change === 'discarded')
        for (const listener of [...this.listeners]) listener()
      })
    }
  }

  /**
   * Look for steers.
   * @param agent - the agent that waits.
   * @param discarded - whether a message has just been discarded, perhaps for another one.
   * @returns the agent's record; `undefined` while no steer is pending.
   */
  pending(agent: Agent, discarded = false): Steers | undefined {
    const ids = this.idsOf(agent)
    const known = ids.length > 0 ? this.records.get(agent) : undefined
    if (known && (discarded || known.ids.some(id => ids.includes(id)))) {
      known.ids = ids
      return known
    }
    this.records.delete(agent)
    if (ids.length === 0) return undefined
    const steers = { ids, openedAt: performance.now(), firstEnd: Infinity, laterEnds: 0 }
    this.records.set(agent, steers)
    return steers
  }

  private idsOf(agent: Agent): string[] {
    try {
      return steersIn(agent)
    } catch (error) {
      if (!this.faulty.has(agent))
        this.warn(`the inbox of ${agent.id} threw, no steer ends its waits: ${String(error)}`)
      this.faulty.add(agent)
      return []
    }
  }
}

/** A stand-in without an inbox is an agent that nobody can steer. */
function steersIn({ inbox }: { readonly inbox?: Agent['inbox'] }): string[] {
  return (inbox?.nextStep ?? []).filter(({ source }) => source.kind === 'user').map(({ id }) => id)
}
