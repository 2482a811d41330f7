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

const TOKEN =
  // eslint-disable-next-line max-len -- one alternative for each kind of token
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}]|[[\p{L}\p{N}\p{M}_]--[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}]]+|\S/gv

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
const TYPOGRAPHIC_QUOTES = /[‘’‚‛“”„‟]/
const ASCII = /^[\x00-\x7f]*$/

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
 * @returns its tokens, one at a time.
 */
export function* tokens(plain: string): Generator<Token> {
  for (const { 0: found, index } of plain.matchAll(TOKEN)) {
    yield { exact: QUOTES.has(found) ? '"' : found, loose: loosely(found), start: index, end: index + found.length }
  }
}

/**
 * @param plain - a text without escapes.
 * @param most - how many tokens to take.
 */
export function firstTokens(plain: string, most: number): Token[] {
  const found: Token[] = []
  for (const token of tokens(plain)) {
    if (found.push(token) === most) break
  }
  return found
}

function loosely(token: string): string {
  if (QUOTES.has(token) || TYPOGRAPHIC_QUOTES.test(token)) return '"'
  return (ASCII.test(token) ? token : token.normalize('NFKC')).toLowerCase()
}

/**
 * @param plain - a text without escapes.
 * @returns one string for all texts that have the same tokens, letter case and compatibility forms included.
 */
export function exactForm(plain: string): string {
  return Array.from(tokens(plain), ({ exact }) => exact).join('\u0000')
}
