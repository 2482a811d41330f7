/**
 * Tells the owner of a job that it has ended.
 *
 * | owner                                  | `wakeup`                    | `quiet`  |
 * | -------------------------------------- | --------------------------- | -------- |
 * | idle, wakes left in its budget         | `followup`, and one is spent | `inject` |
 * | idle, budget spent                     | `inject`                    | `inject` |
 * | anything else                          | `inject`                    | `inject` |
 *
 * The budget belongs to the agent object, and is full again once that agent claims a message of its user.
 * @module @deepseek-ai/dsh-tool-jobs/completion-notices
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { boundContextSummary, createUserMessage } from '@deepseek-ai/dsh-llm'
import type { JobSnapshot } from '@deepseek-ai/dsh-jobs'
import { noticeText } from './notice.ts'
import { statusLine } from './snapshot.ts'

/** How a completion reaches an idle owner: `wakeup` opens a turn for it, `quiet` leaves it for the next one. */
export type CompletionDelivery = 'quiet' | 'wakeup'

function notice(snapshot: JobSnapshot) {
  return createUserMessage({
    content: [{ type: 'text', text: noticeText(snapshot) }],
    source: {
      kind: 'plugin',
      plugin: 'tool-jobs',
      form: 'notice',
      summary: boundContextSummary(`${snapshot.kind} ${snapshot.label} ${statusLine(snapshot)}`),
    },
  })
}

/**
 * Deliver the completions that nobody has been told of, as effects of the context.
 * @param ctx - context of the plugin.
 * @param delivery - how an idle owner is reached.
 * @param maxConsecutiveWakes - turns that completions may open for one agent before its user speaks again. A woken
 * turn may start the job whose completion wakes it again, so there is an end to it.
 */
export function deliverCompletions(ctx: Context, delivery: CompletionDelivery, maxConsecutiveWakes: number): void {
  const wakes = new WeakMap<Agent, number>()

  ctx.on('agent/inbox/claimed', ({ agent, message }) => {
    if (message.source.kind === 'user') wakes.delete(agent)
  })

  ctx.jobs.onJobDone((snapshot, owner) => {
    if (snapshot.reported || owner === undefined) return
    const spent = wakes.get(owner) ?? 0
    if (delivery === 'wakeup' && owner.status === 'idle' && spent < maxConsecutiveWakes) {
      wakes.set(owner, spent + 1)
      owner.followup(notice(snapshot))
    } else {
      owner.inject(notice(snapshot))
    }
  })
}
