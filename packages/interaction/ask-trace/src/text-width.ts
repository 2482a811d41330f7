/**
 * Text in the columns of a terminal: a wide character takes two, and an emoji of several code points is one character.
 * @module @deepseek-ai/dsh-ask-trace/text-width
 */
import stringWidth from 'string-width'

const GRAPHEMES = new Intl.Segmenter()

/** No line is wider; whatever is longer need not be measured. */
const MAX_WIDTH = 10_000

/** @returns how many columns the text takes. */
export function widthOf(text: string): number {
  return stringWidth(text)
}

/**
 * @param text - text on one line.
 * @param width - the most columns it may take.
 * @returns the text, with an ellipsis for what does not fit.
 */
export function clip(text: string, width: number): string {
  const start = text.slice(0, 4 * Math.min(width, MAX_WIDTH) + 16)
  if (start.length === text.length && widthOf(text) <= width) return text
  let shown = ''
  let used = 1
  for (const { segment } of GRAPHEMES.segment(start)) {
    used += widthOf(segment)
    if (used > width) break
    shown += segment
  }
  return width < 1 ? '' : `${shown}…`
}

/** @returns the text, with blanks up to a width. */
export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}
