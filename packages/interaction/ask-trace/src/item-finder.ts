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

/** A field, and the number that stands for all its spellings. */
interface NamedField {
  readonly field: Field
  readonly phrase: number
}

/** The fields of an object that is still open; of a repeated one the last counts, as in JSON. */
type OpenObject = Partial<Record<Field, { readonly phrase: number; readonly where: Occurrence }>>

/** Where an item stands. */
export interface FoundItem {
  /** What was selected or typed, in the first place. */
  readonly first: Occurrence
  /** Whether it stands there as often as it was added. */
  readonly isEnough: boolean
}

/** A set of items, found in one pass. */
export class ItemFinder {
  private readonly finder = new PhraseFinder()
  /** What each phrase is. */
  private readonly fields: NamedField[] = []
  private readonly wanted = new Map<string, number>()
  private readonly found = new Map<string, { count: number; first: Occurrence }>()

  /**
   * @param item - an item to find, in which something is selected or typed.
   * @returns its key, the same for equal items.
   */
  add({ id, selected, custom }: Item): string {
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
    /** Objects that are open and too deep. */
    let deeper = 0
    this.finder.scan(plain, {
      onPhrase: (found, placeOf) => {
        const object = deeper === 0 ? open.at(-1) : undefined
        const { field, phrase } = this.fields[found] as NamedField
        if (object !== undefined) object[field] = { phrase, where: placeOf(found) }
      },
      onToken: ({ exact }) => {
        if (exact === '{' && open.length === MAX_DEPTH) deeper += 1
        else if (exact === '{') open.push({})
        else if (exact === '}' && deeper > 0) deeper -= 1
        else if (exact === '}') this.close(open.pop() ?? {})
      },
    })
  }

  /**
   * @param key - an item's key.
   * @returns the item in the text, if it is there.
   */
  result(key: string): FoundItem | undefined {
    const found = this.found.get(key)
    const wanted = this.wanted.get(key) as number
    return found === undefined ? undefined : { first: found.first, isEnough: found.count >= wanted }
  }

  private addField(field: Field, value: readonly string[]): number {
    const phrase = this.finder.add([field, '"', ':', ...value])
    for (const spelling of [phrase, this.finder.add([field, ':', ...value])]) this.fields[spelling] = { field, phrase }
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
