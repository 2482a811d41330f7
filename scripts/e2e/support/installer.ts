/** Runs `scripts/install-into-dsh` on the home of a test. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Home } from './home.ts'

const script = join(import.meta.dirname, '../../install-into-dsh')

/** How a run ended. */
export interface Installed {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Run the script to its end.
 * @param home - whose `DSH_HOME` it works on.
 * @param args - its arguments.
 * @param env - what its environment has besides.
 * @returns how it ended.
 */
export function installIntoDsh(
  home: Home,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Installed {
  const ended = spawnSync(script, args, {
    cwd: home.workspace,
    env: { ...process.env, DSH_HOME: home.dsh, ...env },
    encoding: 'utf8',
  })
  return { exitCode: ended.status, stdout: ended.stdout, stderr: ended.stderr }
}
