/**
 * The asks of a log, counted.
 * @module @deepseek-ai/dsh-ask-trace/summary
 */
import type { AskSummary, TracedAsk, Verdict } from './types.ts'
import { LOST } from './verdict.ts'

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

/** @returns whether an answer was lost or a question stalled. */
export function hasTrouble({ verdicts }: AskSummary): boolean {
  return verdicts.stalled > 0 || [...LOST].some(verdict => verdicts[verdict] > 0)
}

/** Every verdict, in the order of a report. */
export const VERDICTS = [
  'delivered',
  'delivered-by-write-back',
  'awaiting-request',
  'lost-in-program',
  'lost-in-context',
  'denied',
  'failed',
  'stalled',
] as const satisfies readonly Verdict[]

function noVerdicts(): Record<Verdict, number> {
  return {
    delivered: 0,
    'delivered-by-write-back': 0,
    'awaiting-request': 0,
    'lost-in-program': 0,
    'lost-in-context': 0,
    denied: 0,
    failed: 0,
    stalled: 0,
  }
}
