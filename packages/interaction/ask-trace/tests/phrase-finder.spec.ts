import { describe, expect, it } from 'vitest'
import { PhraseFinder } from '../src/phrase-finder.ts'

const words = (text: string) => text.split(' ').filter(word => word !== '')

/** The first place of each phrase, as text. */
function find(phrases: readonly string[], text: string): Record<string, string> {
  const finder = new PhraseFinder()
  const numbers = phrases.map(phrase => finder.add(words(phrase)))
  const found = finder.firstPlaces(text)
  const places = phrases.map((phrase, index) => [phrase, found.get(numbers[index] ?? -1)] as const)
  return Object.fromEntries(
    places.flatMap(([phrase, place]) => (place === undefined ? [] : [[phrase, `${place.start}-${place.end}`]])),
  )
}

describe('phrases in a text', () => {
  it('are found as whole words, wherever they begin', () => {
    expect(find(['b c', 'c', 'x', 'bc'], 'a b  c bc')).toEqual({ 'b c': '2-6', c: '5-6', bc: '7-9' })
  })

  it('are found at the end of longer ones, and inside of them', () => {
    expect(find(['a b c d', 'b c', 'c d', 'd', 'a b x'], 'a b c d')).toEqual({
      'a b c d': '0-7',
      'b c': '2-5',
      'c d': '4-7',
      d: '6-7',
    })
  })

  it('are found behind a beginning that came to nothing', () => {
    expect(find(['a a b'], 'a a a b')).toEqual({ 'a a b': '2-7' })
    expect(find(['a b a c', 'b a b'], 'a b a b a c')).toEqual({ 'a b a c': '4-11', 'b a b': '2-7' })
  })

  it('have one number for the same tokens', () => {
    const finder = new PhraseFinder()
    expect([finder.add(['a', 'b']), finder.add(['a']), finder.add(['a', 'b'])]).toEqual([0, 1, 0])
    expect([finder.suffixOf(0), finder.suffixOf(1)]).toEqual([undefined, undefined])
  })
})
