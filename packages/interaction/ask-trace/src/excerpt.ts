/**
 * Short cuts from long texts, as evidence.
 * @module @deepseek-ai/dsh-ask-trace/excerpt
 */
import type { Occurrence } from './phrase-finder.ts'
import type { Excerpt } from './types.ts'

const MAX_CHARS = 80

/** What is looked at around a match: white space is shortened in it, so it may be far more than is shown. */
const REACH = 10 * MAX_CHARS

/**
 * @param plain - a text without escapes.
 * @param where - the match in it; without one, the text's beginning is shown.
 * @returns at most 80 characters on one line.
 */
export function excerptOf(plain: string, where: Occurrence = { start: 0, end: 0 }): Excerpt {
  const { start, end } = where
  const match = shorten(oneLine(plain.slice(start, Math.min(end, start + REACH))), MAX_CHARS, 'end')
  const room = MAX_CHARS - match.length
  const before = oneLine(plain.slice(Math.max(0, start - REACH), start)).trimStart()
  const after = oneLine(plain.slice(end, end + REACH)).trimEnd()
  const ahead = Math.min(before.length, Math.max(Math.floor(room / 2), room - after.length))
  const shownBefore = shorten(before, ahead, 'start', start > REACH)
  const shownAfter = shorten(after, room - ahead, 'end', plain.length - end > REACH)
  const whole = detached(shownBefore + match + shownAfter)
  const matchEnd = shownBefore.length + match.length
  return {
    before: whole.slice(0, shownBefore.length),
    match: whole.slice(shownBefore.length, matchEnd),
    after: whole.slice(matchEnd),
  }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

/** Cuts one end off, marked by an ellipsis; never inside a character. */
function shorten(text: string, room: number, side: 'start' | 'end', isCut = false): string {
  if (text.length <= room && !isCut) return text
  if (room < 1) return ''
  return side === 'start'
    ? `…${text.slice(Math.max(0, text.length - room + 1)).replace(/^[\udc00-\udfff]/, '')}`
    : `${text.slice(0, room - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** A copy of its own: a slice would keep the whole text in memory. */
function detached(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}
