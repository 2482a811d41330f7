import { describe, expect, it, vi } from 'vitest'
import { JobId } from '@deepseek-ai/dsh-jobs'
import { LocalJobRegistry } from '@deepseek-ai/dsh-jobs-local'
import { newWorld, tempFolder, textOf, type World, type WorldOptions } from './harness.ts'
import { scriptedShell, ShellScript, type TestProcess } from './scripted-shell.ts'

const JOB = JobId('bash-1')

const start = (world: World, command: string, agent?: Parameters<World['call']>[1]) =>
  world.call({ command, run_in_background: true }, agent)

const output = async (world: World, wait = true) =>
  textOf(await world.callTool('job_output', { job_id: JOB, wait, timeout_ms: 20_000, wake_on_output: false }))

/** A job of the scripted executor, with its process. */
async function scriptedJob() {
  const script = new ShellScript()
  const world = await newWorld({ shell: scriptedShell(script) })
  await start(world, 'make')
  return { world, script, process: script.processes[0] as TestProcess }
}

describe('a background job of the real shell', () => {
  it('is acknowledged at once, and gives its output and its end to job_output', async () => {
    const world = await newWorld()
    const started = await start(world, 'echo hello; exit 3')
    expect(started).toMatchObject({ isError: false, value: { kind: 'background', jobId: JOB } })
    expect(textOf(started)).toBe('started background job bash-1')
    expect(await output(world)).toBe('hello\n[status: completed, exit code: 3]')
    expect(await output(world)).toBe('(no new output)\n[status: completed, exit code: 3]')
  })

  it('is ended by job_kill', async () => {
    const world = await newWorld()
    await start(world, 'echo hello; sleep 60')
    expect(textOf(await world.callTool('job_kill', { job_id: JOB }))).toBe('requested cancellation of job bash-1')
    expect(await output(world)).toContain('[status: killed, signal: SIGTERM]')
    expect(textOf(await world.callTool('job_kill', { job_id: JOB }))).toContain('already finished')
  })

  it('that killed itself is killed', async () => {
    const world = await newWorld()
    await start(world, 'echo bye; kill -KILL $$')
    expect(await output(world)).toBe('bye\n[status: killed, signal: SIGKILL]')
  })

  it('whose shell cannot be spawned says why', async () => {
    const world = await newWorld()
    await world.call({ command: 'true', run_in_background: true, workdir: '/nowhere/at/all' })
    expect(await output(world)).toMatch(/spawn failed: [^]*\n\[status: killed, killed before exit\]$/)
  })

  it('runs in the folder that the call names, and outlives the timeout and the signal of the call', async () => {
    const world = await newWorld()
    const workdir = tempFolder()
    const abort = new AbortController()
    const command = 'until [ -e go ]; do sleep 0.05; done; pwd -P'
    await world.call({ command, workdir, timeoutMs: 1, run_in_background: true }, undefined, abort.signal)
    abort.abort()
    await world.call({ command: 'sleep 0.1; touch go', workdir })
    expect(await output(world)).toBe(`${workdir}\n[status: completed, exit code: 0]`)
  })
})

