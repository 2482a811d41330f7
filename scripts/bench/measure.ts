/** Runs the measurements, each plane in a process of its own that is made of one set of packages throughout. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { isStock, type Plane } from './planes.ts'
import type { Measurements } from './run.ts'

const run = promisify(execFile)

const RUNNER = join(import.meta.dirname, 'run.ts')
const STOCK_HOOKS = pathToFileURL(join(import.meta.dirname, '..', 'stock-hooks.mjs')).href

/** Results of one measurement on some planes. */
export type Measured<Name extends keyof Measurements, P extends Plane> = Record<
  P,
  Awaited<ReturnType<Measurements[Name]>>
>

/**
 * Measure some planes one after the other. Whatever the harness keeps at home, it keeps in a temporary folder.
 * @param name - the measurement.
 * @param planes - the planes.
 * @returns the results by plane.
 */
export async function measure<Name extends keyof Measurements, P extends Plane>(
  name: Name,
  ...planes: readonly P[]
): Promise<Measured<Name, P>> {
  const home = await mkdtemp(join(tmpdir(), 'dsh-bench-'))
  try {
    const results: [P, unknown][] = []
    for (const plane of planes) {
      const hooks = isStock(plane) ? ['--import', STOCK_HOOKS] : []
      const { stdout } = await run(process.execPath, ['--no-warnings', '--expose-gc', ...hooks, RUNNER, name, plane], {
        cwd: home,
        env: { ...process.env, HOME: home, DSH_HOME: join(home, 'dsh') },
        maxBuffer: 2 ** 26,
      })
      results.push([plane, JSON.parse(stdout)])
    }
    return Object.fromEntries(results) as Measured<Name, P>
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

/** The measurements that are a few numbers. */
type Numeric = 'guard-cost' | 'one-wait'

/**
 * Measure some planes in turn, several times, and take the least of each figure: whatever else the machine does only
 * ever adds to it.
 * @param name - the measurement.
 * @param planes - the planes.
 * @returns the least results by plane.
 */
export async function measureLeast<Name extends Numeric, P extends Plane>(
  name: Name,
  ...planes: readonly P[]
): Promise<Measured<Name, P>> {
  const rounds: Measured<Name, P>[] = []
  for (let round = 0; round < 3; round += 1) rounds.push(await measure(name, ...planes))
  const leastOf = (plane: P) => {
    const results = rounds.map(round => Object.entries<number>(round[plane]))
    const keys = (results[0] ?? []).map(([key]) => key)
    return keys.map((key, index) => [key, Math.min(...results.map(result => result[index]?.[1] ?? Infinity))])
  }
  return Object.fromEntries(planes.map(plane => [plane, Object.fromEntries(leastOf(plane))])) as Measured<Name, P>
}
