import { expect, it } from 'vitest'
import { judgeMemory, type Sample } from './memory.ts'

function samples(heapMb: (minute: number) => number): Sample[] {
  return Array.from({ length: 30 }, (_, minute) => ({ seconds: 60 * minute, heapMb: heapMb(minute), rssMb: 0 }))
}

it('takes growth in the first third for warm-up', () => {
  const verdict = judgeMemory(samples(minute => Math.min(minute, 10)))
  expect(verdict).toMatchObject({ secondThirdMb: 10, lastThirdMb: 10, isFlat: true })
  expect(verdict.slopeMbPerMinute).toBeCloseTo(0)
})

it('lets the heap breathe', () => {
  expect(judgeMemory(samples(minute => 100 + 20 * (minute % 2))).isFlat).toBe(true)
})

it('tells steady growth, and its slope', () => {
  const verdict = judgeMemory(samples(minute => 100 + minute))
  expect(verdict.isFlat).toBe(false)
  expect(verdict.slopeMbPerMinute).toBeCloseTo(1)
})
