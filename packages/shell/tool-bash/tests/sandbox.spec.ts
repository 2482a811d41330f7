import { describe, expect, it, vi } from 'vitest'
import type { SandboxMode } from '@deepseek-ai/dsh-sandbox'
import { SandboxPolicyService, setSandboxMode } from '@deepseek-ai/dsh-sandbox-policy'
import type { ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import { ApprovalService, type ApprovalOutcome, type ApprovalRequest } from '@deepseek-ai/dsh-user-approval'
import { newWorld, tempFolder, textOf, type World } from './harness.ts'
import { scriptedShell, ShellScript } from './scripted-shell.ts'

const WIDER = { sandbox_permissions: 'workspace-write', justification: 'The build writes its output.' }
const WIDEST = { sandbox_permissions: 'danger-full-access', justification: 'The build installs a tool.' }
const BUILD = { command: 'make' }

interface ConfinedOptions {
  readonly mode?: SandboxMode
  /** Which approval service there is, if any. */
  readonly approval?: typeof ApprovalService | null
  readonly jobs?: boolean
  readonly config?: object
}

/** A harness whose executor confines, with the real services that decide. */
async function confined({ mode = 'read-only', approval = ApprovalService, ...options }: ConfinedOptions = {}) {
  const script = new ShellScript(mode)
  const root = tempFolder()
  const world = await newWorld({
    ...options,
    shell: async ctx => {
      await ctx.plugin(SandboxPolicyService, { mode, workspaceRoot: root })
      await scriptedShell(script)(ctx)
      if (approval !== null) await ctx.plugin(approval, {})
    },
  })
  return { world, script, root }
}

/** The user answers every question so. */
function answer(world: World, outcome: ApprovalOutcome | (() => Promise<ApprovalOutcome>)) {
  const asked = vi.fn<(request: ApprovalRequest) => void>()
  world.ctx.on('approval/request', request => {
    asked(request)
    return typeof outcome === 'function' ? outcome() : Promise.resolve(outcome)
  })
  return asked
}

/** A call of an agent that is in a turn, as an approval needs it. */
async function callInTurn(world: World, args: object, signal?: AbortSignal): Promise<ToolExecutionResult> {
  const agent = world.ctx.agents.list()[0] ?? (await world.agent())
  return world.inTurn(agent, () => world.call(args, agent, signal))
}

describe('an executor that confines', () => {
  it('needs the policy service, and the tool says so at load', async () => {
    await expect(newWorld({ shell: scriptedShell(new ShellScript('read-only')) })).rejects.toThrow(
      'tool-bash: the mounted bash executor confines but ctx.sandboxPolicy is missing',
    )
  })

  it.each<SandboxMode>(['read-only', 'workspace-write', 'danger-full-access'])(
    'makes the tool offer every wider mode, whatever its own is: %s',
    async mode => {
      const { world } = await confined({ mode })
      expect(world.parameters).toEqual([
        'command',
        'description',
        'timeoutMs',
        'workdir',
        'run_in_background',
        'sandbox_permissions',
        'justification',
      ])
      expect(world.tool.parameters).toMatchObject({
        properties: { sandbox_permissions: { type: 'string', enum: ['workspace-write', 'danger-full-access'] } },
        required: ['command', 'description'],
      })
      expect(world.tool.description).toContain('approval prompt')
    },
  )

  it('runs commands under the standing policy of the calling session', async () => {
    const { world, script, root } = await confined()
    await world.call(BUILD)
    const cwd = tempFolder()
    await world.call(BUILD, await world.agent('s1', cwd))
    await world.call({ ...BUILD, run_in_background: true }, await world.agent('s2'))
    expect(script.requests.map(({ sandboxPolicy }) => sandboxPolicy)).toEqual([
      { mode: 'read-only', workspaceRoot: root },
      { mode: 'read-only', workspaceRoot: cwd, sessionId: 's1' },
      { mode: 'read-only', workspaceRoot: root, sessionId: 's2' },
    ])
  })

  it('runs commands under the mode that the session was switched to', async () => {
    const { world, script } = await confined()
    const agent = await world.agent()
    setSandboxMode(agent.session, 'workspace-write')
    await world.call(BUILD, agent)
    expect(script.requests[0]?.sandboxPolicy?.mode).toBe('workspace-write')
  })

  it('tells of a denial, and how to go on', async () => {
    const { world, script } = await confined()
    script.result = { ...script.result, exitCode: 1, sandbox: { mode: 'read-only', denied: true } }
    const lines = textOf(await world.call(BUILD)).split('\n')
    expect(lines).toEqual([
      'ran',
      '[sandbox: file access denied under read-only mode]',
      expect.stringContaining('the approval prompt asks the user'),
      '[exit code: 1]',
    ])
  })

  it.each([
    [{ mode: 'read-only', denied: false }],
    [{ mode: 'read-only', denied: true, enforcement: 'partial' }],
    [{ mode: 'workspace-write', denied: false, enforcement: 'full', runnerFailed: false }],
  ] as const)('puts its facts into the value, and no others: %j', async sandbox => {
    const { world, script } = await confined()
    script.result = { ...script.result, sandbox: { ...sandbox, more: 'than declared' } as never }
    const { value } = await world.call(BUILD)
    expect(value).toHaveProperty('sandbox')
    expect((value as { sandbox: unknown }).sandbox).toStrictEqual(sandbox)
  })
})

describe('where nothing confines', () => {
  const unconfined = async () => {
    const script = new ShellScript()
    return { script, world: await newWorld({ shell: scriptedShell(script) }) }
  }

  it('the tool offers no wider mode, and refuses one', async () => {
    const { world, script } = await unconfined()
    expect(world.parameters).not.toContain('sandbox_permissions')
    expect(world.parameters).not.toContain('justification')
    expect(world.tool.description).not.toContain('approval prompt')
    expect(textOf(await world.call({ ...BUILD, ...WIDER }))).toBe(
      'Error: sandbox_permissions is not available in this composition (no sandboxing executor to escalate)',
    )
    expect(script.requests).toEqual([])
  })

  it('a value has no sandbox facts, and a request no policy', async () => {
    const { world, script } = await unconfined()
    expect((await world.call(BUILD)).value).not.toHaveProperty('sandbox')
    expect(script.requests[0]).not.toHaveProperty('sandboxPolicy')
  })
})

describe('a call that asks for a wider mode', () => {
  /** Nothing ran, and the result is this error. */
  function expectRefused(script: ShellScript, result: ToolExecutionResult, message: string): void {
    expect(result).toMatchObject({ isError: true, error: { message } })
    expect(script.requests).toEqual([])
  }

  it.each([
    [{ sandbox_permissions: 'workspace-write' }, 'invalid escalation: sandbox_permissions requires a justification'],
    [
      { justification: 'Because.' },
      'invalid escalation: justification is only valid together with sandbox_permissions',
    ],
    [{ ...WIDER, justification: ' ' }, 'invalid justification: expected a non-empty sentence'],
  ])('must say which, and why: %j', async (escalation, message) => {
    const { world, script } = await confined()
    const asked = answer(world, 'allowed-once')
    expectRefused(script, await callInTurn(world, { ...BUILD, ...escalation }), message)
    expect(asked).not.toHaveBeenCalled()
  })

  it('cannot ask for the narrowest', async () => {
    const { world, script } = await confined()
    const result = await callInTurn(world, { ...BUILD, ...WIDER, sandbox_permissions: 'read-only' })
    expect(result).toMatchObject({ isError: true, error: { info: { name: 'ToolArgsError' } } })
    expect(script.requests).toEqual([])
  })

  it.each(['workspace-write', 'danger-full-access', 'nonsense'])(
    'which is not wider than that of its session, %s, asks nobody',
    async mode => {
      const { world, script } = await confined()
      const asked = answer(world, 'allowed-once')
      const agent = await world.agent()
      const result = await world.inTurn(agent, () => {
        // A log can hold what no switch writes.
        agent.session.append('sandbox/mode', { mode: mode as SandboxMode })
        return world.call({ ...BUILD, ...WIDER }, agent)
      })
      expectRefused(
        script,
        result,
        `sandbox escalation to "workspace-write" is not strictly wider than this call's current "${mode}" mode`,
      )
      expect(asked).not.toHaveBeenCalled()
    },
  )

  it('is measured against the mode of its session, not of the deployment', async () => {
    const { world, script } = await confined({ mode: 'danger-full-access' })
    answer(world, 'allowed-once')
    const agent = await world.agent()
    setSandboxMode(agent.session, 'read-only')
    await callInTurn(world, { ...BUILD, ...WIDER })
    expect(script.requests[0]?.sandboxPolicy?.mode).toBe('workspace-write')
  })

  it('is refused without an approval service', async () => {
    const { world, script } = await confined({ approval: null })
    expectRefused(
      script,
      await callInTurn(world, { ...BUILD, ...WIDER }),
      'sandbox escalation to "workspace-write" requires approval, but no approval service is composed',
    )
  })

  it('is refused without an agent', async () => {
    const { world, script } = await confined()
    const asked = answer(world, 'allowed-once')
    expectRefused(
      script,
      await world.call({ ...BUILD, ...WIDER }),
      'sandbox escalation to "workspace-write" requires approval, but the call has no agent to route it through',
    )
    expect(asked).not.toHaveBeenCalled()
  })

  it('is refused if nobody answers', async () => {
    const { world, script } = await confined()
    expectRefused(
      script,
      await callInTurn(world, { ...BUILD, ...WIDER }),
      'sandbox escalation to "workspace-write" requires approval, but no approval channel is available',
    )
  })

  it('is refused if the user says no', async () => {
    const { world, script } = await confined()
    answer(world, 'rejected')
    const result = await callInTurn(world, { ...BUILD, ...WIDEST })
    expectRefused(script, result, 'the user rejected escalating this command to "danger-full-access"')
  })

  it('is refused if the question is withdrawn', async () => {
    const { world, script } = await confined()
    answer(world, 'cancelled')
    const result = await callInTurn(world, { ...BUILD, ...WIDEST })
    expectRefused(script, result, 'approval for escalating to "danger-full-access" was cancelled')
  })

  it('is withdrawn with the call', async () => {
    const { world, script } = await confined()
    const abort = new AbortController()
    answer(world, () => {
      abort.abort()
      return new Promise(() => undefined)
    })
    const result = await callInTurn(world, { ...BUILD, ...WIDER }, abort.signal)
    expectRefused(script, result, 'approval for escalating to "workspace-write" was cancelled')
  })

  it('is refused if the service gives what is no outcome', async () => {
    class Unsure extends ApprovalService {
      override request() {
        return Promise.resolve('perhaps' as never)
      }
    }
    const { world, script } = await confined({ approval: Unsure })
    const result = await callInTurn(world, { ...BUILD, ...WIDER })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain('perhaps')
    expect(script.requests).toEqual([])
  })

  it('puts one question to the user, with the call and the reason', async () => {
    const { world } = await confined()
    const asked = answer(world, 'allowed-once')
    await callInTurn(world, { ...BUILD, ...WIDER })
    expect(asked.mock.calls).toMatchObject([
      [
        {
          toolName: 'bash',
          callId: 'c1',
          agent: { id: 's1' },
          reason: 'escalate sandbox to workspace-write: The build writes its output.',
        },
      ],
    ])
  })

  it.each([false, true])(
    'runs under it once the user agreed, in the same folder; in background: %s',
    async background => {
      const { world, script } = await confined()
      answer(world, 'allowed-once')
      const cwd = tempFolder()
      await world.agent('s1', cwd)
      const args = { ...BUILD, run_in_background: background }
      expect(await callInTurn(world, { ...args, ...WIDEST })).toMatchObject({ isError: false })
      expect(script.requests).toMatchObject([
        {
          command: 'make',
          workdir: cwd,
          sandboxPolicy: { mode: 'danger-full-access', workspaceRoot: cwd, sessionId: 's1' },
        },
      ])
      expect([script.runs.length, script.processes.length]).toEqual(background ? [0, 1] : [1, 0])
    },
  )

  it('has it for itself alone', async () => {
    const { world, script } = await confined()
    const asked = answer(world, 'allowed-once')
    await callInTurn(world, { ...BUILD, ...WIDER })
    await callInTurn(world, BUILD)
    expect(script.requests.map(({ sandboxPolicy }) => sandboxPolicy?.mode)).toEqual(['workspace-write', 'read-only'])
    expect(asked).toHaveBeenCalledOnce()
  })

  it('starts no job if it is aborted as soon as the user has agreed', async () => {
    const { world, script } = await confined()
    answer(world, 'allowed-once')
    const abort = new AbortController()
    world.ctx.on('session/event', (_session, event) => {
      if (event.type === 'approval/decided') abort.abort()
    })
    const result = await callInTurn(world, { ...BUILD, ...WIDER, run_in_background: true }, abort.signal)
    expectRefused(script, result, 'tool call aborted')
    expect(world.ctx.jobs.list()).toEqual([])
  })
})
