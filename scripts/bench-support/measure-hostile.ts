/**
 * Traces logs with hostile texts and prints the longest time, as one JSON line:
 * `node scripts/bench-support/measure-hostile.ts <characters>`, after a build.
 * @module
 */
import { traceAsks } from '@deepseek-ai/dsh-ask-trace'
import { hostileTexts } from './hostile-logs.ts'

const PASSES = 3

/** The least CPU time of some passes, so that a busy machine counts less. */
function cpuMs(events: readonly unknown[]): number {
  const passes = Array.from({ length: PASSES }, () => {
    const start = process.cpuUsage()
    if (traceAsks(events).asks.length === 0) throw new Error('the log has no question')
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1_000
  })
  return Math.min(...passes)
}

const worst = Object.entries(hostileTexts(Number(process.argv[2])))
  .map(([kind, events]) => ({ kind, ms: cpuMs(events) }))
  .reduce((most, each) => (each.ms > most.ms ? each : most))
console.log(JSON.stringify(worst))
