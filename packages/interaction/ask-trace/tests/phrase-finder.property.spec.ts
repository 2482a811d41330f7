import fc from 'fast-check'
import { expect, it } from 'vitest'
import { PhraseFinder } from '../src/phrase-finder.ts'

const runs = { numRuns: Number(process.env.HUNT_RUNS ?? 25) }
const word = fc.constantFrom('a', 'b', 'c')
const phrase = fc.array(word, { minLength: 1, maxLength: 5 })

it('a phrase is found exactly where comparing word by word finds it', () => {
  fc.assert(
    fc.property(fc.array(phrase, { maxLength: 8 }), fc.array(word, { maxLength: 40 }), (phrases, text) => {
      const finder = new PhraseFinder()
      const numbers = phrases.map(each => finder.add(each))
      const found = finder.firstPlaces(text.join(' '))
      for (const [index, wanted] of phrases.entries()) {
        const at = text.findIndex((_, from) => wanted.every((each, offset) => text[from + offset] === each))
        const place = { start: 2 * at, end: 2 * (at + wanted.length) - 1 }
        expect(found.get(numbers[index] ?? -1)).toEqual(at === -1 ? undefined : place)
      }
    }),
    runs,
  )
})