describe('a background job', () => {
  it('belongs to the agent that called, under its command', async () => {
    const script = new ShellScript()
    const world = await newWorld({ shell: scriptedShell(script) })
    const [owner, other] = [await world.agent('s1'), await world.agent('s2')]
    await start(world, 'make all', owner)
    expect(world.ctx.jobs.list(owner)).toMatchObject([{ id: JOB, kind: 'bash', label: 'make all', ownerSession: 's1' }])
    expect(world.ctx.jobs.list(owner)[0]).not.toHaveProperty('outputLimitBytes')
    expect(world.ctx.jobs.list(other)).toEqual([])
    script.processes[0]?.exit(0)
  })

  it('gives to each read what none before has returned', async () => {
    const { world, process } = await scriptedJob()
    expect(await output(world, false)).toBe('(no new output)\n[status: running]')
    process.print('10%\n')
    process.print('20%\n')
    expect(await output(world, false)).toBe('10%\n20%\n[status: running]')
    process.print('30%\n', { lossy: true, stdoutSpillPath: '/tmp/all' })
    process.exit(0)
    expect(await output(world)).toBe(
      '30%\n[some output was dropped from memory; full output: /tmp/all]\n[status: completed, exit code: 0]',
    )
  })

  it('lets output end a wait for it', async () => {
    const { world, process } = await scriptedJob()
    const wait = world.callTool('job_output', { job_id: JOB, wait: true, timeout_ms: 20_000 })
    await vi.waitFor(() => {
      expect(process.listeners.size).toBe(1)
    })
    process.print('10%\n')
    expect(textOf(await wait)).toMatch(/^10%\n\[wake: JOB_OUTPUT_RESUMED.*\]\n\[status: running\]$/)
  })

  it('tells of a denial from its end on', async () => {
    const { world, process } = await scriptedJob()
    process.print('touch: no\n')
    expect(await output(world, false)).toBe('touch: no\n[status: running]')
    process.exit(1, { mode: 'read-only', denied: true })
    const ended = '[sandbox: file access denied under read-only mode]\n[status: completed, exit code: 1]'
    expect(await output(world)).toBe(ended)
    expect(await output(world)).toBe(ended)
  })

  it('is started with the request of the call, but without its signal', async () => {
    const { script } = await scriptedJob()
    expect(script.requests).toEqual([{ command: 'make', dshEnv: expect.anything() as unknown }])
    expect(script.runs).toEqual([])
  })
})

describe('no background job is started', () => {
  async function refused(
    options: WorldOptions,
    script: ShellScript,
    before: (world: World) => unknown = () => undefined,
  ) {
    const world = await newWorld({ shell: scriptedShell(script), ...options })
    await before(world)
    const result = await start(world, 'make')
    expect(result.isError).toBe(true)
    expect(script.requests).toEqual([])
    expect(script.commands).toBe(0)
    return result
  }

  it('without the registry, and the error names the packages to load', async () => {
    expect(textOf(await refused({ jobs: false }, new ShellScript()))).toBe(
      'Error: background jobs unavailable: load @deepseek-ai/dsh-jobs and @deepseek-ai/dsh-tool-jobs',
    )
  })

  it('if the registry refuses it', async () => {
    const result = await refused({ jobs: false }, new ShellScript(), ({ ctx }) => ctx.plugin(LocalJobRegistry, {}))
    expect(textOf(result)).toContain('no job controller serves this agent')
  })

  it('if the call is aborted by then', async () => {
    const script = new ShellScript()
    const world = await newWorld({ shell: scriptedShell(script) })
    const abort = new AbortController()
    world.ctx.shellEnv.register({
      name: 'late',
      variables: { DSH_LATE: { description: 'Aborts the call while its environment is collected.' } },
      resolve: () => {
        abort.abort()
        return {}
      },
    })
    expect(await world.call({ command: 'make', run_in_background: true }, undefined, abort.signal)).toMatchObject({
      isError: true,
      error: { message: 'tool call aborted', info: { name: 'AbortError', code: 'ABORTED' } },
    })
    expect(script.requests).toEqual([])
    expect(world.ctx.jobs.list()).toEqual([])
  })

  it('if they are disabled, even where there is no registry', async () => {
    const config = { enableRunInBackground: false }
    expect(textOf(await refused({ config, jobs: false }, new ShellScript()))).toBe(
      'Error: run_in_background is disabled for this deployment (enableRunInBackground: false)',
    )
  })
})

describe('where background jobs are disabled', () => {
  const disabled = () => newWorld({ config: { enableRunInBackground: false } })

  it('the tool advertises none, and says that there are none', async () => {
    const { tool, parameters } = await disabled()
    expect(parameters).toEqual(['command', 'description', 'timeoutMs', 'workdir'])
    expect(tool.description).toContain('Background execution is not available')
    expect(JSON.stringify(tool.parameters) + tool.description).not.toMatch(/run_in_background|job_/)
  })

  it('commands run in the foreground, whatever the argument is but true', async () => {
    const world = await disabled()
    expect(textOf(await world.call({ command: 'echo hello' }))).toBe('hello\n')
    for (const value of [false, 'yes']) {
      expect(textOf(await world.call({ command: 'echo hello', run_in_background: value }))).toBe('hello\n')
    }
  })
})
