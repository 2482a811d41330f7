/**
 * How many values a line of JSON holds. A value takes far more memory than its text: 60 MB of `{},{},…` take 2 GB.
 * @module @deepseek-ai/dsh-ask-trace/value-count
 */

/** Shorter lines cannot hold too many. */
const SHORT_LINE_CHARS = 1024 * 1024
const MAX_VALUES = 500_000

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** `[`, `{` and `,` begin a value, or separate it from the next. */
const VALUE_SIGNS: ReadonlySet<number> = new Set([0x5b, 0x7b, 0x2c])

/**
 * @param line - a line of JSON.
 * @returns whether it holds more values than any event does.
 */
export function hasTooManyValues(line: string): boolean {
  if (line.length < SHORT_LINE_CHARS) return false
  let values = 0
  let inString = false
  for (let at = 0; at < line.length && values <= MAX_VALUES; at += 1) {
    const code = line.charCodeAt(at)
    if (code === QUOTE) inString = !inString
    else if (inString && code === BACKSLASH) at += 1
    else if (!inString && VALUE_SIGNS.has(code)) values += 1
  }
  return values > MAX_VALUES
}
