import { describe, expect, it } from 'vitest'
import { waitingFor } from './support/models.ts'
import { runDsh, testPlugin, type DshRun, type Side } from './support/run-dsh.ts'
import { resultsOf } from './support/session-log.ts'

/** What a stock wait takes here in full; the fork is given ten times as much, and does not use it. */
const STOCK_TIMEOUT_MS = 3_000
const FORK_TIMEOUT_MS = 30_000

/** Milliseconds from the request whose reply started the wait to the one that carries its result. */
function waited({ arrivals: [, before = NaN, after = NaN] }: DshRun): number {
  return after - before
}

describe('output of a background job during a wait (#6285)', () => {
  const command = 'sleep 0.44; echo 10%; sleep 60'

  it('stock: comes back when the wait times out', async () => {
    const run = await runDsh({ side: 'stock', task: 'Build it', model: waitingFor(command, STOCK_TIMEOUT_MS) })

    expect(run).toMatchObject({ exitCode: 0, stdout: 'Done.\n' })
    expect(waited(run)).toBeGreaterThan(STOCK_TIMEOUT_MS)
    expect(resultsOf(run.events, 'job_output')).toEqual([{ isError: false, text: '10%\n[status: running]' }])
  })

  it.each(['fork', 'installed'] as const)('%s: comes back at once, and the job goes on', async side => {
    const run = await runDsh({ side, task: 'Build it', model: waitingFor(command, FORK_TIMEOUT_MS) })

    expect(run).toMatchObject({ exitCode: 0, stdout: 'Done.\n' })
    expect(waited(run)).toBeLessThan(FORK_TIMEOUT_MS / 3)
    const [result] = resultsOf(run.events, 'job_output')
    expect(result?.isError).toBe(false)
    expect(result?.text).toMatch(/^10%\n\[wake: JOB_OUTPUT_RESUMED; .*\]\n\[status: running\]$/)
    expect(run.requests[2]?.messages.at(-1)).toMatchObject({ role: 'tool', content: result?.text })
    expect(resultsOf(run.events, 'job_kill')[0]?.text).toContain('requested cancellation of job bash-1')
  })
})

describe('a steer during a wait (#6030)', () => {
  const text = 'Stop, switch tasks'

  function runSteered(side: Side, timeoutMs: number): Promise<DshRun> {
    return runDsh({
      side,
      task: 'Build it',
      model: waitingFor('sleep 60', timeoutMs),
      insert: [testPlugin('steer', { tool: 'job_output', afterMs: 300, text })],
    })
  }

  it('stock: is read when the wait times out', async () => {
    const run = await runSteered('stock', STOCK_TIMEOUT_MS)

    expect(run).toMatchObject({ exitCode: 0, stdout: 'Done.\n' })
    expect(waited(run)).toBeGreaterThan(STOCK_TIMEOUT_MS)
    expect(run.requests[2]?.messages.at(-1)).toEqual({ role: 'user', content: text })
  })

  it.each(['fork', 'installed'] as const)('%s: ends the wait, and is in the very next request', async side => {
    const run = await runSteered(side, FORK_TIMEOUT_MS)

    expect(run).toMatchObject({ exitCode: 0, stdout: 'Done.\n' })
    expect(waited(run)).toBeLessThan(FORK_TIMEOUT_MS / 3)
    expect(resultsOf(run.events, 'job_output')[0]).toMatchObject({
      isError: false,
      text: expect.stringMatching(/\[wake: STEER_PREEMPTED; .*\]\n\[status: running\]$/) as string,
    })
    expect(run.requests[2]?.messages.at(-1)).toEqual({ role: 'user', content: text })
    expect(resultsOf(run.events, 'job_kill')[0]?.text).toContain('requested cancellation of job bash-1')
  })
})
