/** A home for a test: a `HOME` with a `DSH_HOME` and a workspace in it, which is gone afterwards. */
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ModelServer } from '@deepseek-ai/dsh-test-model-server'

export interface Home extends AsyncDisposable {
  readonly folder: string
  /** The `DSH_HOME`. */
  readonly dsh: string
  /** Where the processes of a test run. */
  readonly workspace: string
  /** What such a process has for its environment: nothing of the developer's own, save the PATH. */
  env(model: ModelServer): Record<string, string>
}

export async function makeHome(): Promise<Home> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'dsh-e2e-')))
  const inHome = (name: string) => join(folder, name)
  await Promise.all(['workspace', 'dsh', 'tmp'].map(name => mkdir(inHome(name))))
  return {
    folder,
    dsh: inHome('dsh'),
    workspace: inHome('workspace'),
    env: model => ({
      PATH: process.env.PATH ?? '',
      HOME: folder,
      TMPDIR: inHome('tmp'),
      DSH_HOME: inHome('dsh'),
      DSH_PERMISSION_MODE: 'danger-full-access',
      DSH_TELEMETRY_DISABLED: '1',
      DEEPSEEK_API_KEY: 'sk-scripted',
      DEEPSEEK_BASE_URL: model.url,
    }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
