/**
 * The asks of a log, counted.
 * @module @deepseek-ai/dsh-ask-trace/summary
 */
import type { AskSummary, TracedAsk, Verdict } from './types.ts'

/**
 * @param asks - the traced questions.
 * @param roundsSpun - goal rounds that followed any loss.
 */
export function summarize(asks: readonly TracedAsk[], roundsSpun: number): AskSummary {
  const verdicts = noVerdicts()
  for (const { verdict } of asks) verdicts[verdict] += 1
  return { asks: asks.length, verdicts, roundsSpun }
}

/**
 * @param summaries - the summaries of several logs.
 * @returns their sum.
 */
export function addSummaries(summaries: readonly AskSummary[]): AskSummary {
  const verdicts = noVerdicts()
  let asks = 0
  let roundsSpun = 0
  for (const summary of summaries) {
    asks += summary.asks
    roundsSpun += summary.roundsSpun
    for (const verdict of VERDICTS) verdicts[verdict] += summary.verdicts[verdict]
  }
  return { asks, verdicts, roundsSpun }
}

/** Every verdict, in the order of a report. */
export const VERDICTS = [
  'delivered',
  'delivered-by-write-back',
  'delivered?',
  'awaiting-request',
  'lost-in-program',
  'lost-in-context',
  'lost?',
  'withdrawn',
  'denied',
  'failed',
  'unknown',
  'stalled',
] as const satisfies readonly Verdict[]

/**
 * @param summary - counted verdicts.
 * @param verdicts - some verdicts.
 * @returns whether there is any of them.
 */
export function hasAny(summary: AskSummary, verdicts: ReadonlySet<Verdict>): boolean {
  return VERDICTS.some(verdict => verdicts.has(verdict) && summary.verdicts[verdict] > 0)
}

function noVerdicts(): Record<Verdict, number> {
  return {
    delivered: 0,
    'delivered-by-write-back': 0,
    'delivered?': 0,
    'awaiting-request': 0,
    'lost-in-program': 0,
    'lost-in-context': 0,
    'lost?': 0,
    withdrawn: 0,
    denied: 0,
    failed: 0,
    unknown: 0,
    stalled: 0,
  }
}
