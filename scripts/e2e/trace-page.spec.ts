/** The page of `dsh-ask-trace --html`, opened in a browser as its reader has it. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ANSWER,
  asking,
  call,
  message,
  request,
  result,
  settled,
  started,
  stepStart,
  turnEnd,
  turnStart,
  type Event,
} from '../../packages/interaction/ask-trace/tests/events.ts'
import { noBrowser, openPage } from './support/browser.ts'

const bin = join(import.meta.dirname, '../../packages/interaction/ask-trace/lib/bin.js')
const HOSTILE = `</code></title><script>document.title = 'taken'</script><img src=x onerror="document.title='taken'">`

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'trace-page-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true })
})

function turn(number: number, events: readonly Event[]): Event[] {
  return [turnStart(number), ...events, turnEnd(number)]
}

/** Traces a log of these events and gives the page's file. */
function pageOf(events: readonly Event[]): string {
  const log = join(folder, 'session.jsonl')
  const page = join(folder, 'trace.html')
  const header = { type: 'session', version: 0, id: 's', createdAt: 0, delegationDepth: 0, cwd: HOSTILE }
  writeFileSync(log, [header, ...events].map(record => `${JSON.stringify(record)}\n`).join(''))
  try {
    execFileSync(process.execPath, [bin, '--html', page, log], { stdio: 'pipe' })
  } catch (error) {
    // Something was lost, and the exit code says so.
    if ((error as { status?: number }).status !== 1) throw error
  }
  return page
}

describe.skipIf(noBrowser)('the page of a trace', () => {
  it('shows what was lost first and open, with what the program returned instead, on a narrow window too', async () => {
    const page = pageOf([
      ...turn(1, [...asking('a', ANSWER), ...request()]),
      ...turn(2, [...asking('b', 'only the program knows'), ...request()]),
    ])
    await using browser = await openPage()
    await browser.page.setViewportSize({ width: 360, height: 640 })
    await browser.page.goto(pathToFileURL(page).href)

    expect(await browser.page.locator('details > summary').allInnerTexts()).toEqual([
      expect.stringMatching(/^2\. LOST-IN-PROGRAM/),
      expect.stringMatching(/^1\. delivered/),
    ])
    expect(await browser.page.getByText('only the program knows').first().isVisible()).toBe(true)
    expect(await browser.page.locator('#q1 mark').first().isVisible()).toBe(false)
    await browser.page.getByRole('link', { name: '1', exact: true }).click()
    await browser.page.locator('#q1 > summary').click()
    expect(await browser.page.locator('#q1 mark').first().innerText()).toContain('Blue')
    const overflow = await browser.page.evaluate('document.documentElement.scrollWidth - innerWidth')
    expect(overflow).toBeLessThanOrEqual(0)
    expect(browser.errors).toEqual([])
  })

  it('follows the reader: dark and light have other colours, and text that can be read on them', async () => {
    const page = pageOf([...asking('a', 'asked'), ...request()])
    await using browser = await openPage()
    await browser.page.goto(pathToFileURL(page).href)
    const colours = async (colorScheme: 'dark' | 'light') => {
      await browser.page.emulateMedia({ colorScheme })
      return browser.page.evaluate(
        "getComputedStyle(document.body).color + ' ' + getComputedStyle(document.querySelector('.layers > section')).backgroundColor",
      )
    }
    expect(await colours('light')).toBe('rgb(0, 0, 0) rgb(243, 245, 247)')
    expect(await colours('dark')).toBe('rgb(255, 255, 255) rgb(28, 33, 40)')
  })

  it('shows hostile texts as texts, and asks for nothing from elsewhere', async () => {
    const events = [
      stepStart(),
      call('a'),
      started('a'),
      settled('a', JSON.stringify({ answers: [{ id: 'q', selected: [], custom: HOSTILE }] })),
      result('a', HOSTILE),
      message({ kind: 'plugin', plugin: HOSTILE }, HOSTILE),
      ...request(),
    ]
    const page = pageOf(events)
    await using browser = await openPage()
    const requested: string[] = []
    browser.page.on('request', each => requested.push(each.url()))
    await browser.page.goto(pathToFileURL(page).href)

    expect(await browser.page.title()).toBe('What became of every question')
    expect(await browser.page.locator('script, img').count()).toBe(0)
    expect(await browser.page.locator('summary').first().innerText()).toContain('<script>')
    expect(requested).toEqual([pathToFileURL(page).href])
    expect(browser.errors).toEqual([])
  })

  it('is under 5 MB for 1,000 questions', async () => {
    const long = 'a long answer of the program '.repeat(50)
    const page = pageOf(
      Array.from({ length: 1_000 }, (_, number) =>
        turn(number, [...asking(`call-${number}`, number % 2 === 0 ? long : ANSWER), ...request()]),
      ).flat(),
    )
    expect(statSync(page).size).toBeLessThan(5_000_000)
    await using browser = await openPage()
    await browser.page.goto(pathToFileURL(page).href)
    expect(await browser.page.locator('details').count()).toBe(1_000)
  })
})
