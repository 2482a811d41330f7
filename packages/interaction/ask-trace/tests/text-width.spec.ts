import { describe, expect, it } from 'vitest'
import { clip, pad, widthOf } from '../src/text-width.ts'

describe('the width of a text', () => {
  it('is in columns', () => {
    expect(['abc', '蓝色', '😀', '👩‍👩‍👧', 'e\u0301'].map(widthOf)).toEqual([3, 4, 2, 2, 1])
  })

  it('is filled up with blanks', () => {
    expect([pad('蓝', 4), pad('abc', 2)]).toEqual(['蓝  ', 'abc'])
  })
})

describe('a text that is too wide', () => {
  it.each([
    ['abcd', 4, 'abcd'],
    ['abcde', 4, 'abc…'],
    ['😀😀', 4, '😀😀'],
    ['😀😀😀', 4, '😀…'],
    ['👩‍👩‍👧👩‍👩‍👧x', 4, '👩‍👩‍👧…'],
    ['abc', 1, '…'],
    ['abc', 0, ''],
    ['', 0, ''],
    ['x'.repeat(1_000_000), 3, 'xx…'],
  ])('is cut with an ellipsis, never inside a character: %#', (text, width, shown) => {
    expect(clip(text, width)).toBe(shown)
  })
})
