/** A stock `dsh web` with the packages in its profile, and without them again, as its user sees it in a browser. */
import { join } from 'node:path'
import { startModelServer, type ModelRequest, type ModelScript } from '@deepseek-ai/dsh-test-model-server'
import { describe, expect, it } from 'vitest'
import { noBrowser, openPage } from './support/browser.ts'
import { makeHome, type Home } from './support/home.ts'
import { installIntoDsh } from './support/installer.ts'
import { ANSWER, ASK_AND_FORGET, QUESTION, program, waitingFor } from './support/models.ts'
import { stockDsh } from './support/stock-tree.ts'
import { answer, seen, startSession, startWeb, steer } from './support/web.ts'

const root = join(import.meta.dirname, '../..')
const STEER = 'Stop, switch tasks'
/** Longer than a page can take on a busy machine. */
const LONG_WAIT_MS = 120_000

/** Waits for a job, then asks in a program that throws the answer away. */
function modelWaiting(timeoutMs: number): ModelScript {
  const waiting = waitingFor('sleep 60', timeoutMs)
  return (request, index) =>
    index < 3 ? waiting(request, index) : index === 3 ? program(ASK_AND_FORGET) : { text: 'The end.' }
}

interface WebRun {
  readonly requests: readonly ModelRequest[]
  /** Milliseconds from the request whose reply started the wait to the one that carries its result. */
  readonly waitedMs: number
  readonly loaded: Readonly<Record<string, string>>
  /** What the page itself reported. */
  readonly errors: readonly string[]
}

/** The user of a session steers while the model waits, and answers its question. */
async function runSession(home: Home, timeoutMs: number): Promise<WebRun> {
  const script = modelWaiting(timeoutMs)
  const arrivals: number[] = []
  const steered = Promise.withResolvers<undefined>()
  await using model = await startModelServer(async (request, index) => {
    arrivals.push(performance.now())
    // However slow the page is: the steer comes before anything that follows the wait.
    if (index === 2) await steered.promise
    return script(request, index)
  })
  const command = [process.execPath, '--import', join(root, 'scripts/show-loaded.mjs'), stockDsh]
  await using web = await startWeb(command, home, model, { DSH_TOOLS_MODE: 'both' })
  await using browser = await openPage()
  const { page, errors } = browser
  await startSession(page, web, home, 'Build it')
  await seen(page, 'job_output')
  await steer(page, STEER)
  await seen(page, STEER)
  steered.resolve(undefined)
  await answer(page, QUESTION, ANSWER)
  await seen(page, 'The end.')
  expect(model.failures).toEqual([])
  const [, before = NaN, after = NaN] = arrivals
  return { requests: model.requests, waitedMs: after - before, loaded: web.loaded(), errors }
}

/** What the model saw last in one request. */
function lastSeen({ requests }: WebRun, index: number, count: number) {
  return requests[index]?.messages.slice(-count)
}

describe.skipIf(noBrowser)('dsh web of a stock installation', { timeout: 180_000 }, () => {
  const profile = ['--profile', 'web', '--dsh', stockDsh]

  it('with the packages: a steer ends the wait, and a thrown-away answer is written back', async () => {
    await using home = await makeHome()
    expect(installIntoDsh(home, profile)).toMatchObject({ exitCode: 0, stderr: '' })

    const run = await runSession(home, LONG_WAIT_MS)

    expect(run.waitedMs).toBeLessThan(LONG_WAIT_MS)
    expect(lastSeen(run, 2, 2)).toEqual([
      expect.objectContaining({ content: expect.stringContaining('STEER_PREEMPTED') as string }),
      { role: 'user', content: STEER },
    ])
    expect(lastSeen(run, 4, 2)).toEqual([
      expect.objectContaining({ role: 'tool', content: 'asked' }),
      { role: 'user', content: expect.stringContaining(ANSWER) as string },
    ])
    const { '@deepseek-ai/dsh-user-questions': seam = '', ...fixed } = run.loaded
    expect(seam).toMatch(/stock-dsh-.*\/node_modules\/@deepseek-ai\/dsh-user-questions\//)
    expect(Object.keys(fixed)).toContain('@deepseek-ai/dsh-tool-jobs')
    expect(Object.values(fixed).filter(path => !path.startsWith(`${home.dsh}/profiles/web/node_modules/`))).toEqual([])
    expect(run.errors).toEqual([])
  })

  it('after they are taken out: the steer waits, the answer is lost, and all is stock', async () => {
    await using home = await makeHome()
    expect(installIntoDsh(home, profile)).toMatchObject({ exitCode: 0 })
    expect(installIntoDsh(home, [...profile, '--remove'])).toMatchObject({ exitCode: 0, stderr: '' })

    const run = await runSession(home, 3_000)

    expect(run.waitedMs).toBeGreaterThan(3_000)
    expect(lastSeen(run, 4, 1)).toEqual([expect.objectContaining({ role: 'tool', content: 'asked' })])
    expect(run.requests.filter(({ messages }) => JSON.stringify(messages).includes(ANSWER))).toEqual([])
    expect(Object.keys(run.loaded)).toContain('@deepseek-ai/dsh-tool-jobs')
    expect(Object.values(run.loaded).filter(path => !path.includes('/stock-dsh-'))).toEqual([])
  })
})
