import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { noBrowser, openPage } from './support/browser.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dsh-browser-test-'))
  vi.stubEnv('TMPDIR', folder)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

it.skipIf(noBrowser)('a page of a test runs its scripts, reports its errors, and leaves nothing behind', async () => {
  {
    await using browser = await openPage()
    await browser.page.setContent('<p>empty</p><script>document.querySelector("p").textContent = 6 * 7</script>')
    expect(await browser.page.textContent('p')).toBe('42')
    expect(browser.errors).toEqual([])

    await browser.page.setContent('<script>throw new Error("a fault of the page")</script>')
    expect(browser.errors).toEqual(['Error: a fault of the page'])
  }
  expect(readdirSync(folder)).toEqual([])
})
