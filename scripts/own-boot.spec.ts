import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dsh-own-boot-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true })
})

/**
 * Boots on a root file that has the given text until the attempt of that number, and gives how often it was tried, and
 * whether there was time between the attempts.
 */
function attempts(text: string, rightFrom: number): string {
  const root = join(folder, 'cordis.yml')
  writeFileSync(root, text)
  const code = `
    import { writeFileSync } from 'node:fs'
    import { boot } from ${JSON.stringify(join(import.meta.dirname, 'own-boot.mjs'))}
    let attempts = 0
    const start = performance.now()
    const pauses = () => (performance.now() - start >= (attempts - 1) * 99 ? 'with pauses' : 'at once')
    try {
      const ctx = await boot('dsh', ${JSON.stringify(root)}, [], () => {
        attempts += 1
        if (attempts === ${rightFrom}) writeFileSync(${JSON.stringify(root)}, '[]')
      })
      await ctx.fiber.dispose()
      console.log('booted after', attempts, pauses())
    } catch (error) {
      console.log(error instanceof Error ? 'failed after' : error, attempts, pauses())
    }`
  return execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' })
}

it.each([
  ['an empty root is read again', '', 2, 'booted after 2 with pauses\n'],
  ['a root that stays empty is given up', '', Infinity, 'failed after 5 with pauses\n'],
  ['a root that is broken otherwise is not read again', '[', Infinity, 'failed after 1 with pauses\n'],
])('%s', (_name, text, rightFrom, expected) => {
  expect(attempts(text, rightFrom)).toBe(expected)
})
