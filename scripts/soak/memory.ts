/** Whether memory is flat, from samples of the heap that were each taken after a full collection. */

/** One sample. */
export interface Sample {
  readonly seconds: number
  readonly heapMb: number
  readonly rssMb: number
}

/** How much more the last third of a run may hold on average than the second third; the first is the warm-up. */
export const TOLERANCE = 0.05

/**
 * Take a sample; needs `--expose-gc`.
 * @param startedAt - on the clock of `performance.now()`.
 * @returns the sample.
 */
export function takeSample(startedAt: number): Sample {
  if (globalThis.gc === undefined) throw new Error('run with --expose-gc')
  globalThis.gc()
  const { heapUsed, rss } = process.memoryUsage()
  return { seconds: (performance.now() - startedAt) / 1_000, heapMb: heapUsed / 1e6, rssMb: rss / 1e6 }
}

/** What some samples say. */
export interface MemoryVerdict {
  readonly secondThirdMb: number
  readonly lastThirdMb: number
  /** By linear regression over the last two thirds. */
  readonly slopeMbPerMinute: number
  readonly isFlat: boolean
}

/**
 * Judge the samples of a run.
 * @param samples - in order of time, at least six.
 * @returns the verdict.
 */
export function judgeMemory(samples: readonly Sample[]): MemoryVerdict {
  const third = Math.floor(samples.length / 3)
  const warm = samples.slice(third)
  const secondThirdMb = mean(warm.slice(0, third).map(({ heapMb }) => heapMb))
  const lastThirdMb = mean(warm.slice(third).map(({ heapMb }) => heapMb))
  return {
    secondThirdMb,
    lastThirdMb,
    slopeMbPerMinute: 60 * slope(warm),
    isFlat: lastThirdMb <= secondThirdMb * (1 + TOLERANCE),
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function slope(samples: readonly Sample[]): number {
  const meanTime = mean(samples.map(({ seconds }) => seconds))
  const meanHeap = mean(samples.map(({ heapMb }) => heapMb))
  const covariance = mean(samples.map(({ seconds, heapMb }) => (seconds - meanTime) * (heapMb - meanHeap)))
  return covariance / mean(samples.map(({ seconds }) => (seconds - meanTime) ** 2))
}
