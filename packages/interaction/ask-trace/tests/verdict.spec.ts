import { describe, expect, it } from 'vitest'
import { verdictOf, type Layers } from '../src/verdict.ts'

const layers = (change: Partial<Layers>): Layers => ({
  inner: 'answered',
  outer: 'lacks',
  context: 'no-request-yet',
  writeBack: 'none',
  running: false,
  ...change,
})

describe('the table of verdicts', () => {
  it.each<[Partial<Layers>, string]>([
    [{ inner: 'pending' }, 'stalled'],
    [{ inner: 'denied', outer: 'carries', context: 'carries' }, 'denied'],
    [{ inner: 'failed', outer: 'carries', context: 'carries' }, 'failed'],
    [{ inner: 'failed', context: 'carries', writeBack: 'entered' }, 'delivered-by-write-back'],
    [{ inner: 'failed', context: 'lacks', writeBack: 'entered' }, 'failed'],
    [{ context: 'carries', outer: 'carries' }, 'delivered'],
    [{ context: 'carries', outer: 'carries', writeBack: 'entered' }, 'delivered'],
    [{ context: 'carries' }, 'delivered'],
    [{ context: 'carries', writeBack: 'entered' }, 'delivered-by-write-back'],
    [{ context: 'carries', outer: 'missing', writeBack: 'entered' }, 'delivered-by-write-back'],
    [{ context: 'lacks' }, 'lost-in-program'],
    [{ context: 'lacks', outer: 'missing' }, 'lost-in-program'],
    [{ context: 'lacks', outer: 'carries' }, 'lost-in-context'],
    [{ outer: 'carries' }, 'awaiting-request'],
    [{ writeBack: 'queued' }, 'awaiting-request'],
    [{ writeBack: 'entered' }, 'awaiting-request'],
    [{ outer: 'missing', running: true }, 'awaiting-request'],
    [{ outer: 'missing' }, 'lost-in-program'],
    [{}, 'lost-in-program'],
  ])('%j is %s', (change, verdict) => {
    expect(verdictOf(layers(change))).toBe(verdict)
  })
})
