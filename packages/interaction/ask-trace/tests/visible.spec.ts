import { describe, expect, it } from 'vitest'
import { visible, visibleJson } from '../src/visible.ts'

const NASTY = 'a\u001b[31mred\u0007\r\n\tb\u009bc\u202ed\u200b\u2028\u{e0001}\ud800f'

describe('text on a terminal', () => {
  it('shows what would act on the terminal, and hides nothing', () => {
    expect(visible(NASTY)).toBe(
      String.raw`a\u{1b}[31mred\u{7}\r\n\tb\u{9b}c\u{202e}d\u{200b}\u{2028}\u{e0001}\u{d800}f`,
    )
  })

  it('leaves letters of every script as they are', () => {
    expect(visible('Größe, 蓝色, حبر, 😀')).toBe('Größe, 蓝色, حبر, 😀')
  })

  it('leaves emoji whole, and shows what holds no emoji together', () => {
    expect(visible('👩‍👩‍👧 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿\n')).toBe(String.raw`👩‍👩‍👧 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿\n`)
    expect(visible('a\u200db')).toBe(String.raw`a\u{200d}b`)
  })
})

describe('JSON on a terminal', () => {
  it('is the same value, without any such character', () => {
    const json = visibleJson({ [NASTY]: [NASTY] })
    expect(JSON.parse(json)).toEqual({ [NASTY]: [NASTY] })
    expect(json.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
  })
})
