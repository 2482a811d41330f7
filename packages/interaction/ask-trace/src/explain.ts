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
  receipt: 'the model made the call itself: its receipt is its result',
  'user-answer': 'the question tool wrote it for this very call',
  'withdrawn-notice': 'the question tool said for this very call that it was withdrawn',
  'whole-item': "the question's id and the answer, in one object",
  text: 'its text',
  short: 'fewer than 8 characters, which may stand there for another reason',
  'other-option': 'but an option that was not chosen stands there too',
  'in-question': "but the question's own wording has it as well",
  'too-few': 'but less often than it was answered',
  'part-of-other': 'but only inside another option or answer',
  inexact: 'but in other letters: upper and lower case, or full width',
  'other-text': "but not in the call's own result",
  absent: 'nowhere',
}

const STRENGTHS = { strong: 'there', weak: 'perhaps', none: 'missing' } as const

/** @returns why a match is what it is, in words. */
export function reasonText({ strength, reason }: TracedMatch): string {
  return `${STRENGTHS[strength]}: ${REASONS[reason]}`
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
