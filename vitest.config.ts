/**
 * The source plane: every workspace package resolves to its `src`, for our own files and for the harness packages that
 * import it, so that tests need no build and there is one copy of each module.
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { sourceAliases } from './scripts/packages/source-aliases.ts'

/** A hunt (`pnpm test:hunt`) sets the seed; only then does every test file load fast-check. */
const hunting = process.env.HUNT_SEED !== undefined

export default defineConfig({
  resolve: { alias: sourceAliases(import.meta.dirname) },
  test: {
    // Tests wait for conditions, not for times: the limit is for what hangs, on a busy machine too.
    // They wait more than they compute: vitest's one worker on a machine with two cores is too few, and two leave it idle.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    testTimeout: hunting ? 90_000 : 30_000,
    hookTimeout: 30_000,
    setupFiles: hunting ? ['scripts/hunt/setup.ts'] : [],
    server: { deps: { inline: [/@deepseek-ai\//, /\/stock-[a-z-]+\//] } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['packages/*/*/tests/**/*.spec.ts', 'scripts/**/*.spec.ts'],
          exclude: ['scripts/e2e/**'],
        },
      },
      {
        // The real CLI as a process, on the built packages.
        extends: true,
        test: {
          name: 'e2e',
          include: ['scripts/e2e/*.spec.ts'],
          globalSetup: 'scripts/e2e/support/build.ts',
          testTimeout: 60_000,
          hookTimeout: 180_000,
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['packages/*/*/src/**/*.ts'],
      reporter: ['text'],
      thresholds: { perFile: true, lines: 100, branches: 100 },
    },
  },
})
