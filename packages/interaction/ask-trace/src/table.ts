/**
 * A trace as a table that a person reads on a terminal: one line for each question, and a summary.
 * @module @deepseek-ai/dsh-ask-trace/table
 */
import { hasAny, VERDICTS } from './summary.ts'
import type { LogTrace } from './trace-log.ts'
import type { AskSummary, InnerLayer, TracedAnswer, TracedAsk } from './types.ts'
import { BAD, DOUBTFUL } from './verdict.ts'
import { clip, visible } from './visible.ts'

const HEADINGS = ['turn', 'round', 'call', 'inner', 'outer', 'context', 'verdict', 'waited', 'question → answer']
const CALL_WIDTH = 28
const TEXT_WIDTH = 60

/**
 * @param trace - one log's trace.
 * @returns its lines: the path, a table if there are questions, and what was passed over.
 */
export function logLines({ path, report, notes }: LogTrace): string[] {
  const rows = report.asks.map(cells)
  return [
    visible(path),
    ...(rows.length === 0 ? ['  no questions'] : table([HEADINGS, ...rows])),
    ...notes.map(note => `  note: ${visible(note)}`),
  ]
}

/**
 * @param summary - the counts of one or several logs.
 * @param logs - how many logs.
 * @returns the last line of a report.
 */
export function summaryLine(summary: AskSummary, logs: number): string {
  const { verdicts, roundsSpun } = summary
  const counts = VERDICTS.filter(verdict => verdicts[verdict] > 0).map(verdict => `${verdicts[verdict]} ${verdict}`)
  const spun = roundsSpun === 0 ? '' : `; ${plural(roundsSpun, 'goal round')} spun after a lost answer`
  const head = `${plural(summary.asks, 'question')} in ${plural(logs, 'log')}`
  const body = counts.length === 0 ? '' : `: ${counts.join(', ')}`
  return `${head}${body}${spun}${hasAny(summary, BAD) || hasAny(summary, DOUBTFUL) ? '' : '. Nothing was lost.'}`
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, Array.from(cell).length)
  }
  return rows.map(row => `  ${row.map((cell, column) => pad(cell, widths[column])).join('  ')}`.trimEnd())
}

function pad(cell: string, width = 0): string {
  return cell + ' '.repeat(width - Array.from(cell).length)
}

function cells(ask: TracedAsk): string[] {
  return [
    ask.turn?.toString() ?? '-',
    ask.goalRound?.round.toString() ?? '-',
    clip(visible(ask.calls.sub ?? ask.calls.root), CALL_WIDTH),
    visible(innerCell(ask.inner)),
    ask.outer,
    ask.context,
    verdictCell(ask),
    ask.waitedMs === undefined ? '-' : duration(ask.waitedMs),
    clip(visible(`${questionCell(ask)} → ${outcomeCell(ask.inner)}`), TEXT_WIDTH),
  ]
}

function innerCell(inner: InnerLayer): string {
  switch (inner.kind) {
    case 'answered':
      return 'answered'
    case 'denied':
      return `denied: ${inner.rule}`
    case 'failed':
      return `failed: ${clip(inner.code, CALL_WIDTH)}`
    case 'pending':
      return inner.reason === 'NO_RECEIPT' ? 'pending' : `pending: ${inner.reason}`
    case 'unreadable':
      return 'unreadable'
  }
}

function verdictCell({ verdict, roundsSpun }: TracedAsk): string {
  const shown = BAD.has(verdict) ? verdict.toUpperCase() : verdict
  return roundsSpun === 0 ? shown : `${shown}, ${plural(roundsSpun, 'round')} spun`
}

function questionCell({ questions }: TracedAsk): string {
  const [first, ...more] = questions
  if (first === undefined) return '(no question)'
  return more.length === 0 ? first.question : `${first.question} (and ${more.length} more)`
}

function outcomeCell(inner: InnerLayer): string {
  switch (inner.kind) {
    case 'answered':
      return inner.answers.map(said).join('; ') || '(unreadable)'
    case 'denied':
    case 'failed':
    case 'unreadable':
      return inner.message
    case 'pending':
      return '(no answer)'
  }
}

function said({ selected, custom }: TracedAnswer): string {
  return [...selected, ...(custom === undefined ? [] : [custom])].join(', ') || '(skipped)'
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 1) return `${ms}ms`
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m${seconds % 60}s`
  return `${Math.floor(minutes / 60)}h${minutes % 60}m`
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
