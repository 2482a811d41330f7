/**
 * Finds whole items of a receipt in a text: a question's id, and what was selected or typed, as fields of one object, in
 * any order, among any others, printed as JSON or as JavaScript. Braces inside a string may hide an item, never make one.
 * @module @deepseek-ai/dsh-ask-trace/item-finder
 */
import type { Item } from './answer-parts.ts'
import { PhraseFinder, type Occurrence } from './phrase-finder.ts'

/** Deeper objects are not looked into. */
const MAX_DEPTH = 1_000

type Field = 'id' | 'selected' | 'custom'

/** The fields of an object that is still open; of a repeated one the last counts, as in JSON. */
type OpenObject = Partial<Record<Field, { readonly phrase: number; readonly where: Occurrence }>>

/** Where items stand. */
export interface FoundItems {
  readonly count: number
  /** What was selected or typed, in the first of them. */
  readonly first: Occurrence | undefined
}

/** A set of items, found in one pass. */
export class ItemFinder {
  private readonly finder = new PhraseFinder()
  /** The field that a phrase is, and the number that stands for all its spellings. */
  private readonly fields = new Map<number, { readonly field: Field; readonly phrase: number }>()
  private readonly wanted = new Map<string, number>()
  private readonly found = new Map<string, { count: number; first: Occurrence }>()

  /**
   * @param item - an item to find.
   * @returns its key, the same for equal items; undefined for a skipped question, of which there is nothing to find.
   */
  add({ id, selected, custom }: Item): string | undefined {
    if (selected.length === 0 && custom === undefined) return undefined
    const labels = selected.flatMap((label, index) => [...(index === 0 ? [] : [',']), ...quoted(label)])
    const key = keyOf(
      this.addField('id', quoted(id)),
      selected.length === 0 ? undefined : this.addField('selected', ['[', ...labels, ']']),
      custom === undefined ? undefined : this.addField('custom', quoted(custom)),
    )
    this.wanted.set(key, (this.wanted.get(key) ?? 0) + 1)
    return key
  }

  /** @param plain - the text, without escapes. */
  scan(plain: string): void {
    const open: OpenObject[] = []
    let depth = 0
    this.finder.scan(plain, {
      onPhrase: (phrase, placeOf) => {
        const object = depth <= MAX_DEPTH ? open.at(-1) : undefined
        const known = this.fields.get(phrase)
        if (object !== undefined && known !== undefined) {
          object[known.field] = { phrase: known.phrase, where: placeOf(phrase) }
        }
      },
      onToken: ({ exact }) => {
        if (exact === '{') {
          depth += 1
          if (depth <= MAX_DEPTH) open.push({})
        } else if (exact === '}' && depth > 0) {
          const closed = depth <= MAX_DEPTH ? open.pop() : undefined
          depth -= 1
          if (closed !== undefined) this.close(closed)
        }
      },
    })
  }

  /**
   * @param key - an item's key.
   * @returns how often it stands in the text, and whether that is as often as it was added.
   */
  result(key: string): FoundItems & { readonly isEnough: boolean } {
    const { count, first } = this.found.get(key) ?? { count: 0, first: undefined }
    return { count, first, isEnough: count >= (this.wanted.get(key) ?? 0) }
  }

  private addField(field: Field, value: readonly string[]): number {
    const phrase = this.finder.add([field, '"', ':', ...value])
    for (const spelling of [phrase, this.finder.add([field, ':', ...value])])
      this.fields.set(spelling, { field, phrase })
    return phrase
  }

  private close({ id, selected, custom }: OpenObject): void {
    if (id === undefined) return
    if (selected !== undefined) this.count(keyOf(id.phrase, selected.phrase, undefined), selected.where)
    if (custom !== undefined) this.count(keyOf(id.phrase, undefined, custom.phrase), custom.where)
    if (selected !== undefined && custom !== undefined) {
      this.count(keyOf(id.phrase, selected.phrase, custom.phrase), selected.where)
    }
  }

  private count(key: string, where: Occurrence): void {
    if (!this.wanted.has(key)) return
    const found = this.found.get(key)
    if (found === undefined) this.found.set(key, { count: 1, first: where })
    else found.count += 1
  }
}

function quoted(tokens: readonly string[]): string[] {
  return ['"', ...tokens, '"']
}

function keyOf(id: number, selected: number | undefined, custom: number | undefined): string {
  return `${id}/${selected ?? ''}/${custom ?? ''}`
}
