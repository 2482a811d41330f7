import { describe, expect, it } from 'vitest'
import { exactForm, firstTokens, plainText } from '../src/tokens.ts'

describe('a text without its escapes', () => {
  it.each([
    ['no escapes', 'Blue', 'Blue'],
    ['JSON', String.raw`a\n\"b\"\u00e9\t\\`, 'a "b"é '],
    ['JSON inside JSON', String.raw`\\\"a\\nb\\\\u00e9`, '"a bé'],
    ['an inspected string', String.raw`it\'s \x41 \v`, "it's A  "],
    ['a surrogate pair', String.raw`\ud83d\ude00`, '😀'],
    ['HTML', '&lt;b&gt; &AMP; &quot;&apos;&#39;&#x41;&nbsp;', `<b> & "''A `],
    ['no entity', '&unknown; &#99999999; &#x110000; & &;', '&unknown; &#99999999; &#x110000; & &;'],
    ['a decomposed letter', 'e\u0301', 'é'],
  ])('of %s', (_, text, plain) => {
    expect(plainText(text)).toBe(plain)
  })
})

describe('the tokens of a text', () => {
  const loose = (text: string) => firstTokens(text, 100).map(token => token.loose)

  it.each([
    ['words and signs', 'Go on: C++ or C#_1!', ['go', 'on', ':', 'c', '+', '+', 'or', 'c', '#', '_1', '!']],
    [
      'quotation marks, which are one',
      `"a" 'b' \`c\` “d”`,
      ['"', 'a', '"', '"', 'b', '"', '"', 'c', '"', '"', 'd', '"'],
    ],
    ['scripts without spaces', '我选 blueラ', ['我', '选', 'blue', 'ラ']],
    ['full-width letters', 'ＡＢ１', ['ab1']],
    ['letters and signs of two units', '𝐁lue😀😀', ['blue', '😀', '😀']],
    ['a lone half of a character', '\ud800a\udc00', ['\ud800', 'a', '\udc00']],
    ['nothing', ' \n\u00a0', []],
  ])('are %s', (_, text, tokens) => {
    expect(loose(text)).toEqual(tokens)
  })

  it('know where they stand, and how they are written', () => {
    expect(firstTokens("  Blue '😀", 2)).toEqual([
      { exact: 'Blue', loose: 'blue', start: 2, end: 6 },
      { exact: '"', loose: '"', start: 7, end: 8 },
    ])
  })

  it('are the same for texts that differ in white space only, and not in letter case', () => {
    expect(exactForm('[ "a",\n"b" ]')).toBe(exactForm(`['a','b']`))
    expect(exactForm('a b')).not.toBe(exactForm('ab'))
    expect(exactForm('a')).not.toBe(exactForm('A'))
  })
})
