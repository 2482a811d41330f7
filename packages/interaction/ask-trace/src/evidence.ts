/**
 * The evidence of one layer: a match for each thing that was looked for.
 * @module @deepseek-ai/dsh-ask-trace/evidence
 */
import type { Part } from './answer-parts.ts'
import { placeOf, type LogText } from './context-window.ts'
import { excerptOf } from './excerpt.ts'
import type { Finding } from './judge-text.ts'
import { PhraseFinder } from './phrase-finder.ts'
import { plainText } from './tokens.ts'
import type { LayerEvidence, MatchReason, MatchStrength, TracedMatch, TracedPlace } from './types.ts'

/** More than this of one layer is more than anybody reads. */
const MAX_MATCHES = 50
const MAX_SAID_CHARS = 80

const WEAKEST_FIRST: readonly MatchStrength[] = ['none', 'weak', 'strong']

/**
 * @param part - what was looked for.
 * @param finding - how it was found.
 * @param at - where.
 */
export function matchOf({ question, said }: Part, finding: Finding, at: TracedPlace | undefined): TracedMatch {
  const { strength, reason } = finding
  const shown = excerptOf(said.slice(0, 2 * MAX_SAID_CHARS)).after
  return { question, said: shown, strength, reason, ...(at === undefined ? {} : { at }) }
}

/**
 * @param text - the text that was judged, without escapes.
 * @param parts - what was looked for.
 * @param findings - one for each part.
 */
export function matchesIn(text: LogText, parts: readonly Part[], findings: readonly Finding[]): TracedMatch[] {
  return parts.map((part, index) => {
    const finding = findings[index] as Finding
    const { where } = finding
    return matchOf(part, finding, where === undefined ? undefined : placeOf(text, excerptOf(text.text, where)))
  })
}

/**
 * @param text - a text that has all parts, whatever else it says: a receipt, an element.
 * @param parts - what was looked for.
 * @param reason - why they count.
 */
export function matchesOutright(text: LogText, parts: readonly Part[], reason: MatchReason): TracedMatch[] {
  const finder = new PhraseFinder()
  const phrases = parts.map(({ forms }) => forms.map(({ loose }) => finder.add(loose)))
  const plain = { ...text, text: plainText(text.text) }
  const found = finder.firstPlaces(plain.text)
  return parts.map((part, index) => {
    const [where] = (phrases[index] as number[]).flatMap(phrase => found.get(phrase) ?? [])
    return matchOf(part, { strength: 'strong', reason }, placeOf(plain, excerptOf(plain.text, where)))
  })
}

/**
 * @param matches - all matches of a layer.
 * @returns the strength of the whole layer: nothing is carried unless everything is.
 */
export function strengthOf(matches: readonly TracedMatch[]): MatchStrength {
  return WEAKEST_FIRST.find(strength => matches.some(match => match.strength === strength)) ?? 'strong'
}

/**
 * @param matches - all matches of a layer.
 * @returns the weakest of them, if there are too many; the layer's strength stays.
 */
export function weakest(matches: readonly TracedMatch[]): readonly TracedMatch[] {
  if (matches.length <= MAX_MATCHES) return matches
  return WEAKEST_FIRST.flatMap(strength => matches.filter(match => match.strength === strength)).slice(0, MAX_MATCHES)
}

/**
 * @param matches - all matches of a layer.
 * @param instead - the beginning of the text in which something was not found.
 */
export function layerEvidence(matches: readonly TracedMatch[], instead: TracedPlace | undefined): LayerEvidence {
  const lacks = strengthOf(matches) === 'none'
  return { matches: weakest(matches), ...(lacks && instead !== undefined ? { instead } : {}) }
}
