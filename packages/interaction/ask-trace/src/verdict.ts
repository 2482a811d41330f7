/**
 * What became of a question, decided from its layers alone.
 *
 * | inner | context | and | verdict |
 * | --- | --- | --- | --- |
 * | pending | any | | `stalled` |
 * | answered | carries | outer carries, or another text did | `delivered` |
 * | answered or failed | carries | only the write-back did | `delivered-by-write-back` |
 * | answered | no request yet | outer carries, a write-back waits, or the program still runs | `awaiting-request` |
 * | answered | no request yet | otherwise | `lost-in-program` |
 * | answered | lacks | outer carries: history was rewritten before the request | `lost-in-context` |
 * | answered | lacks | otherwise | `lost-in-program` |
 * | denied, failed | any | | `denied`, `failed` |
 *
 * A call that was aborted after its answer had come fails, and is written back all the same: its answer was delivered.
 * @module @deepseek-ai/dsh-ask-trace/verdict
 */
import type { ContextLayer, InnerLayer, OuterLayer, Verdict } from './types.ts'

/** What the verdict depends on. */
export interface Layers {
  readonly inner: InnerLayer['kind']
  readonly outer: OuterLayer
  readonly context: ContextLayer
  /** The write-back: none, in the inbox, or entered as a message. */
  readonly writeBack: 'none' | 'queued' | 'entered'
  /** Whether the root call can still return. */
  readonly running: boolean
}

/** Verdicts that say: a human answered, and the model does not know it. */
export const LOST: ReadonlySet<Verdict> = new Set(['lost-in-program', 'lost-in-context'])

/**
 * @param layers - one question's layers.
 * @returns its verdict, by the table above.
 */
export function verdictOf({ inner, outer, context, writeBack, running }: Layers): Verdict {
  if (inner === 'pending') return 'stalled'
  if (inner === 'denied') return 'denied'
  const byWriteBack = writeBack === 'entered' && outer !== 'carries'
  if (inner === 'failed') return writeBack === 'entered' && context === 'carries' ? 'delivered-by-write-back' : 'failed'
  if (context === 'carries') return byWriteBack ? 'delivered-by-write-back' : 'delivered'
  if (context === 'lacks') return outer === 'carries' ? 'lost-in-context' : 'lost-in-program'
  return outer === 'carries' || writeBack !== 'none' || running ? 'awaiting-request' : 'lost-in-program'
}
