/**
 * Reads of one output stream that never end inside a character. The subprocess service decodes the bytes of each read
 * by themselves, so a read that ends within a character damages it twice: its first bytes become U+FFFD at the end of
 * this read, the others at the start of the next one. `readWhole` leaves an incomplete character at the end unread.
 *
 * The bytes themselves are out of reach, so the text has to tell. An incomplete sequence at the end always decodes to
 * one U+FFFD, and `k` last bytes that decode to exactly one are one of these:
 *
 * | k   | the last `k` bytes                                                        | held |
 * | --- | ------------------------------------------------------------------------- | ---- |
 * | 3   | the head of a four-byte character, or U+FFFD itself (EF BF BD)            | 3    |
 * | 2   | the head of a three-byte or four-byte character                           | 2    |
 * | 1   | a lead byte, or an invalid byte: what remains when no longer one is found | 1    |
 *
 * The decoder replaces each maximal head of a character by one U+FFFD, so such a run begins with its lead byte and no
 * character before it is cut. The lookalikes, U+FFFD itself and an invalid byte, are held as if incomplete until the
 * next byte or the end of the process.
 * @module @deepseek-ai/dsh-bash-local/whole-text
 */
import type { SubprocessOutputRead, SubprocessOutputReader } from '@deepseek-ai/dsh-subprocess'

const REPLACEMENT = '\uFFFD'

/**
 * Read everything from an offset on, but for an incomplete character at the end.
 * @param reader - the stream.
 * @param from - offset of the first unread byte.
 * @param isSettled - whether the process has ended: nothing can complete a character then, and nothing is left unread.
 * @returns the text, and the offset of the first byte that it leaves unread.
 */
export function readWhole(reader: SubprocessOutputReader, from: number, isSettled: boolean): SubprocessOutputRead {
  const read = reader.readFrom(from)
  if (isSettled || !read.text.endsWith(REPLACEMENT)) return read
  const held = heldBytes(reader, from, read.nextOffset)
  return { ...read, text: read.text.slice(0, -REPLACEMENT.length), nextOffset: read.nextOffset - held }
}

/** How many bytes before `end` are the U+FFFD there. Bytes before `from`, or lost from memory, belong to no such run. */
function heldBytes(reader: SubprocessOutputReader, from: number, end: number): number {
  const isOneReplacement = (bytes: number): boolean => {
    if (end - bytes < from) return false
    const { text, lossy } = reader.readFrom(end - bytes)
    return !lossy && text === REPLACEMENT
  }
  return [3, 2].find(isOneReplacement) ?? 1
}
