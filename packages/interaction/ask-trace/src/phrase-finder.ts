/**
 * Finds many phrases in one text at once, in time that grows with their sizes added up: the automaton of Aho and
 * Corasick, over tokens instead of characters, so that a phrase is found as whole words only.
 * @module @deepseek-ai/dsh-ask-trace/phrase-finder
 */
import { eachToken, type Token } from './tokens.ts'

/** Where a phrase stands, in characters of the text. */
export interface Occurrence {
  readonly start: number
  readonly end: number
}

/** Receives what a pass over a text meets, in order. */
export interface PhraseVisitor {
  /** The longest phrase that ends here; `placeOf` tells where it begins, and where a phrase begins that it ends with. */
  readonly onPhrase: (phrase: number, placeOf: (phrase: number) => Occurrence) => void
  /** Every token, after the phrase that ends with it. */
  readonly onToken?: (token: Token) => void
}

/** The beginning of at least one phrase. Nearly every state has one next state only, which needs no map. */
class State {
  /** The longest proper suffix of this state that is a state too; the root for most. */
  suffix: State | undefined
  /** The longest phrase that ends here, itself or as a suffix. */
  phrase: number | undefined
  /** Tokens from the root. */
  readonly depth: number
  private token: string | undefined
  private next: State | undefined
  private more: Map<string, State> | undefined

  constructor(depth: number) {
    this.depth = depth
  }

  after(token: string): State | undefined {
    return this.token === token ? this.next : this.more?.get(token)
  }

  extend(token: string): State {
    const known = this.after(token)
    if (known !== undefined) return known
    const added = new State(this.depth + 1)
    if (this.next === undefined) {
      this.token = token
      this.next = added
    } else {
      this.more ??= new Map()
      this.more.set(token, added)
    }
    return added
  }

  eachNext(visit: (token: string, next: State) => void): void {
    if (this.token !== undefined && this.next !== undefined) visit(this.token, this.next)
    this.more?.forEach((next, token) => {
      visit(token, next)
    })
  }
}

/** A set of phrases, and the automaton that finds them. */
export class PhraseFinder {
  private readonly root = new State(0)
  /** The state at which each phrase ends. */
  private readonly ends: State[] = []
  private longest = 1
  private linked = false

  /**
   * Add a phrase.
   * @param phrase - its tokens, in their loose form; at least one.
   * @returns its number; the same tokens have the same one.
   */
  add(phrase: readonly string[]): number {
    let state = this.root
    for (const token of phrase) state = state.extend(token)
    state.phrase ??= this.ends.push(state) - 1
    this.longest = Math.max(this.longest, phrase.length)
    return state.phrase
  }

  /**
   * @param phrase - a phrase's number.
   * @returns the longest other phrase that it ends with.
   */
  suffixOf(phrase: number): number | undefined {
    return this.end(phrase).suffix?.phrase
  }

  /**
   * Find the phrases in a text. No phrase can be added any more.
   * @param plain - a text without escapes.
   * @param visitor - told of every token, and of the longest phrase that ends with it.
   */
  scan(plain: string, { onPhrase, onToken }: PhraseVisitor): void {
    this.link()
    const { longest } = this
    /** Starts of the last tokens, as many as the longest phrase has. */
    const starts: number[] = []
    let state = this.root
    let count = 0
    eachToken(plain, token => {
      starts[count % longest] = token.start
      count += 1
      state = this.follow(state, token.loose)
      if (state.phrase !== undefined) {
        const { end } = token
        onPhrase(state.phrase, phrase => ({ start: starts[(count - this.end(phrase).depth) % longest] as number, end }))
      }
      onToken?.(token)
    })
  }

  /**
   * @param plain - a text without escapes.
   * @returns each phrase in the text, with its first place.
   */
  firstPlaces(plain: string): Map<number, Occurrence> {
    const found = new Map<number, Occurrence>()
    this.scan(plain, {
      onPhrase: (longest, placeOf) => {
        let phrase: number | undefined = longest
        for (; phrase !== undefined && !found.has(phrase); phrase = this.suffixOf(phrase)) {
          found.set(phrase, placeOf(phrase))
        }
      },
    })
    return found
  }

  private end(phrase: number): State {
    return this.ends[phrase] as State
  }

  private follow(from: State | undefined, token: string): State {
    for (let state = from; state !== undefined; state = state.suffix) {
      const next = state.after(token)
      if (next !== undefined) return next
    }
    return this.root
  }

  /** Finds every state's suffix, shorter states first. */
  private link(): void {
    if (this.linked) return
    this.linked = true
    const states = [this.root]
    for (const state of states) {
      state.eachNext((token, next) => {
        next.suffix = this.follow(state.suffix, token)
        next.phrase ??= next.suffix.phrase
        states.push(next)
      })
    }
  }
}
