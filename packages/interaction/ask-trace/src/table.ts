/**
 * A trace as a table that a person reads on a terminal: for each question a line of facts, and below it what was asked and
 * what came of it.
 * @module @deepseek-ai/dsh-ask-trace/table
 */
import { adviceFor } from './advice.ts'
import { date, duration, outcomeText, plural, questionText, verdictText } from './phrases.ts'
import { clip, pad, widthOf } from './text-width.ts'
import type { LogTrace } from './trace-log.ts'
import type { LayerEvidence, TracedAsk } from './types.ts'
import { visible } from './visible.ts'

/** A question with its number in the whole report. */
export interface NumberedAsk {
  readonly number: number
  readonly ask: TracedAsk
}

const HEADINGS = ['#', 'turn', 'round', 'inner', 'outer', 'context', 'verdict', 'waited']

const VERDICT = HEADINGS.indexOf('verdict')
const LEAST_VERDICT_WIDTH = 'LOST-IN-PROGRAM'.length
const MAX_NUMBER_WIDTH = 10
const GAP = 2
const INDENT = '     '

/** The answer is not cut below so many columns, however long the question is. */
const LEAST_ANSWER_WIDTH = 30
const ARROW = ' → '

/**
 * @param trace - one log's trace.
 * @param shown - its questions that are shown.
 * @param width - how many columns the terminal has.
 * @returns its lines: which log it is, a table if there are questions, and what was passed over.
 */
export function logLines(trace: LogTrace, shown: readonly NumberedAsk[], width: number): string[] {
  return [
    ...headLines(trace, width),
    ...(shown.length === 0 ? ['  no questions'] : table(shown, width)),
    ...trace.notes.map(note => `  note: ${visible(note)}`),
  ]
}

/**
 * @param trace - one log's trace.
 * @param width - how many columns the terminal has.
 * @returns its path, and its session if the log says what that is.
 */
export function headLines({ path, session }: LogTrace, width: number): string[] {
  const { title = '', cwd = '', createdAt } = session
  const about = [title === '' ? '' : `"${title}"`, cwd, date(createdAt)].filter(text => text !== '').join(', ')
  return [visible(path), ...(about === '' ? [] : [`  ${clip(visible(about), width - GAP)}`])]
}

function table(shown: readonly NumberedAsk[], width: number): string[] {
  const rows = shown.map(numbered => ({ numbered, row: cells(numbered) }))
  const widths = columnWidths([HEADINGS, ...rows.map(({ row }) => row)], width)
  const line = (row: readonly string[]) => {
    const columns = widths.map((columnWidth, column) => pad(clip(row[column] as string, columnWidth), columnWidth))
    return clip(`  ${columns.join(' '.repeat(GAP))}`.trimEnd(), width)
  }
  return [line(HEADINGS), ...rows.flatMap(({ numbered, row }) => [line(row), ...below(numbered, width)])]
}

/** As wide as the widest cell; the verdict, which may have a long code, gives way when that is too much. */
function columnWidths(rows: readonly (readonly string[])[], width: number): number[] {
  const widths = HEADINGS.map((_, column) =>
    rows.reduce((most, row) => Math.max(most, widthOf(row[column] as string)), 0),
  )
  const excess = widths.reduce((sum, each) => sum + each + GAP, 0) - width
  return widths.map((each, column) =>
    column === VERDICT ? Math.max(LEAST_VERDICT_WIDTH, each - Math.max(0, excess)) : each,
  )
}

function cells({ number, ask }: NumberedAsk): string[] {
  const { inner, outer, context, evidence, waitedMs } = ask
  return [
    `${number}`,
    clip(`${ask.turn ?? '-'}`, MAX_NUMBER_WIDTH),
    clip(`${ask.goalRound?.round ?? '-'}`, MAX_NUMBER_WIDTH),
    inner.kind,
    outer === 'carries' ? doubted(outer, evidence.outer) : outer,
    context === 'no-request-yet' ? 'not yet' : context === 'carries' ? doubted(context, evidence.context) : context,
    visible(verdictText(ask)),
    waitedMs === undefined ? '-' : duration(waitedMs),
  ]
}

function doubted(layer: string, evidence: LayerEvidence | undefined): string {
  return evidence?.matches.some(({ strength }) => strength === 'weak') === true ? `${layer}?` : layer
}

/** What was asked and what came of it, and what to do. The question gives way to the answer. */
function below({ ask }: NumberedAsk, width: number): string[] {
  const room = width - INDENT.length - ARROW.length
  const question = visible(questionText(ask))
  const outcome = visible(outcomeText(ask.inner))
  const outcomeWidth = Math.min(
    widthOf(outcome.slice(0, 4 * width)),
    Math.max(LEAST_ANSWER_WIDTH, room - widthOf(question)),
  )
  const shownOutcome = clip(outcome, Math.min(outcomeWidth, room))
  const shownQuestion = clip(question, room - widthOf(shownOutcome))
  return [`${INDENT}${shownQuestion}${ARROW}${shownOutcome}`, ...adviceLines(ask, width)]
}

/**
 * @param ask - a question.
 * @param width - how many columns the terminal has.
 * @returns what to do about it, in one line of as many columns as it takes; none if there is nothing to do.
 */
export function adviceLines(ask: TracedAsk, width: number): string[] {
  const advice = adviceFor(ask)
  const spun = ask.roundsSpun === 0 ? [] : [`${INDENT}${plural(ask.roundsSpun, 'goal round')} spun after it.`]
  return [...spun, ...(advice === undefined ? [] : [`${INDENT}${clip(advice, Math.max(width - INDENT.length, 1))}`])]
}
