/**
 * `pnpm test:hunt`: the property tests with a large budget. Every pass runs each test file that uses fast-check with a
 * fresh seed, which it prints; each property has `HUNT_RUNS` runs (1,000) or as many as fit into 45 s. Passes follow one
 * another for `HUNT_MINUTES` (30), and the first failure ends the hunt with the line that replays it. `HUNT_SEED` is the
 * seed of the first pass. Arguments choose test files as those of vitest do.
 */
import { spawn } from 'node:child_process'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const PROPERTY_LIMIT_MS = 45_000
const ROOT = join(import.meta.dirname, '..', '..')
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')

/** The value of an environment variable that is a positive number. */
function positive(name: string, fallback: number): number {
  const value = Number(process.env[name] ?? fallback)
  if (value > 0 && Number.isFinite(value)) return value
  console.error(`hunt: ${name} must be a positive number, not "${process.env[name] ?? ''}"`)
  process.exit(2)
}

async function propertyFiles(filters: readonly string[]): Promise<string[]> {
  const files: string[] = []
  for await (const file of glob('packages/*/*/tests/**/*.spec.ts', { cwd: ROOT })) {
    const chosen = filters.length === 0 || filters.some(filter => file.includes(filter))
    if (chosen && (await readFile(join(ROOT, file), 'utf8')).includes("from 'fast-check'")) files.push(file)
  }
  return files.sort()
}

/** One pass over all files. */
async function runPass(files: readonly string[], environment: Record<string, string>): Promise<boolean> {
  const child = spawn(process.execPath, [VITEST, 'run', '--bail=1', ...files], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  })
  const { promise, resolve } = Promise.withResolvers<number | null>()
  child.on('close', resolve)
  return (await promise) === 0
}

async function hunt(filters: readonly string[]): Promise<boolean> {
  const runs = positive('HUNT_RUNS', 1_000)
  const minutes = positive('HUNT_MINUTES', 30)
  let seed = positive('HUNT_SEED', Math.ceil(Math.random() * 2 ** 31))
  const files = await propertyFiles(filters)
  if (files.length === 0) {
    console.error(`hunt: no test file with a property matches ${filters.join(', ')}`)
    process.exit(2)
  }
  const startedAt = performance.now()
  const left = () => minutes * 60_000 - (performance.now() - startedAt)
  for (let pass = 1; left() > 0; pass += 1) {
    console.log(`hunt: pass ${pass}, HUNT_SEED=${seed} HUNT_RUNS=${runs}, ${files.length} files`)
    const limitMs = Math.ceil(Math.max(1_000, Math.min(PROPERTY_LIMIT_MS, left())))
    const environment = { HUNT_RUNS: String(runs), HUNT_SEED: String(seed), HUNT_LIMIT_MS: String(limitMs) }
    if (!(await runPass(files, environment))) {
      console.log(`hunt: replay with HUNT_SEED=${seed} HUNT_RUNS=${runs} pnpm vitest run <file>`)
      return false
    }
    seed = Math.ceil(Math.random() * 2 ** 31)
  }
  console.log('hunt: nothing found')
  return true
}

process.exitCode = (await hunt(process.argv.slice(2))) ? 0 : 1
