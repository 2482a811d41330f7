/**
 * The source plane: every workspace package resolves to its `src`, for our own files and for the harness packages that
 * import it, so that tests need no build and there is one copy of each module.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

interface Manifest {
  name: string
  exports: Record<string, unknown>
}

const packagesDir = join(import.meta.dirname, 'packages')

/** One alias an export entry: `.` is `src/index.ts`, `./x` is `src/x.ts`. */
function sourceAliases() {
  return readdirSync(packagesDir).flatMap(group =>
    readdirSync(join(packagesDir, group)).flatMap(name => {
      const dir = join(packagesDir, group, name)
      const manifest = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as Manifest
      return Object.keys(manifest.exports)
        .filter(entry => !entry.includes('*') && !entry.endsWith('.json'))
        .map(entry => ({
          find: new RegExp(`^${manifest.name}${entry.slice(1)}$`),
          replacement: join(dir, 'src', entry === '.' ? 'index.ts' : `${entry.slice(2)}.ts`),
        }))
    }),
  )
}

export default defineConfig({
  resolve: { alias: sourceAliases() },
  test: {
    include: ['packages/*/*/tests/**/*.spec.ts', 'scripts/**/*.spec.ts'],
    // Tests wait for conditions, not for times: the limit is for what hangs, on a busy machine too.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    server: { deps: { inline: [/@deepseek-ai\//, /\/stock-[a-z-]+\//] } },
    coverage: {
      provider: 'v8',
      include: ['packages/*/*/src/**/*.ts'],
      reporter: ['text'],
      thresholds: { perFile: true, lines: 100, branches: 100 },
    },
  },
})
