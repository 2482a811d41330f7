import { describe, expect, it, vi } from 'vitest'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import { JsonlSessionPersistence } from '@deepseek-ai/dsh-session-persistence-jsonl'
import { newWorld, tempFolder, textOf, type World } from './harness.ts'
import { scriptedShell, ShellScript } from './scripted-shell.ts'

const MANAGED = { command: "env | grep '^DSH_' | sort" }

type Environment = Record<string, string>

function parse(lines: string): Environment {
  return Object.fromEntries(
    lines.split('\n').flatMap(line => (line.includes('=') ? [line.split('=', 2)] : [])),
  ) as Environment
}

/** The managed variables that a command of the agent gets, in the foreground and as a job. */
async function environmentOf(world: World, agent?: Agent): Promise<Environment> {
  const foreground = textOf(await world.call(MANAGED, agent))
  const { value } = await world.call({ ...MANAGED, run_in_background: true }, agent)
  const { jobId } = value as { jobId: string }
  const output = await world.callTool('job_output', { job_id: jobId, wait: true, wake_on_output: false }, agent)
  expect(textOf(output)).toBe(`${foreground}[status: completed, exit code: 0]`)
  return parse(foreground)
}

describe('the managed environment of a command', () => {
  it('is announced as a whole: the description names no variable of the session', async () => {
    const { tool } = await newWorld()
    expect(tool.description).toContain('$DSH_*')
    expect(tool.description).not.toMatch(/DSH_[A-Z]/)
    expect(JSON.stringify(tool.parameters)).not.toContain('DSH_')
  })

  it('has the home, the flag, the session and its log, and nothing from outside', async () => {
    vi.stubEnv('DSH_SESSION_ID', 'stale')
    vi.stubEnv('DSH_STALE', 'stale')
    try {
      const before = { ...process.env }
      const world = await newWorld()
      await world.ctx.plugin(JsonlSessionPersistence, { root: tempFolder() })
      const agent = await world.agent('s1', tempFolder())
      expect(await environmentOf(world, agent)).toEqual({
        DSH_HOME: world.home,
        DSH_SHELL: '1',
        DSH_SESSION_ID: 's1',
        DSH_SESSION_JSONL: expect.stringMatching(/s1.*\/session\.jsonl/) as unknown,
      })
      expect(process.env).toEqual(before)
    } finally {
      vi.unstubAllEnvs()
    }
  })

  it('has no log where nothing says where it is, and no session without an agent', async () => {
    const world = await newWorld()
    expect(await environmentOf(world, await world.agent())).toEqual({
      DSH_HOME: world.home,
      DSH_SHELL: '1',
      DSH_SESSION_ID: 's1',
    })
    expect(await environmentOf(world)).toEqual({ DSH_HOME: world.home, DSH_SHELL: '1' })
  })

  it('is that of the calling agent, of a parent and its child at the same time', async () => {
    const world = await newWorld()
    const parent = await world.agent('parent')
    const { agent: child } = await world.ctx.agents.create({
      sessionId: SessionId('child'),
      meta: { parentSession: parent.session.id, origin: 'subagent' },
      agentOptions: { provider: 'scripted', model: 'm' },
    })
    const environments = await Promise.all([parent, child].map(agent => environmentOf(world, agent)))
    expect(environments.map(({ DSH_SESSION_ID }) => DSH_SESSION_ID)).toEqual(['parent', 'child'])
  })

  it('is collected anew for each call', async () => {
    const world = await newWorld()
    let count = 0
    world.ctx.shellEnv.register({
      name: 'counter',
      variables: { DSH_COUNT: { description: 'How often it was asked for.' } },
      resolve: () => ({ DSH_COUNT: String(++count) }),
    })
    const counts = [await world.call({ command: 'echo $DSH_COUNT' }), await world.call({ command: 'echo $DSH_COUNT' })]
    expect(counts.map(textOf)).toEqual(['1\n', '2\n'])
  })
})

it.each([false, true])(
  'nothing reaches the executor that the tool does not name; in background: %s',
  async background => {
    const script = new ShellScript()
    const world = await newWorld({ shell: scriptedShell(script) })
    const extra = {
      env: { PATH: '/evil' },
      dshEnv: { DSH_HOME: '/evil' },
      stdin: 'y\n',
      stdoutMaxBytes: 1e9,
      signal: 'x',
    }
    const args = { command: 'make', timeoutMs: 5, workdir: '/repo', run_in_background: background }
    await world.call({ ...args, ...extra, sandboxPolicy: { mode: 'danger-full-access' } })
    expect(script.requests).toStrictEqual([
      {
        command: 'make',
        timeoutMs: 5,
        workdir: '/repo',
        dshEnv: { DSH_HOME: world.home, DSH_SHELL: '1' },
        ...(!background && { signal: expect.any(AbortSignal) as unknown }),
      },
    ])
  },
)
