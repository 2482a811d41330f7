/**
 * Whether one text carries the answers of one or several questions, and how sure that is. Where two readings fit, the
 * weaker one counts: `MatchReason` lists them.
 * @module @deepseek-ai/dsh-ask-trace/judge-text
 */
import type { Form, Item, Part } from './answer-parts.ts'
import { ItemFinder, type FoundItem } from './item-finder.ts'
import { PhraseFinder, type Occurrence } from './phrase-finder.ts'
import { exactForm } from './tokens.ts'
import type { MatchReason, MatchStrength } from './types.ts'

/** What was found of one part. */
export interface Finding {
  readonly strength: MatchStrength
  readonly reason: MatchReason
  readonly where?: Occurrence
}

/** One phrase in the text. */
interface PhraseUse {
  /** How many parts look for it: it has to stand there so often. */
  wanted: number
  /** Its first place. */
  first: Occurrence | undefined
  /** How often it stands there outside of longer phrases. */
  count: number
  /** As many of those places as are wanted. */
  readonly places: Occurrence[]
}

/**
 * @param plain - the text that the model gets to read, without escapes.
 * @param parts - what has to be in it, of all questions whose answers may be.
 * @returns a finding for each part.
 */
export function judgeText(plain: string, parts: readonly Part[]): Finding[] {
  const items = findItems(plain, parts)
  let uses: ReadonlyMap<Form, PhraseUse> | undefined
  return parts.map(part => {
    const item = items(part)
    if (item === undefined) return judgeWords(plain, part, (uses ??= findPhrases(plain, parts)))
    return item.isEnough
      ? { strength: 'strong', reason: 'whole-item', where: item.first }
      : { strength: 'weak', reason: 'too-few', where: item.first }
  })
}

function judgeWords(plain: string, part: Part, uses: ReadonlyMap<Form, PhraseUse>): Finding {
  const found = part.forms.flatMap(form => {
    const use = uses.get(form) as PhraseUse
    return use.first === undefined ? [] : [{ ...use, form, first: use.first }]
  })
  const [any] = found
  if (any === undefined) return { strength: 'none', reason: 'absent' }
  if (part.isMessage) return { strength: 'strong', reason: 'text', where: any.first }
  const outside = found.filter(({ count }) => count > 0)
  const [best] = outside
  const where = best?.places[0]
  if (best === undefined || where === undefined) return { strength: 'weak', reason: 'part-of-other', where: any.first }
  const count = outside.reduce((sum, use) => sum + use.count, 0)
  const weak = (reason: MatchReason): Finding => ({ strength: 'weak', reason, where })
  if (part.others.some(other => (uses.get(other) as PhraseUse).count > 0)) return weak('other-option')
  if (part.isInQuestion) return weak('in-question')
  if (!best.form.isLong) return weak('short')
  if (outside.some(({ wanted }) => count < wanted)) return weak('too-few')
  const exact = new Set(part.forms.map(form => form.exact))
  const same = best.places.find(({ start, end }) => exact.has(exactForm(plain.slice(start, end))))
  return same === undefined ? weak('inexact') : { strength: 'strong', reason: 'text', where: same }
}

/** @returns what of a part's item is in the text; a text without braces holds none. */
function findItems(plain: string, parts: readonly Part[]): (part: Part) => FoundItem | undefined {
  if (!plain.includes('{')) return () => undefined
  const finder = new ItemFinder()
  const keys = new Map<Item, string>()
  for (const { item } of parts) if (item !== undefined && !keys.has(item)) keys.set(item, finder.add(item))
  finder.scan(plain)
  return ({ item }) => (item === undefined ? undefined : finder.result(keys.get(item) as string))
}

/** Counts, for every form of every part and for every other option, its places in the text. */
function findPhrases(plain: string, parts: readonly Part[]): Map<Form, PhraseUse> {
  const finder = new PhraseFinder()
  const uses: PhraseUse[] = []
  const byForm = new Map<Form, PhraseUse>()
  const add = (form: Form, wanted: number) => {
    if (wanted === 0 && byForm.has(form)) return
    const phrase = finder.add(form.loose)
    const use = (uses[phrase] ??= { wanted: 0, first: undefined, count: 0, places: [] })
    use.wanted += wanted
    byForm.set(form, use)
  }
  for (const { forms, others } of parts) {
    for (const form of forms) add(form, 1)
    for (const form of others) add(form, 0)
  }
  countPlaces(plain, finder, uses)
  return byForm
}

/** Notes each phrase's first place, and counts it where it is no part of a longer one. */
function countPlaces(plain: string, finder: PhraseFinder, uses: readonly PhraseUse[]): void {
  // Those that are counted so far and that a longer phrase may still cover; their starts ascend.
  const kept: { readonly use: PhraseUse; readonly start: number }[] = []
  finder.scan(plain, {
    onPhrase: (phrase, placeOf) => {
      const use = uses[phrase] as PhraseUse
      const where = placeOf(phrase)
      for (let ending: number | undefined = phrase; ending !== undefined; ending = finder.suffixOf(ending)) {
        const inner = uses[ending] as PhraseUse
        if (inner.first !== undefined) break
        inner.first = placeOf(ending)
      }
      for (let last = kept.at(-1); last !== undefined && last.start >= where.start; last = kept.at(-1)) {
        kept.pop()
        last.use.count -= 1
        last.use.places.pop()
      }
      // Enough of them are known; whatever covers those covers this one too.
      if (use.count >= Math.max(1, use.wanted)) return
      use.count += 1
      use.places.push(where)
      kept.push({ use, start: where.start })
    },
  })
}
