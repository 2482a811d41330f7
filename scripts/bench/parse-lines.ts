/**
 * Reads the lines of an uncompressed session log as JSON and does nothing with them, in a process of its own. Prints what
 * `measure-trace.ts` prints of it.
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { peakRssMb } from '../bench-support/peak-memory.ts'

const startedAt = performance.now()
let lines = 0
for await (const line of createInterface(createReadStream(process.argv[2] ?? ''))) {
  if (typeof JSON.parse(line) === 'object') lines += 1
}
const ms = performance.now() - startedAt
if (lines === 0) throw new Error('the log has no lines')
process.stdout.write(`${JSON.stringify({ ms, peakRssMb: peakRssMb() })}\n`)
