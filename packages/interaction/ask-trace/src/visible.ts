/**
 * Text from a log, made fit for a terminal: whatever would move the cursor, change colours, hide or reorder text is
 * shown as an escape instead.
 * @module @deepseek-ai/dsh-ask-trace/visible
 */

/** Control and format characters (bidirectional overrides among them), lone surrogates, line separators. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const SHORT: ReadonlyMap<string, string> = new Map([
  ['\n', String.raw`\n`],
  ['\r', String.raw`\r`],
  ['\t', String.raw`\t`],
])

/**
 * @param untrusted - any text.
 * @returns the text on one line, with every such character written out, as `\n` or `\u{1b}`.
 */
export function visible(untrusted: string): string {
  return untrusted.replace(INVISIBLE, char => SHORT.get(char) ?? `\\u{${hex(char.codePointAt(0))}}`)
}

/**
 * @param value - any JSON value.
 * @returns its JSON, in which such characters stand as `\uXXXX`, which is the same value to every reader.
 */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2)
    .split('\n')
    .map(line => line.replace(INVISIBLE, char => [...utf16(char)].join('')))
    .join('\n')
}

function* utf16(char: string): Generator<string> {
  for (let at = 0; at < char.length; at += 1) yield `\\u${hex(char.charCodeAt(at)).padStart(4, '0')}`
}

function hex(code = 0): string {
  return code.toString(16)
}

/**
 * @param line - text on one line.
 * @param width - the most characters it may have.
 * @returns the text, with an ellipsis for what does not fit.
 */
export function clip(line: string, width: number): string {
  const chars = Array.from(line.slice(0, 2 * width + 2))
  return chars.length > width ? `${chars.slice(0, width - 1).join('')}…` : line
}
