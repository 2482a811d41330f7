/**
 * The texts of the coming model request, as far as a question may still look for its answer in them. A text that a later
 * event replaces is taken away; once texts have been searched, only what was found in them is kept.
 * @module @deepseek-ai/dsh-ask-trace/context-window
 */
import type { Part } from './answer-parts.ts'
import { excerptOf } from './excerpt.ts'
import { PhraseFinder } from './phrase-finder.ts'
import { plainText } from './tokens.ts'
import type { TracedPlace } from './types.ts'

/** A text of the log, before it is cut to an excerpt. */
export interface LogText {
  readonly seq: number | undefined
  readonly event: string
  readonly text: string
}

/** One text of the coming request. */
export interface WindowText {
  /** Counts all texts of a log. */
  readonly index: number
  /** Whether the request still has it. */
  alive: boolean
}

/** So many characters are held before they are searched. */
const MAX_HELD_CHARS = 1_000_000

/** Measured: what is kept of a text that was searched. */
const TEXT_BYTES = 200

/** So many places are kept of one answer: all but the last matter only when the later ones are replaced. */
const MAX_PLACES = 8

/** The texts of one request. */
export class ContextWindow {
  private total = 0
  private held: { readonly entry: WindowText; readonly text: LogText }[] = []
  private heldChars = 0
  private readonly bySeq = new Map<number, WindowText>()
  /** Where each form stands, by its tokens: in which texts, the last one last. */
  private readonly found = new Map<string, { readonly entry: WindowText; readonly at: TracedPlace }[]>()

  /** How many texts there have been. */
  get count(): number {
    return this.total
  }

  /**
   * Add a text.
   * @param seq - its event's sequence number, by which a later event may replace it.
   * @param text - what may hold anybody's answer; undefined if nobody's is to be looked for in it.
   * @returns the text's place in the request.
   */
  add(seq: number | undefined, text: LogText | undefined): WindowText {
    const entry = { index: this.total, alive: true }
    this.total += 1
    if (seq !== undefined) this.bySeq.set(seq, entry)
    if (text !== undefined && text.text !== '') {
      this.held.push({ entry, text })
      this.heldChars += text.text.length
    }
    return entry
  }

  /** About how many bytes the texts take. */
  get heldBytes(): number {
    return TEXT_BYTES * this.bySeq.size + 2 * this.heldChars
  }

  /** Whether so much is held that it should be searched now. */
  get isFull(): boolean {
    return this.heldChars > MAX_HELD_CHARS
  }

  /** The text with this sequence number was replaced. */
  forget(seq: number): void {
    const entry = this.bySeq.get(seq)
    if (entry !== undefined) entry.alive = false
  }

  /**
   * Search the texts that are held, and let go of them.
   * @param parts - what to look for, of every question that may ask later.
   */
  search(parts: readonly Part[]): void {
    const finder = new PhraseFinder()
    const keys: string[] = []
    for (const { forms } of parts) for (const form of forms) keys[finder.add(form.loose)] = keyOf(form.loose)
    for (const { entry, text } of parts.length === 0 ? [] : this.held) {
      if (!entry.alive) continue
      const plain = plainText(text.text)
      for (const [phrase, where] of finder.firstPlaces(plain)) {
        const key = keys[phrase] as string
        const at = placeOf({ ...text, text: plain }, excerptOf(plain, where))
        const places = this.found.get(key) ?? []
        this.found.set(key, places)
        if (places.push({ entry, at }) > MAX_PLACES) places.shift()
      }
    }
    this.held = []
    this.heldChars = 0
  }

  /**
   * @param part - what to look for in the texts that were searched.
   * @param since - index of the first text that counts.
   * @returns the last place where it stands and that the request still has.
   */
  lastPlace({ forms }: Part, since: number): TracedPlace | undefined {
    for (const { loose } of forms) {
      const places = this.found.get(keyOf(loose)) ?? []
      while (places.at(-1)?.entry.alive === false) places.pop()
      const last = places.at(-1)
      if (last !== undefined && last.entry.index >= since) return last.at
    }
    return undefined
  }

  /** The request was made, and no open question is older than it. */
  clear(): void {
    this.held = []
    this.heldChars = 0
    this.bySeq.clear()
    this.found.clear()
  }
}

/**
 * @param text - a text of the log.
 * @param excerpt - what is shown of it.
 */
export function placeOf({ seq, event }: LogText, excerpt: TracedPlace['excerpt']): TracedPlace {
  return { ...(seq === undefined ? {} : { seq }), event, excerpt }
}

function keyOf(loose: readonly string[]): string {
  return loose.join('\u0000')
}
