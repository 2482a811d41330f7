/**
 * Texts that fit into a producer's byte limit. A cut never splits a character.
 * @module @deepseek-ai/dsh-tool-jobs/byte-limit
 */
import { TextRetainer } from '@deepseek-ai/dsh-output-retention'

/**
 * Count UTF-8 bytes, which is what every limit counts.
 * @param text - any text.
 * @returns its length in bytes.
 */
export function byteLength(text: string): number {
  return Buffer.byteLength(text)
}

/**
 * Keep the start or the end of a text.
 * @param kind - which end is kept.
 * @param text - the text.
 * @param maxBytes - room for it, 0 or more.
 * @returns as many whole characters as fit.
 */
export function cut(kind: 'head' | 'tail', text: string, maxBytes: number): string {
  const retainer = new TextRetainer({ kind, maxBytes })
  retainer.push(text)
  return retainer.finish().text
}

/**
 * Fit a text whose ending matters most: `body` loses its start, and a marker between the two says so. A body that ends
 * with the marker, the producer's own, is not marked again. Where even marker and ending are too long, their end is kept.
 * @param body - what may be cut.
 * @param ending - what follows it, with its own newline.
 * @param marker - the line that says that something was cut.
 * @param limit - most bytes of the whole.
 * @returns the text, unchanged if it fits.
 */
export function fitTail(body: string, ending: string, marker: string, limit: number): string {
  const whole = body + ending
  if (byteLength(whole) <= limit) return whole
  if (body.endsWith(marker)) return cut('tail', whole, limit)
  const kept = `\n${marker}${ending}`
  const room = limit - byteLength(kept)
  return room < 0 ? cut('tail', kept, limit) : cut('tail', body, room) + kept
}
