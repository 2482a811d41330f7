import { describe, expect, it } from 'vitest'
import { harnessVersions, rangeProblems } from './peer-range.ts'

const own = '0.1.0-rc.8.fix.1'
const lines = {
  published: ['0.1.0-rc.6', '0.1.0-rc.8', '0.1.5-rc.2', '0.2.0-rc.1'],
  tested: ['0.1.0-rc.8', '0.1.5-rc.2'],
}

describe('a peer range', () => {
  it('is right when it admits the tested versions and our own, and no other', () => {
    expect(rangeProblems('^0.1.0-rc.8 || ^0.1.5-rc.2', own, lines)).toEqual([])
  })

  it.each([
    ['^0.1.0-rc.8', ['"^0.1.0-rc.8" does not admit 0.1.5-rc.2, which is tested']],
    ['>=0.1.0-rc.8', ['">=0.1.0-rc.8" does not admit 0.1.5-rc.2, which is tested']],
    ['^0.1.0-rc.6 || ^0.1.5-rc.2', ['"^0.1.0-rc.6 || ^0.1.5-rc.2" admits 0.1.0-rc.6, which is not tested']],
    ['0.1.0-rc.8 || 0.1.5-rc.2', ['"0.1.0-rc.8 || 0.1.5-rc.2" does not admit 0.1.0-rc.8.fix.1, which is tested']],
  ])('%s is wrong', (range, problems) => {
    expect(rangeProblems(range, own, lines)).toEqual(problems)
  })
})

describe('the list of harness versions', () => {
  it('has every tested version among the published ones', () => {
    expect(harnessVersions.published).toEqual(expect.arrayContaining([...harnessVersions.tested]))
  })
})
