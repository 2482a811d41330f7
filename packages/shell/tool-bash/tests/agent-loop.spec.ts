/** The tool as a model has it: the real loop, the real shell, this repository's job registry and job tools. */
import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SandboxBashExecutor } from '@deepseek-ai/dsh-bash-sandbox'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { LocalSandboxProvider } from '@deepseek-ai/dsh-sandbox-local'
import { SandboxPolicyService } from '@deepseek-ai/dsh-sandbox-policy'
import { JsonlSessionPersistence } from '@deepseek-ai/dsh-session-persistence-jsonl'
import { LocalSubprocessRuntime } from '@deepseek-ai/dsh-subprocess-local'
import { ApprovalService } from '@deepseek-ai/dsh-user-approval'
import { newWorld, tempFolder, userMessage, type Reply, type ScriptedModel, type World } from './harness.ts'

const bash = (command: string, more: object = {}): Reply => ({
  tool: 'bash',
  args: { command, description: 'Run it', ...more },
})

const textsOf = (content: readonly ContentBlock[]): string[] =>
  content.flatMap(block => {
    if (block.type === 'tool-result') return textsOf(block.content)
    return block.type === 'text' ? block.text : []
  })

/** What the model was told right before its nth request: the result of its call, or the message of somebody else. */
const newsOf = (model: ScriptedModel, request: number) =>
  textsOf(model.requests[request]?.messages.at(-1)?.content ?? [])

/** The user says something, and the agent works until it has no more to do. */
async function turn(world: World, agent: Agent, ...replies: Reply[]): Promise<void> {
  world.model.replies.push(...replies)
  agent.followup(userMessage('go'))
  await agent.whenIdle()
}

describe('a model', () => {
  it('calls the tool, sees one result, and answers', async () => {
    const world = await newWorld()
    const agent = await world.agent()
    await turn(world, agent, bash('echo hello; echo trouble >&2; exit 3'), 'it failed')
    expect(world.model.requests).toHaveLength(2)
    expect(newsOf(world.model, 1)).toEqual(['hello\n[stderr]\ntrouble\n[exit code: 3]'])
    const results = agent.session.events.filter(({ type }) => type === 'tool/result')
    expect(results).toHaveLength(1)
    expect(results[0]?.data).toMatchObject({ message: { content: [{ isError: false }] } })
    expect(agent.session.events.at(-1)).toMatchObject({ type: 'turn/end', data: { reason: { kind: 'completed' } } })
  })

  it('finds its session in the first command of the first turn, before there is a log', async () => {
    vi.stubEnv('DSH_SESSION_JSONL', '/stale/session.jsonl')
    vi.stubEnv('DSH_STALE', 'stale')
    try {
      const world = await newWorld()
      await world.ctx.plugin(JsonlSessionPersistence, { root: tempFolder() })
      const agent = await world.agent('s1', tempFolder())
      const command =
        'echo "$DSH_HOME $DSH_SHELL $DSH_SESSION_ID $DSH_STALE $DSH_SESSION_JSONL"; ls "$DSH_SESSION_JSONL"'
      await turn(world, agent, bash(command))
      const [text = ''] = newsOf(world.model, 1)
      const [facts = '', heading, missing = ''] = text.split('\n')
      const log = facts.slice(facts.lastIndexOf(' ') + 1)
      expect(facts).toBe(`${world.home} 1 s1  ${log}`)
      expect(log).not.toContain('/stale/')
      expect(heading).toBe('[stderr]')
      expect(missing).toContain('No such file')
      await vi.waitFor(() => {
        expect(existsSync(log)).toBe(true)
      })
    } finally {
      vi.unstubAllEnvs()
    }
  })

  it('starts a job, is called again by its end, and reads it', async () => {
    const world = await newWorld()
    const agent = await world.agent()
    const folder = tempFolder()
    const command = 'until [ -e go ]; do sleep 0.05; done; echo built'
    await turn(world, agent, bash(command, { run_in_background: true, workdir: folder }), 'waiting for it')
    expect(newsOf(world.model, 1)).toEqual(['started background job bash-1'])
    expect(world.model.requests).toHaveLength(2)

    world.model.replies.push({ tool: 'job_output', args: { job_id: 'bash-1' } }, 'it is built')
    await world.call({ command: 'touch go', workdir: folder })
    await vi.waitFor(
      () => {
        expect(world.model.requests).toHaveLength(4)
      },
      { timeout: 20_000 },
    )
    await agent.whenIdle()
    expect(newsOf(world.model, 2)).toEqual([
      `background job bash-1 (bash: ${command}) finished [status: completed, exit code: 0]. Read its output with job_output.`,
    ])
    expect(newsOf(world.model, 3)).toEqual(['built\n[status: completed, exit code: 0]'])
  })
})

