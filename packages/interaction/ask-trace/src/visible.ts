/**
 * Text from a log, made fit for a terminal: whatever would move the cursor, change colours, hide or reorder text is
 * shown as an escape instead.
 * @module @deepseek-ai/dsh-ask-trace/visible
 */

/** Control and format characters (bidirectional overrides among them), lone surrogates, line separators. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** An emoji may be held together by such characters. */
const INVISIBLE_OR_EMOJI = /\p{RGI_Emoji}|[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gv

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
  if (untrusted.search(INVISIBLE) === -1) return untrusted
  return untrusted.replace(INVISIBLE_OR_EMOJI, found => {
    if (found.search(INVISIBLE) !== 0) return found
    return SHORT.get(found) ?? `\\u{${hex(found.codePointAt(0))}}`
  })
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
