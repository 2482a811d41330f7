/**
 * Finds many phrases in one text at once, in time that grows with their sizes added up: the automaton of Aho and
 * Corasick, over tokens instead of characters, so that a phrase is found as whole words only.
 * @module @deepseek-ai/dsh-ask-trace/phrase-finder
 */
import { tokens, type Token } from './tokens.ts'

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

/** One state: the beginning of at least one phrase, told by its last token and what comes before it. */
interface State {
  readonly parent: number
  readonly token: number
  readonly depth: number
  /** The longest proper suffix of this state that is a state too. */
  suffix: number
  /** The longest phrase that ends here, itself or as a suffix. */
  phrase: number | undefined
}

const ROOT = 0

/** Larger than any number of tokens, so that a state and a token make one number. */
const TOKEN_LIMIT = 2 ** 26

/** A set of phrases, and the automaton that finds them. */
export class PhraseFinder {
  private readonly tokenIds = new Map<string, number>()
  private readonly next = new Map<number, number>()
  private readonly states: State[] = [{ parent: ROOT, token: -1, depth: 0, suffix: ROOT, phrase: undefined }]
  /** The state at which each phrase ends. */
  private readonly ends: State[] = []
  private linked = false

  /**
   * Add a phrase.
   * @param phrase - its tokens, in their loose form; at least one.
   * @returns its number; the same tokens have the same one.
   */
  add(phrase: readonly string[]): number {
    let at = ROOT
    for (const token of phrase) at = this.extend(at, token)
    const state = this.state(at)
    state.phrase ??= this.ends.push(state) - 1
    return state.phrase
  }

  /**
   * @param phrase - a phrase's number.
   * @returns the longest other phrase that it ends with.
   */
  suffixOf(phrase: number): number | undefined {
    return this.state(this.end(phrase).suffix).phrase
  }

  /**
   * Find the phrases in a text. No phrase can be added any more.
   * @param plain - a text without escapes.
   * @param visitor - told of every token, and of the longest phrase that ends with it.
   */
  scan(plain: string, { onPhrase, onToken }: PhraseVisitor): void {
    this.link()
    const longest = this.ends.reduce((most, { depth }) => Math.max(most, depth), 1)
    /** Starts of the last tokens, as many as the longest phrase has. */
    const starts: number[] = []
    let at = ROOT
    let count = 0
    for (const token of tokens(plain)) {
      starts[count % longest] = token.start
      count += 1
      at = this.follow(at, this.tokenIds.get(token.loose))
      const { phrase } = this.state(at)
      const { end } = token
      if (phrase !== undefined) {
        onPhrase(phrase, ending => ({ start: starts[(count - this.end(ending).depth) % longest] as number, end }))
      }
      onToken?.(token)
    }
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

  private state(index: number): State {
    return this.states[index] as State
  }

  private end(phrase: number): State {
    return this.ends[phrase] as State
  }

  private extend(from: number, loose: string): number {
    const token = this.tokenIds.get(loose) ?? this.tokenIds.size
    this.tokenIds.set(loose, token)
    const key = from * TOKEN_LIMIT + token
    const known = this.next.get(key)
    if (known !== undefined) return known
    const depth = this.state(from).depth + 1
    const added = this.states.push({ parent: from, token, depth, suffix: ROOT, phrase: undefined }) - 1
    this.next.set(key, added)
    return added
  }

  private follow(from: number, token: number | undefined): number {
    if (token === undefined) return ROOT
    for (let at = from; ; at = this.state(at).suffix) {
      const next = this.next.get(at * TOKEN_LIMIT + token)
      if (next !== undefined) return next
      if (at === ROOT) return ROOT
    }
  }

  /** Finds every state's suffix, shorter states first. */
  private link(): void {
    if (this.linked) return
    this.linked = true
    for (const state of this.states.toSorted((a, b) => a.depth - b.depth)) {
      if (state.depth < 2) continue
      state.suffix = this.follow(this.state(state.parent).suffix, state.token)
      state.phrase ??= this.state(state.suffix).phrase
    }
  }
}
