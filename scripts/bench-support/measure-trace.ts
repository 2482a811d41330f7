/**
 * Traces one log and prints what it took, as one JSON line. It runs in a process of its own, so that the peak is the
 * trace's and not its caller's: `node scripts/bench-support/measure-trace.ts <log>`, after a build.
 * @module
 */
import { stat } from 'node:fs/promises'
import { traceLog } from '@deepseek-ai/dsh-ask-trace'
import { peakRssMb } from './peak-memory.ts'

const path = process.argv[2] ?? ''
const { size } = await stat(path)
const idleRssMb = process.memoryUsage().rss / 1e6
const start = performance.now()
const { report, defect } = await traceLog(path)
const ms = performance.now() - start

console.log(
  JSON.stringify({
    fileMb: round(size / 1e6),
    ms: Math.round(ms),
    idleRssMb: round(idleRssMb),
    peakRssMb: round(peakRssMb()),
    asks: report.summary.asks,
    defect,
  }),
)

function round(value: number): number {
  return Math.round(value * 10) / 10
}