describe('a model in a sandbox', () => {
  /**
   * Stands in for a real sandbox on machines that have none: it takes the profile of bubblewrap, and tells the command
   * whether the workspace may be written to.
   */
  const RUNNER = `
    for arg; do if [ "$arg" = --bind ]; then export MAY_WRITE=1; fi; done
    until [ "$1" = -- ]; do shift; done; shift; exec "$@"`

  const WRITE = 'if [ "$MAY_WRITE" ]; then echo made > made; else echo "made: Read-only file system" >&2; exit 1; fi'
  const WIDER = { sandbox_permissions: 'workspace-write', justification: 'The build writes its output.' }
  const DENIAL = '[sandbox: file access denied under read-only mode]'

  async function sandboxed() {
    const world = await newWorld({
      shell: async ctx => {
        await ctx.plugin(LocalSubprocessRuntime)
        await ctx.plugin(SandboxPolicyService, { mode: 'read-only' })
        const runnerCommand = ['bash', '-c', RUNNER, 'runner']
        await ctx.plugin(LocalSandboxProvider, { runnerCommand, runnerFailureSignatures: ['runner: '] })
        await ctx.plugin(SandboxBashExecutor, {})
        await ctx.plugin(ApprovalService, {})
      },
    })
    const folder = tempFolder()
    return { world, folder, agent: await world.agent('s1', folder) }
  }

  it('is denied, retries in the same turn, and may once the user has agreed; the next command may not', async () => {
    const { world, folder, agent } = await sandboxed()
    world.ctx.on('approval/request', () => Promise.resolve('allowed-once'))
    await turn(world, agent, bash(WRITE), bash(WRITE, WIDER), bash(WRITE), 'done')
    const denied = [expect.stringContaining(`${DENIAL}\n[sandbox: escalation available`)]
    expect(newsOf(world.model, 1)).toEqual(denied)
    expect(newsOf(world.model, 2)).toEqual(['(no output)'])
    expect(newsOf(world.model, 3)).toEqual(denied)
    expect(realpathSync(join(folder, 'made'))).toBe(join(folder, 'made'))
    expect(agent.session.events.flatMap(({ type, data }) => (type === 'approval/decided' ? data.outcome : []))).toEqual(
      ['allowed-once'],
    )
  })

  it('is told of a denial in the background with the end of the job, and may retry there', async () => {
    const { world, folder, agent } = await sandboxed()
    world.ctx.on('approval/request', () => Promise.resolve('allowed-once'))
    const read = (id: string): Reply => ({
      tool: 'job_output',
      args: { job_id: id, wait: true, wake_on_output: false },
    })
    const background = { run_in_background: true }
    const retry = bash(WRITE, { ...background, ...WIDER })
    await turn(world, agent, bash(WRITE, background), read('bash-1'), retry, read('bash-2'), 'done')
    expect(newsOf(world.model, 2)).toEqual([
      expect.stringMatching(
        /^\[stderr\]\nmade: Read-only file system\n\[sandbox: file access denied[^]*exit code: 1\]$/,
      ),
    ])
    expect(newsOf(world.model, 4)).toEqual(['(no new output)\n[status: completed, exit code: 0]'])
    expect(existsSync(join(folder, 'made'))).toBe(true)
  })

  it('runs nothing if its turn is cancelled as soon as the user has agreed', async () => {
    const { world, folder, agent } = await sandboxed()
    world.ctx.on('approval/request', () => Promise.resolve('allowed-once'))
    world.ctx.on('session/event', (_session, { type }) => {
      if (type === 'approval/decided') {
        queueMicrotask(() => {
          agent.cancel({ kind: 'user' })
        })
      }
    })
    await turn(world, agent, bash(WRITE, WIDER), 'never said')
    expect(world.model.requests).toHaveLength(1)
    expect(existsSync(join(folder, 'made'))).toBe(false)
  })
})
