/**
 * The evidence for one question's verdict, layer by layer, for a person to read.
 * @module @deepseek-ai/dsh-ask-trace/explain
 */
import { answerText, duration, outcomeText, verdictText } from './phrases.ts'
import { adviceLines, headLines, type NumberedAsk } from './table.ts'
import { clip } from './text-width.ts'
import type { LogTrace } from './trace-log.ts'
import type {
  Excerpt,
  LayerEvidence,
  MatchReason,
  TracedAsk,
  TracedMatch,
  TracedPlace,
  TracedQuestion,
} from './types.ts'
import { visible } from './visible.ts'

const REASONS: Readonly<Record<MatchReason, string>> = {
  receipt: 'is there: the receipt is the result',
  'user-answer': 'is there: the tool wrote it for this very call',
  'withdrawn-notice': 'is there: the tool said that it was withdrawn',
  'whole-item': 'is there: id and answer in one object',
  text: 'is there: its text',
  short: 'may be there: it has fewer than 8 characters',
  'other-option': 'may be there: another option is there too',
  'in-question': 'may be there: the question has it too',
  'too-few': 'may be there: less often than it was answered',
  'part-of-other': 'may be there: inside another option or answer',
  inexact: 'may be there: in another case or width',
  'other-text': "may be there: not in the call's own result",
  absent: 'is not there',
}

/** @returns whether a thing that was looked for is there, and why it is said to be, in words. */
export function reasonText({ reason }: TracedMatch): string {
  return REASONS[reason]
}

/**
 * @param trace - the log.
 * @param numbered - one of its questions.
 * @param width - how many columns the terminal has.
 */
export function explainLines(trace: LogTrace, { number, ask }: NumberedAsk, width: number): string[] {
  const { inner, outer, context, evidence } = ask
  const lines = [
    `Question ${number}: ${verdictText(ask)}`,
    `  ${callText(ask)}`,
    ...ask.questions.map(question => `  asked: ${questionLine(question)}`),
    ...outcomeLines(ask),
    `  inner: ${inner.kind}`,
    ...placeLines(evidence.inner),
    `  outer: ${outer}`,
    ...layerLines(evidence.outer),
    `  context: ${context}`,
    ...layerLines(evidence.context),
  ]
  return [...headLines(trace, width), ...lines.map(line => clip(visible(line), width)), ...adviceLines(ask, width)]
}

function callText({ calls, turn, goalRound, seq }: TracedAsk): string {
  const place = [
    ...(turn === undefined ? [] : [`turn ${turn}`]),
    ...(goalRound === undefined ? [] : [`goal round ${goalRound.round}`]),
    ...(seq === undefined ? [] : [`seq ${seq}`]),
  ]
  const call = calls.sub === undefined ? `call ${calls.root}` : `call ${calls.sub} of the program in ${calls.root}`
  return [call, ...place].join(', ')
}

function questionLine({ id, question, options }: TracedQuestion): string {
  const labels = options.length === 0 ? '' : ` [${options.map(({ label }) => label).join(' | ')}]`
  return `${id}: ${question}${labels}`
}

function outcomeLines({ inner, waitedMs }: TracedAsk): string[] {
  const waited = waitedMs === undefined ? '' : ` (after ${duration(waitedMs)})`
  if (inner.kind !== 'answered') return [`  outcome: ${outcomeText(inner)}${waited}`]
  return inner.answers.map(answer => `  answered: ${answer.id}: ${answerText(answer)}${waited}`)
}

function layerLines(evidence: LayerEvidence | undefined): string[] {
  if (evidence === undefined) return []
  const { matches, instead } = evidence
  return [
    ...matches.flatMap(matchLines),
    ...(instead === undefined ? [] : ['    what was there instead:', ...placeLines(instead)]),
  ]
}

function matchLines(match: TracedMatch): string[] {
  return [`    "${match.said}" ${reasonText(match)}`, ...placeLines(match.at)]
}

function placeLines(place: TracedPlace | undefined): string[] {
  if (place === undefined) return []
  const seq = place.seq === undefined ? '' : `seq ${place.seq}, `
  return [`      ${seq}${place.event}`, `      | ${marked(place.excerpt)}`]
}

function marked({ before, match, after }: Excerpt): string {
  return match === '' ? `${before}${after}` : `${before}»${match}«${after}`
}
