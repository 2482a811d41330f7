/** The user's settings over the composition entry, with the file-backed provider of the harness. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Fiber } from '@deepseek-ai/cordis'
import { FileSettingsProvider } from '@deepseek-ai/dsh-settings-file'
import { SHELL_SETTINGS_NAMESPACE } from '@deepseek-ai/dsh-shell'
import type { Config } from '../src/index.ts'
import { mountBash, temporaryFolder, type Bash } from './harness.ts'

interface WithSettings extends Bash {
  readonly provider: Fiber
  readonly file: string
}

/** Mount an executor, then a provider over a file that holds the given section for the shell. */
async function mountSettings(section: Config = {}, entry: Config = {}): Promise<WithSettings> {
  const file = join(await temporaryFolder(), 'settings.json')
  await writeFile(file, JSON.stringify({ shell: section }))
  const bash = await mountBash(entry)
  const provider = await bash.ctx.plugin(FileSettingsProvider, { path: file, watch: false })
  return { ...bash, provider, file }
}

function configOf({ ctx }: Bash): Config {
  return Reflect.get(ctx.shell, 'config') as Config
}

function timeoutOf({ ctx }: Bash): number {
  return ctx.shell.resolve({ command: 'ls' }).timeoutMs
}

describe('the settings of the shell', () => {
  it("go over the entry field by field: what the user's section leaves out is the entry's", async () => {
    const bash = await mountSettings({ timeoutMs: 5_000 }, { timeoutMs: 7_000, cwd: '/entry' })
    expect(configOf(bash)).toMatchObject({ timeoutMs: 5_000, cwd: '/entry', maxOutputBytes: 64_000 })
    expect(bash.ctx.shell.resolve({ command: 'ls' })).toMatchObject({ timeoutMs: 5_000, workdir: '/entry' })
  })

  it.each([
    [{ timeoutMs: 0 }, 'bash-local: timeoutMs must be a positive finite number'],
    [{ maxOutputBytes: -1 }, 'bash-local: maxOutputBytes must be a positive finite number'],
    [{ graceMs: 2_147_483_648 }, 'bash-local: graceMs must be no greater than 2147483647'],
  ])('are refused where they are written when no command could run with them: %j', async (bad, message) => {
    const bash = await mountSettings({ timeoutMs: 5_000 })
    await expect(bash.ctx.settings.update(SHELL_SETTINGS_NAMESPACE, bad)).rejects.toThrow(message)
    expect(timeoutOf(bash)).toBe(5_000)
    await expect(readFile(bash.file, 'utf8')).resolves.toBe(JSON.stringify({ shell: { timeoutMs: 5_000 } }))
  })

  it('count from the next command on', async () => {
    const bash = await mountSettings({ timeoutMs: 5_000 })
    const proc = bash.start('printf 0123456789abcdef')
    await bash.ctx.settings.update(SHELL_SETTINGS_NAMESPACE, { timeoutMs: 6_000, maxOutputBytes: 10 })
    expect(timeoutOf(bash)).toBe(6_000)
    const later = bash.start('printf 0123456789abcdef')
    await Promise.all([proc.done, later.done])
    expect(proc.readOutput().delta).toBe('0123456789abcdef')
    expect(later.readOutput().delta).toBe('6789abcdef')
  })

  it('are the entry again when the provider goes', async () => {
    const bash = await mountSettings({ timeoutMs: 5_000 }, { timeoutMs: 7_000 })
    await bash.provider.dispose()
    expect(timeoutOf(bash)).toBe(7_000)
  })

  it('are the entry without a provider', async () => {
    expect(timeoutOf(await mountBash({ timeoutMs: 7_000 }))).toBe(7_000)
  })

  it('are described by the schema of the executor while it is loaded, and free when it is gone', async () => {
    const { ctx, executor } = await mountSettings({ timeoutMs: 5_000 }, { graceMs: 9 })
    expect(ctx.settings.describe()).toMatchObject([
      { ns: 'shell', applies: 'live', base: { graceMs: 9 }, user: { timeoutMs: 5_000 } },
    ])
    await executor.dispose()
    expect(ctx.settings.describe()).toEqual([])
  })
})
