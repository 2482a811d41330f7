import { describe, expect, it } from 'vitest'
import { verdictOf, type Layers } from '../src/verdict.ts'

const layers = (change: Partial<Layers>): Layers => ({
  inner: 'answered',
  outer: 'none',
  context: 'no-request-yet',
  element: 'none',
  isRunning: false,
  isWithdrawn: false,
  isScalar: false,
  ...change,
})

describe('the table of verdicts', () => {
  it.each<[Partial<Layers>, string]>([
    [{ inner: 'pending' }, 'stalled'],
    [{ inner: 'denied', outer: 'strong', context: 'strong' }, 'denied'],
    [{ inner: 'failed', outer: 'strong', context: 'strong' }, 'failed'],
    [{ inner: 'failed', context: 'strong', element: 'entered' }, 'delivered-by-write-back'],
    [{ inner: 'failed', context: 'none', element: 'entered' }, 'failed'],
    [{ inner: 'failed', context: 'strong', isWithdrawn: true }, 'withdrawn'],
    [{ inner: 'unreadable', outer: 'strong', context: 'strong' }, 'unknown'],
    [{ inner: 'unreadable', context: 'strong', element: 'entered' }, 'delivered-by-write-back'],
    [{ context: 'strong', outer: 'strong' }, 'delivered'],
    [{ context: 'strong', outer: 'strong', element: 'entered' }, 'delivered'],
    [{ context: 'strong', element: 'entered' }, 'delivered-by-write-back'],
    [{ context: 'strong', outer: 'weak', element: 'entered' }, 'delivered-by-write-back'],
    [{ context: 'strong', outer: 'missing', element: 'entered' }, 'delivered-by-write-back'],
    [{ context: 'weak', outer: 'weak' }, 'delivered?'],
    [{ context: 'weak' }, 'delivered?'],
    [{ context: 'weak', isScalar: true }, 'delivered?'],
    [{ context: 'none' }, 'lost-in-program'],
    [{ context: 'none', outer: 'missing' }, 'lost-in-program'],
    [{ context: 'none', isScalar: true }, 'lost?'],
    [{ context: 'none', outer: 'unreadable' }, 'unknown'],
    [{ context: 'none', outer: 'strong' }, 'lost-in-context'],
    [{ context: 'none', outer: 'weak' }, 'lost-in-context'],
    [{ outer: 'strong' }, 'awaiting-request'],
    [{ element: 'queued' }, 'awaiting-request'],
    [{ element: 'entered' }, 'awaiting-request'],
    [{ outer: 'missing', isRunning: true }, 'awaiting-request'],
    [{ outer: 'weak' }, 'delivered?'],
    [{ outer: 'missing' }, 'lost-in-program'],
    [{ outer: 'unreadable' }, 'unknown'],
    [{ isScalar: true }, 'lost?'],
    [{}, 'lost-in-program'],
  ])('%j is %s', (change, verdict) => {
    expect(verdictOf(layers(change))).toBe(verdict)
  })
})
