/**
 * Brings the built packages up to date before the end-to-end tests, which run what a user gets: by `scripts/dsh`, as a
 * user does.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

export function setup(): void {
  execFileSync(join(import.meta.dirname, '../../../scripts/dsh'), ['--version'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
