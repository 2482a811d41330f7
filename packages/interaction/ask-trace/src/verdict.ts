/**
 * What became of a question, decided from its layers alone. An element is what the question tool wrote for this very
 * call past its program (`write-back.ts`).
 *
 * | inner | context | and | verdict |
 * | --- | --- | --- | --- |
 * | pending | any | | `stalled` |
 * | denied | any | | `denied` |
 * | failed, unreadable | strong | an answer's element | `delivered-by-write-back` |
 * | failed | any | aborted, but neither its program nor its turn | `withdrawn` |
 * | failed | any | otherwise | `failed` |
 * | unreadable | any | otherwise | `unknown` |
 * | answered | strong | outer not strong: only an element did | `delivered-by-write-back` |
 * | answered | strong | otherwise | `delivered` |
 * | answered | weak | | `delivered?` |
 * | answered | no request yet | outer strong, an element waits, or the program still runs | `awaiting-request` |
 * | answered | no request yet | outer weak | `delivered?` |
 * | answered | none | outer strong or weak: history was rewritten before the request | `lost-in-context` |
 * | answered | none, no request yet | the outer result cannot be read | `unknown` |
 * | answered | none, no request yet | the outer result is one number or boolean, which may stand for the answer | `lost?` |
 * | answered | none, no request yet | otherwise | `lost-in-program` |
 * @module @deepseek-ai/dsh-ask-trace/verdict
 */
import type { InnerLayer, MatchStrength, Verdict } from './types.ts'

/** What the verdict depends on. */
export interface Layers {
  readonly inner: InnerLayer['kind']
  readonly outer: MatchStrength | 'missing' | 'unreadable'
  readonly context: MatchStrength | 'no-request-yet'
  /** The element that holds an answer: none, in the inbox, or entered as a message. */
  readonly element: 'none' | 'queued' | 'entered'
  /** Whether the root call can still return. */
  readonly isRunning: boolean
  /** Whether the call was aborted while neither its program nor its turn was. */
  readonly isWithdrawn: boolean
  /** Whether the outer result is one number or one boolean. */
  readonly isScalar: boolean
}

/** Verdicts that say: a human answered, and the model does not know it. */
export const LOST: ReadonlySet<Verdict> = new Set(['lost-in-program', 'lost-in-context'])

/** Verdicts that a person should look into: lost for sure, or nobody was told what became of the question. */
export const BAD: ReadonlySet<Verdict> = new Set([...LOST, 'stalled', 'withdrawn'])

/** Verdicts that the log does not settle. */
export const DOUBTFUL: ReadonlySet<Verdict> = new Set(['delivered?', 'lost?', 'unknown'])

/**
 * @param layers - one question's layers.
 * @returns its verdict, by the table above.
 */
export function verdictOf(layers: Layers): Verdict {
  switch (layers.inner) {
    case 'pending':
      return 'stalled'
    case 'denied':
      return 'denied'
    case 'failed':
      if (isBroughtBack(layers)) return 'delivered-by-write-back'
      return layers.isWithdrawn ? 'withdrawn' : 'failed'
    case 'unreadable':
      return isBroughtBack(layers) ? 'delivered-by-write-back' : 'unknown'
    case 'answered':
      return answeredVerdict(layers)
  }
}

function isBroughtBack({ context, element }: Layers): boolean {
  return context === 'strong' && element === 'entered'
}

function answeredVerdict(layers: Layers): Verdict {
  const { outer, context, element, isRunning } = layers
  const isOnItsWay = outer === 'strong' || element !== 'none' || isRunning
  switch (context) {
    case 'strong':
      return outer !== 'strong' && isBroughtBack(layers) ? 'delivered-by-write-back' : 'delivered'
    case 'weak':
      return 'delivered?'
    case 'no-request-yet':
      if (isOnItsWay) return 'awaiting-request'
      return outer === 'weak' ? 'delivered?' : notFound(layers)
    case 'none':
      return outer === 'strong' || outer === 'weak' ? 'lost-in-context' : notFound(layers)
  }
}

function notFound({ outer, isScalar }: Layers): Verdict {
  if (outer === 'unreadable') return 'unknown'
  return isScalar ? 'lost?' : 'lost-in-program'
}
