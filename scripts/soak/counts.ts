/** What happened in a run, counted by name. */
import type { Context } from '@deepseek-ai/cordis'
import { GOAL_ROUND_DENIAL_PREFIX } from '@deepseek-ai/dsh-goal-round-driver'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { textOf } from '../demo/runtime.ts'

/** How often each thing happened. */
export type Counts = Map<string, number>

/** Count one more. */
export function count(counts: Counts, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1)
}

const TEXTS: [text: string, what: string][] = [
  [GOAL_ROUND_DENIAL_PREFIX, 'results: question denied in a round'],
  ['STEER_PREEMPTED', 'results: wait woken by a steer'],
  ['JOB_OUTPUT_RESUMED', 'results: wait woken by output'],
]

/**
 * Count what the agents' logs say.
 * @param ctx - the runtime's context.
 * @param counts - takes it.
 * @returns the disposer.
 */
export function countEvents(ctx: Context, counts: Counts): () => boolean {
  return ctx.on('session/event', (_session, event) => {
    for (const what of namesOf(event)) count(counts, what)
  })
}

function namesOf(event: SessionEvent): string[] {
  switch (event.type) {
    case 'turn/start':
      return ['turns']
    case 'tool/result': {
      const result = textOf(event.data.message.content)
      return ['results', ...TEXTS.flatMap(([text, what]) => (result.includes(text) ? [what] : []))]
    }
    case 'goal/change':
      return event.data.operation === 'block' && event.data.goal.blockedReason?.code === 'question-unanswered'
        ? ['goals ended at a question']
        : []
    case 'user/message': {
      const { source } = event.data
      if (source.kind === 'goal') return source.round > 0 ? ['goal rounds'] : []
      return source.kind === 'plugin' && source.plugin === 'tool-ask-user' ? ['answers written back'] : []
    }
    default:
      return []
  }
}
