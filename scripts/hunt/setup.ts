/**
 * Test set-up of a hunt: every property of the process takes the hunt's seed and number of runs, unless it sets its own
 * number (from `HUNT_RUNS` too, then), and begins no run after the hunt's time limit.
 */
import { configureGlobal, installGlobalPlugin, PreconditionFailure, type PluginInstance } from 'fast-check'

const { HUNT_SEED, HUNT_RUNS, HUNT_LIMIT_MS = 'Infinity' } = process.env

// Taken before any test fakes the clock.
const now = performance.now.bind(performance)

configureGlobal({
  ...(HUNT_SEED !== undefined && { seed: Number(HUNT_SEED) }),
  ...(HUNT_RUNS !== undefined && { numRuns: Number(HUNT_RUNS) }),
})

// fast-check's own limit leaves a run that is under way behind, with whatever it has mounted.
installGlobalPlugin(<T>(): PluginInstance<T> => {
  const end = now() + Number(HUNT_LIMIT_MS)
  return { decorateRun: run => value => (now() < end ? run(value) : new PreconditionFailure(true)) }
})
