/**
 * Texts as sequences of tokens, so that one answer is the same answer however a program prints it: escapes of JSON, of
 * inspected strings and of HTML are undone, white space counts for nothing, every quotation mark is one.
 * @module @deepseek-ai/dsh-ask-trace/tokens
 */

/** One word, one character of a script that is written without spaces, or one sign. */
export interface Token {
  /** As it stands there. */
  readonly exact: string
  /** Without letter case, and without compatibility forms such as full-width letters. */
  readonly loose: string
  readonly start: number
  readonly end: number
}

const SPACE = /\s/u
const WORD = /[\p{L}\p{N}\p{M}_]/u

/** Scripts that are written without spaces have no whole words. */
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}]/u

/** What a character is to a token. */
const SPACE_CHAR = 1
const WORD_CHAR = 2
const SIGN_CHAR = 3

/** Any number of backslashes: JSON inside JSON doubles them at each level. */
const BACKSLASHES = /\\+(?:u([\da-f]{4})|x([\da-f]{2})|([bfnrtv]))?/gi
const ENTITY = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|apos|gt|lt|nbsp|quot));/gi
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['apos', "'"],
  ['gt', '>'],
  ['lt', '<'],
  ['nbsp', ' '],
  ['quot', '"'],
])

const QUOTES: ReadonlySet<string> = new Set(['"', "'", '`'])
const ASCII = /^[\x00-\x7f]*$/
const TYPOGRAPHIC_QUOTES = /[‘’‚‛“”„‟]/

/** The loose forms of the characters that were met so far as a token: there are 65,536 at most. */
const LOOSE_CHARS = new Map<string, string>()

/** The kinds of the characters of the basic plane that were met so far. */
const KINDS = new Uint8Array(0x1_0000)

/**
 * Undo escapes. A path such as `C:\new` suffers too, in the answer as in the text that may carry it.
 * @param text - any text.
 * @returns the text as a person would read it, in Unicode's composed normal form.
 */
export function plainText(text: string): string {
  const unescaped = text.includes('\\') ? text.replace(BACKSLASHES, unescapeOne) : text
  const decoded = unescaped.includes('&') ? unescaped.replace(ENTITY, decodeEntity) : unescaped
  // Most texts are ASCII, of which normalizing would make two copies.
  return ASCII.test(decoded) ? decoded : decoded.normalize('NFC')
}

function unescapeOne(_match: string, unicode?: string, byte?: string, control?: string): string {
  const hex = unicode ?? byte
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
  return control === undefined ? '' : ' '
}

function decodeEntity(match: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return ENTITIES.get(name.toLowerCase()) as string
  const code = Number(decimal ?? `0x${hex as string}`)
  return code <= 0x10ffff ? String.fromCodePoint(code) : match
}

/**
 * @param plain - a text without escapes.
 * @param visit - told of every token, in order; `false` ends the pass.
 */
export function eachToken(plain: string, visit: (token: Token) => unknown): void {
  let start = 0
  while (start < plain.length) {
    const kind = kindAt(plain, start)
    const end = kind === WORD_CHAR ? wordEnd(plain, start) : charEnd(plain, start)
    if (kind !== SPACE_CHAR && visit(tokenOf(plain.slice(start, end), start, end)) === false) return
    start = end
  }
}

/**
 * @param plain - a text without escapes.
 * @param most - how many tokens to take.
 */
export function firstTokens(plain: string, most: number): Token[] {
  const found: Token[] = []
  eachToken(plain, token => found.push(token) < most)
  return found
}

/**
 * @param plain - a text without escapes.
 * @returns one string for all texts that have the same tokens, letter case and compatibility forms included.
 */
export function exactForm(plain: string): string {
  const found: string[] = []
  eachToken(plain, ({ exact }) => found.push(exact))
  return found.join('\u0000')
}

function kindOf(code: number): number {
  const char = String.fromCodePoint(code)
  if (SPACE.test(char)) return SPACE_CHAR
  return WORD.test(char) && !UNSPACED.test(char) ? WORD_CHAR : SIGN_CHAR
}

function kindAt(plain: string, at: number): number {
  const code = codeAt(plain, at)
  const known = KINDS[code]
  if (known !== undefined && known > 0) return known
  const kind = kindOf(code)
  KINDS[code] = kind
  return kind
}

function codeAt(plain: string, at: number): number {
  return plain.codePointAt(at) as number
}

/** Behind the character: two on for one beyond the basic plane. */
function charEnd(plain: string, at: number): number {
  return codeAt(plain, at) > 0xffff ? at + 2 : at + 1
}

function wordEnd(plain: string, from: number): number {
  let at = from
  while (at < plain.length && kindAt(plain, at) === WORD_CHAR) at = charEnd(plain, at)
  return at
}

function tokenOf(found: string, start: number, end: number): Token {
  if (QUOTES.has(found)) return { exact: '"', loose: '"', start, end }
  return { exact: found, loose: found.length === 1 ? looseChar(found) : loosely(found), start, end }
}

function looseChar(char: string): string {
  const known = LOOSE_CHARS.get(char)
  if (known !== undefined) return known
  const loose = loosely(char)
  LOOSE_CHARS.set(char, loose)
  return loose
}

function loosely(token: string): string {
  const ascii = token.toLowerCase()
  if (ASCII.test(ascii)) return ascii
  return TYPOGRAPHIC_QUOTES.test(token) ? '"' : token.normalize('NFKC').toLowerCase()
}
