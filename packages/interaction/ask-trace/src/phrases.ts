/**
 * The small phrases that a report is made of.
 * @module @deepseek-ai/dsh-ask-trace/phrases
 */
import type { InnerLayer, TracedAnswer, TracedAsk } from './types.ts'
import { BAD } from './verdict.ts'

/** @returns the number with its noun. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** @returns a length of time, in its two largest units. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 1) return `${ms}ms`
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m${seconds % 60}s`
  return `${Math.floor(minutes / 60)}h${minutes % 60}m`
}

/** @returns a time, to the minute; empty for a number that is none. */
export function date(ms: number | undefined): string {
  if (ms === undefined || !(Math.abs(ms) <= 8.64e15)) return ''
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** @returns the verdict, the bad ones in capitals, with the code or the rule behind it. */
export function verdictText({ verdict, inner }: TracedAsk): string {
  if (BAD.has(verdict)) return verdict.toUpperCase()
  if (verdict === 'denied' && inner.kind === 'denied') return `denied: ${inner.rule}`
  return verdict === 'failed' && inner.kind === 'failed' ? `failed: ${inner.code}` : verdict
}

/** @returns what was asked; of several questions the first. */
export function questionText({ questions }: TracedAsk): string {
  const [first, ...more] = questions
  if (first === undefined) return '(no question)'
  return more.length === 0 ? first.question : `${first.question} (and ${more.length} more)`
}

/** @returns what came of it: the answers, or why there is none. */
export function outcomeText(inner: InnerLayer): string {
  switch (inner.kind) {
    case 'answered':
      return inner.answers.map(answerText).join('; ') || '(no answer)'
    case 'denied':
    case 'failed':
    case 'unreadable':
      return inner.message
    case 'pending':
      return '(no answer)'
  }
}

/** @returns what was selected and typed. */
export function answerText({ selected, custom }: TracedAnswer): string {
  return [...selected, ...(custom === undefined ? [] : [custom])].join(', ') || '(skipped)'
}
