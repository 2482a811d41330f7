import { expect, it } from 'vitest'
import { renderGroup } from './table.ts'

it('prints figures, words and gaps with their ratios', () => {
  const rows = [
    { what: 'steer', unit: 'ms', stock: 5_000, community: 1_100, ours: 250, limit: 2 },
    { what: 'answer', unit: '', stock: 'lost', ours: 'delivered' },
    { what: 'questions', unit: '', stock: 256, ours: 0, limit: 0 },
  ]
  expect(renderGroup({ title: 'Waits', setting: 'As measured.', rows })).toBe(`### Waits

As measured.

|           | unit | stock | community |      ours | limit | stock/ours | comm./ours | ours/limit |
| --------- | ---- | ----: | --------: | --------: | ----: | ---------: | ---------: | ---------: |
| steer     | ms   | 5,000 |     1,100 |       250 |     2 |        20× |       4.4× |       125× |
| answer    |      |  lost |           | delivered |       |            |            |            |
| questions |      |   256 |           |         0 |     0 |            |            |            |
`)
})
