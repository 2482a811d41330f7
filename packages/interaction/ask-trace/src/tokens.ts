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
type CharKind = 'space' | 'word' | 'sign'

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

const ASCII_KINDS: readonly CharKind[] = Array.from({ length: 0x80 }, (_, code) => kindOf(String.fromCharCode(code)))

/**
 * Undo escapes. A path such as `C:\new` suffers too, in the answer as in the text that may carry it.
 * @param text - any text.
 * @returns the text as a person would read it, in Unicode's composed normal form.
 */
export function plainText(text: string): string {
  const unescaped = text.includes('\\') ? text.replace(BACKSLASHES, unescapeOne) : text
  const decoded = unescaped.includes('&') ? unescaped.replace(ENTITY, decodeEntity) : unescaped
  return decoded.normalize('NFC')
}

function unescapeOne(_match: string, unicode?: string, byte?: string, control?: string): string {
  const hex = unicode ?? byte
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
  return control === undefined ? '' : ' '
}

function decodeEntity(match: string, decimal?: string, hex?: string, name = ''): string {
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
  if (Number.isNaN(code)) return ENTITIES.get(name.toLowerCase()) ?? match
  return code <= 0x10ffff ? String.fromCodePoint(code) : match
}

/**
 * @param plain - a text without escapes.
 * @param visit - told of every token, in order; `false` ends the pass.
 */
export function eachToken(plain: string, visit: (token: Token) => unknown): void {
  let start = 0
  while (start < plain.length) {
    let end = start + sizeAt(plain, start)
    const kind = kindAt(plain, start, end)
    if (kind === 'word') end = wordEnd(plain, end)
    if (kind !== 'space' && visit(tokenOf(plain.slice(start, end), start, end)) === false) return
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

function kindOf(char: string): CharKind {
  if (SPACE.test(char)) return 'space'
  return WORD.test(char) && !UNSPACED.test(char) ? 'word' : 'sign'
}

function kindAt(plain: string, start: number, end: number): CharKind {
  return ASCII_KINDS[plain.charCodeAt(start)] ?? kindOf(plain.slice(start, end))
}

/** One, or two for a character beyond the basic plane. */
function sizeAt(plain: string, at: number): number {
  return (plain.codePointAt(at) as number) > 0xffff ? 2 : 1
}

function wordEnd(plain: string, from: number): number {
  let at = from
  while (at < plain.length) {
    const next = at + sizeAt(plain, at)
    if (kindAt(plain, at, next) !== 'word') break
    at = next
  }
  return at
}

function tokenOf(found: string, start: number, end: number): Token {
  return QUOTES.has(found)
    ? { exact: '"', loose: '"', start, end }
    : { exact: found, loose: loosely(found), start, end }
}

function loosely(token: string): string {
  const ascii = token.toLowerCase()
  if (ASCII.test(ascii)) return ascii
  return TYPOGRAPHIC_QUOTES.test(token) ? '"' : token.normalize('NFKC').toLowerCase()
}
