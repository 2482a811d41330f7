/** The trace of a log with 100,000 events; its bound is the reading of the same lines as JSON. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { writeSessionLog } from '../bench-support/session-log.ts'
import { median, type Plane } from './planes.ts'

const run = promisify(execFile)

const EVENTS = 100_000
const PASSES = 3
const TRACE = join(import.meta.dirname, '..', 'bench-support', 'measure-trace.ts')
const PARSE = join(import.meta.dirname, 'parse-lines.ts')

/** What one pass prints. */
interface Pass {
  readonly ms: number
  readonly peakRssMb: number
}

/** What the passes over the log took. */
export interface TraceCost {
  /** Size of the log's text. */
  readonly plainMb: number
  /** Size of the log as the harness keeps it. */
  readonly fileMb: number
  /** Of the text. */
  readonly mbPerSecond: number
  /** Peak of the resident memory, Node's own included. */
  readonly peakMb: number
}

/**
 * Measure a plane.
 * @param plane - `limit` for the bound.
 * @returns medians.
 */
export async function measureTrace(plane: Plane): Promise<TraceCost> {
  const folder = await mkdtemp(join(tmpdir(), 'dsh-bench-'))
  try {
    const path = join(folder, 'session.jsonl')
    const compression = plane === 'limit' ? 'none' : 'zstd'
    const { plainBytes, fileBytes } = await writeSessionLog(path, { events: EVENTS, compression })
    const passes: Pass[] = []
    for (let pass = 0; pass < PASSES; pass += 1) {
      const { stdout } = await run(process.execPath, ['--no-warnings', plane === 'limit' ? PARSE : TRACE, path])
      passes.push(JSON.parse(stdout) as Pass)
    }
    return {
      plainMb: plainBytes / 1e6,
      fileMb: fileBytes / 1e6,
      mbPerSecond: plainBytes / 1e3 / median(passes.map(({ ms }) => ms)),
      peakMb: median(passes.map(({ peakRssMb }) => peakRssMb)),
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
