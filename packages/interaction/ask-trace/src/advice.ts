/**
 * What to do about a verdict, in one line.
 * @module @deepseek-ai/dsh-ask-trace/advice
 */
import type { TracedAsk, Verdict } from './types.ts'
import { BAD, DOUBTFUL } from './verdict.ts'

/** Each fits a narrow terminal. */
const ADVICE: Partial<Record<Verdict, string>> = {
  'delivered?': 'Perhaps delivered: look with --explain, and if in doubt, say it again.',
  'lost-in-program': 'Say it again as a message: the program kept the answer to itself.',
  'lost-in-context': 'Say it again as a message: compaction or pruning cut the answer out.',
  'lost?': 'Look with --explain at what the program returned; in doubt, say it again.',
  withdrawn: 'The program did not wait for your answer: say it as a message.',
  unknown: 'The log does not show the answer: ask the model what it was told.',
  stalled: 'Answer it or cancel the turn; after a crash, say it as a message.',
}

/** @returns whether a person should look into it. */
export function isInTrouble({ verdict }: TracedAsk): boolean {
  return BAD.has(verdict) || DOUBTFUL.has(verdict)
}

/** @returns what to do about the question; undefined if nothing is to be done. */
export function adviceFor({ verdict }: TracedAsk): string | undefined {
  return ADVICE[verdict]
}
