/**
 * The end of a report: all questions counted, how much was read, and what that means.
 * @module @deepseek-ai/dsh-ask-trace/summary-lines
 */
import { plural } from './phrases.ts'
import { hasAny, VERDICTS } from './summary.ts'
import type { AskSummary } from './types.ts'
import { BAD, DOUBTFUL } from './verdict.ts'

/** How many logs were read, and how far. */
export interface LogCounts {
  readonly whole: number
  readonly partly: number
  /** No logs, or not to be read at all. */
  readonly refused: number
}

/**
 * @param summary - the counts of all logs.
 * @param logs - how far they were read.
 * @returns the last lines of a report.
 */
export function summaryLines(summary: AskSummary, logs: LogCounts): string[] {
  const { verdicts, roundsSpun } = summary
  const counts = VERDICTS.filter(verdict => verdicts[verdict] > 0).map(verdict => `${verdicts[verdict]} ${verdict}`)
  const spun = roundsSpun === 0 ? '' : `; ${plural(roundsSpun, 'goal round')} spun after a lost answer`
  const body = counts.length === 0 ? '' : `: ${counts.join(', ')}`
  const isAll = logs.partly + logs.refused === 0
  return [
    `${plural(summary.asks, 'question')} in ${plural(logs.whole + logs.partly, 'log')}${body}${spun}`,
    `${plural(logs.whole, 'log')} read, ${logs.partly} read in part, ${logs.refused} refused`,
    `${conclusion(summary)}${isAll ? '' : ' This covers only what was read.'}`,
  ]
}

function conclusion(summary: AskSummary): string {
  if (hasAny(summary, BAD)) return 'Answers or questions were lost.'
  return hasAny(summary, DOUBTFUL) ? 'Nothing was lost for sure, but some of it is doubtful.' : 'Nothing was lost.'
}
