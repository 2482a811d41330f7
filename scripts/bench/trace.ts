/**
 * The trace of a log with 100,000 events, whose bound is the reading of the same lines as JSON; and of logs that somebody
 * made to break it.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { hostileFiles } from '../bench-support/hostile-logs.ts'
import { writeSessionLog } from '../bench-support/session-log.ts'
import { median, type Plane } from './planes.ts'

const run = promisify(execFile)

const EVENTS = 100_000
const PASSES = 3
const TRACE = join(import.meta.dirname, '..', 'bench-support', 'measure-trace.ts')
const HOSTILE = join(import.meta.dirname, '..', 'bench-support', 'measure-hostile.ts')
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

/** What hostile logs cost. */
export interface HostileCost {
  /** CPU time of the worst text of 15,000 and of 150,000 characters. */
  readonly shortMs: number
  readonly longMs: number
  /** Peak of the resident memory with the worst file of at most 1 MB. */
  readonly peakMb: number
  /** The worst of each. */
  readonly worst: readonly string[]
}

/**
 * Measure texts of repetitions, and files that unpack to large ones.
 * @returns the worst of each.
 */
export async function measureHostile(): Promise<HostileCost> {
  const short = await hostileText(15_000)
  const long = await hostileText(150_000)
  const file = await hostileFile()
  return { shortMs: short.ms, longMs: long.ms, peakMb: file.peakRssMb, worst: [short.kind, long.kind, file.kind] }
}

async function hostileText(chars: number): Promise<{ kind: string; ms: number }> {
  const { stdout } = await run(process.execPath, ['--no-warnings', HOSTILE, `${chars}`])
  return JSON.parse(stdout) as { kind: string; ms: number }
}

async function hostileFile(): Promise<{ kind: string; peakRssMb: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'dsh-bench-'))
  try {
    let worst = { kind: 'none', peakRssMb: 0 }
    for (const [kind, make] of Object.entries(hostileFiles())) {
      const path = join(folder, 'session')
      const bytes = make()
      if (bytes.length > 1_000_000) throw new Error(`${kind}: ${bytes.length} bytes`)
      await writeFile(path, bytes)
      const { stdout } = await run(process.execPath, ['--no-warnings', TRACE, path])
      const { peakRssMb } = JSON.parse(stdout) as Pass
      if (peakRssMb > worst.peakRssMb) worst = { kind, peakRssMb }
    }
    return worst
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
