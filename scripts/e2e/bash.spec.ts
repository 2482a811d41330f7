import type { ModelScript } from '@deepseek-ai/dsh-test-model-server'
import { describe, expect, it } from 'vitest'
import { call } from './support/models.ts'
import { runDsh, type DshScenario, type Side } from './support/run-dsh.ts'
import { canConfine } from './support/sandbox.ts'
import { resultsOf } from './support/session-log.ts'

/** This executor itself, in the place of the sandboxed one that extends it; permission presets need a sandbox. */
const PLAIN_EXECUTOR: Partial<DshScenario> = {
  change: [
    { id: 'bash-sandbox', disabled: true },
    { id: 'permission', disabled: true },
  ],
  insert: [{ id: 'bash-local', name: '@deepseek-ai/dsh-bash-local' }],
}

const until = (file: string) => `until [ -e ${file} ]; do sleep 0.05; done`

/** A command in the foreground, and one in the background that is read in the middle of a character. */
const model: ModelScript = (_request, index) => {
  const bash = (command: string, args: Record<string, unknown> = {}) =>
    call('bash', { command, description: 'a step of the scenario', ...args })
  const steps = [
    bash('printf "中 $TERM"; echo oops >&2; exit 3'),
    bash(`printf 'up \\xe4'; touch printed; ${until('go')}; printf '\\xb8\\xad'`, { run_in_background: true }),
    bash(until('printed')),
    call('job_output', { job_id: 'bash-1' }),
    bash('touch go'),
    call('job_output', { job_id: 'bash-1', wait: true }),
  ]
  return steps[index] ?? { text: 'Done.' }
}

async function runCommands(side: Side, composition: Partial<DshScenario>) {
  const run = await runDsh({ side, task: 'Run it', model, ...composition })
  expect(run).toMatchObject({ exitCode: 0, stdout: 'Done.\n' })
  const [foreground, started] = resultsOf(run.events, 'bash')
  return {
    loaded: run.loaded['@deepseek-ai/dsh-bash-local'],
    foreground,
    started,
    reads: resultsOf(run.events, 'job_output').map(({ text }) => text),
  }
}

/** What both sides return alike. */
const SAME = {
  foreground: { isError: false, text: '中 dumb\n[stderr]\noops\n[exit code: 3]' },
  started: { isError: false, text: 'started background job bash-1' },
}

describe('commands of the model', async () => {
  it('stock: a character that a read falls into is damaged twice', async () => {
    await expect(runCommands('stock', {})).resolves.toEqual({
      ...SAME,
      loaded: expect.stringMatching(/\/node_modules\/stock-bash-local\/lib\/index\.js$/) as string,
      reads: ['up \uFFFD\n[status: running]', '\uFFFD\uFFFD\n[status: completed, exit code: 0]'],
    })
  })

  it('fork: it comes whole, by the plain executor', () => expectWhole(PLAIN_EXECUTOR))

  it('fork: it comes whole, by the sandboxed executor with full access', () => expectWhole({}))

  it.runIf(await canConfine())('fork: it comes whole, by the sandboxed executor, confined', () =>
    expectWhole({ permissionMode: 'workspace-write' }),
  )
})

async function expectWhole(composition: Partial<DshScenario>): Promise<void> {
  await expect(runCommands('fork', composition)).resolves.toEqual({
    ...SAME,
    loaded: expect.stringMatching(/\/packages\/shell\/bash-local\/lib\/index\.js$/) as string,
    reads: ['up \n[status: running]', '中\n[status: completed, exit code: 0]'],
  })
}
