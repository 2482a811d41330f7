/** Side by side with the published tool: the same calls in the same composition, and everything that can be observed. */
import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import type { Context, Plugin } from '@deepseek-ai/cordis'
import type { JobHooks, JobStart } from '@deepseek-ai/dsh-jobs'
import { LocalJobRegistry } from '@deepseek-ai/dsh-jobs-local'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import type { SandboxMode } from '@deepseek-ai/dsh-sandbox'
import { SandboxPolicyService, setSandboxMode, type SandboxPolicyRequest } from '@deepseek-ai/dsh-sandbox-policy'
import type { ShellProcessRead, ShellRunResult, ShellSandboxInfo } from '@deepseek-ai/dsh-shell'
import type { JsonValue } from '@deepseek-ai/dsh-tools'
import { ApprovalService, type ApprovalOutcome } from '@deepseek-ai/dsh-user-approval'
import * as stockToolBash from 'stock-tool-bash'
import * as toolBash from '../src/index.ts'
import { localBash, newWorld, textOf, World } from './harness.ts'
import { scriptedShell, ShellScript } from './scripted-shell.ts'

const runs = (byDefault: number) => ({ numRuns: Number(process.env.HUNT_RUNS ?? byDefault) })

const MODES = ['read-only', 'workspace-write', 'danger-full-access'] as const

/** Everything but the prose, which is worded anew. */
function withoutProse(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutProse)
  if (typeof node !== 'object' || node === null) return node
  const entries = Object.entries(node).filter(([key, value]) => !(key === 'description' && typeof value === 'string'))
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutProse(value)]))
}

/** What a composition consists of. */
interface Composition {
  mode: SandboxMode | undefined
  switchedTo: SandboxMode | undefined
  policy: boolean
  approval: boolean
  jobs: 'none' | 'uncontrolled' | 'controlled'
  background: boolean | undefined
  cwd: string | undefined
}

type AbortAt = 'never' | 'before' | 'grant' | 'environment'

/** One call, what its surroundings do, and how a user interface would then show some result. */
interface Call {
  args: object
  agent: boolean
  abortAt: AbortAt
  answer: ApprovalOutcome
  runResult: ShellRunResult
  runFailure: Error | undefined
  reads: readonly { read: ShellProcessRead; sandbox: ShellSandboxInfo | undefined }[]
  end: { status: 'completed' | 'killed'; exitCode: number | null; signal: NodeJS.Signals | null }
  shown: readonly string[]
}

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

const output = fc.oneof(
  fc.constantFrom('', '\n', 'hello', 'hello\n', 'a\n\n', '[exit code: 3]', 'a\n[exit code: 3]', '[stderr]\n', '世界\n'),
  fc.string({ unit: fc.constantFrom('a', '\n', ' ', '[', ']', '世'), maxLength: 12 }),
)

const stream = fc.record(
  { text: output, truncated: fc.boolean(), spillPath: optional(fc.constantFrom('/tmp/all', '')) },
  { requiredKeys: ['text', 'truncated'] },
)

const sandbox = fc.record(
  {
    mode: fc.constantFrom<SandboxMode>(...MODES),
    denied: fc.boolean(),
    enforcement: optional(fc.constantFrom('full', 'partial')),
    runnerFailed: optional(fc.boolean()),
    more: fc.constant('than declared'),
  },
  { requiredKeys: ['mode', 'denied'] },
) as fc.Arbitrary<ShellSandboxInfo>

const signal = fc.constantFrom<NodeJS.Signals | null>(null, null, 'SIGTERM', 'SIGKILL')
const exitCode = fc.constantFrom(0, 0, 1, 255, null)

const runResult = fc.record(
  {
    exitCode,
    signal,
    timedOut: fc.boolean(),
    aborted: fc.constantFrom(false, false, false, true),
    timeoutMs: fc.constantFrom(1, 0.5, 120_000),
    stdout: stream,
    stderr: stream,
    sandbox: optional(sandbox),
    more: fc.constant('than declared'),
  },
  { requiredKeys: ['exitCode', 'signal', 'timedOut', 'aborted', 'timeoutMs', 'stdout', 'stderr'] },
) as fc.Arbitrary<ShellRunResult>

const processRead = fc.record(
  {
    delta: output,
    lossy: fc.boolean(),
    stdoutSpillPath: optional(fc.constantFrom('/tmp/out', '')),
    stderrSpillPath: optional(fc.constant('/tmp/err')),
  },
  { requiredKeys: ['delta', 'lossy'] },
) as fc.Arbitrary<ShellProcessRead>

/** Usually one of the first, now and then one of the second. */
const mostly = (good: readonly unknown[], bad: readonly unknown[]) =>
  fc.oneof({ weight: 24, arbitrary: fc.constantFrom(...good) }, fc.constantFrom(...bad))

const request = fc.record(
  {
    command: mostly(['make', 'make all\n'], [' ', '', 7]),
    description: mostly(['Build'], ['', '\n', null]),
    timeoutMs: mostly([5, 0.5, 1e12], [0, -1, '5']),
    workdir: mostly(['/repo', '/repo/../x/', 'sub', './a/../b', '..', ''], [7]),
    run_in_background: mostly([true, true, false], ['yes']),
    env: fc.constant({ PATH: '/evil' }),
    stdin: fc.constant('y\n'),
    stdoutMaxBytes: fc.constant(1),
    sandboxPolicy: fc.constant({ mode: 'danger-full-access' }),
  },
  { requiredKeys: ['command', 'description'] },
)

const mode = mostly(['workspace-write', 'danger-full-access'], ['read-only', 'all', 7])
const justification = mostly(['It must write.'], [' ', '', 7])

const escalation = fc.oneof(
  { weight: 10, arbitrary: fc.constant({}) },
  { weight: 10, arbitrary: fc.record({ sandbox_permissions: mode, justification }) },
  fc.record({ sandbox_permissions: mode }),
  fc.record({ justification }),
)

const args: fc.Arbitrary<object> = fc.oneof(
  { weight: 30, arbitrary: fc.tuple(request, escalation).map(([one, other]) => ({ ...one, ...other })) },
  fc.constantFrom({}, { command: 'make' }),
)

const composition: fc.Arbitrary<Composition> = fc.record({
  mode: optional(fc.constantFrom<SandboxMode>(...MODES)),
  switchedTo: optional(fc.constantFrom<SandboxMode>(...MODES)),
  policy: fc.constantFrom(...Array<true>(6).fill(true), false),
  approval: fc.constantFrom(...Array<true>(6).fill(true), false),
  jobs: fc.constantFrom('none' as const, 'uncontrolled' as const, ...Array<'controlled'>(4).fill('controlled')),
  background: fc.constantFrom(true, undefined, false),
  cwd: fc.constantFrom('/', '/usr/share', '/nowhere/at/all', undefined),
})

const call: fc.Arbitrary<Call> = fc.record({
  args,
  agent: fc.constantFrom(true, true, true, false),
  abortAt: fc.constantFrom<AbortAt>(...Array<'never'>(9).fill('never'), 'before', 'grant', 'environment'),
  answer: fc.constantFrom<ApprovalOutcome>('allowed-once', 'allowed-once', 'rejected', 'cancelled', 'unavailable'),
  runResult,
  runFailure: fc.constantFrom(undefined, undefined, undefined, new Error('spawn bash ENOENT')),
  reads: fc.array(fc.record({ read: processRead, sandbox: optional(sandbox) }), { maxLength: 4 }),
  end: fc.record({ status: fc.constantFrom('completed', 'killed'), exitCode, signal }),
  shown: fc.array(
    fc.string({ unit: fc.constantFrom('a', '\n', '[exit code: 3]', '[killed by signal: SIGKILL]', ' '), maxLength: 5 }),
    { maxLength: 2 },
  ),
})

/** One of the two tools, in a composition of its own. */
class Side {
  /** Everything that the tool does to its surroundings, in order. */
  readonly log: unknown[] = []
  private readonly script: ShellScript
  private readonly composition: Composition
  private world: World | undefined
  private hooks: JobHooks | undefined
  private current: Pick<Call, 'abortAt' | 'answer'> = { abortAt: 'never', answer: 'rejected' }
  private abort = new AbortController()

  constructor(composition: Composition) {
    this.composition = composition
    this.script = new ShellScript(composition.mode)
  }

  /** Load the tool. @returns the error, if it refuses the composition. */
  async load(tool: Plugin): Promise<string | undefined> {
    const { background } = this.composition
    try {
      this.world = await World.create({
        tool,
        jobs: false,
        shell: ctx => this.mount(ctx),
        config: background === undefined ? {} : { enableRunInBackground: background },
      })
      return undefined
    } catch (error: unknown) {
      return String(error)
    }
  }

  private async mount(ctx: Context): Promise<void> {
    const { mode, policy, approval, jobs } = this.composition
    const { log } = this
    class LoggedPolicies extends SandboxPolicyService {
      override resolve(request?: SandboxPolicyRequest) {
        log.push(['policy', request?.session?.id, Object.keys(request ?? {})])
        return super.resolve(request)
      }
    }
    const note = (hooks: JobHooks) => (this.hooks = hooks)
    class LoggedRegistry extends LocalJobRegistry {
      override start(spec: JobStart) {
        log.push(['start', spec.kind, spec.label, spec.owner?.id, Object.keys(spec)])
        return super.start({ ...spec, run: () => note(spec.run()) })
      }
    }
    if (policy) await ctx.plugin(LoggedPolicies, { mode: mode ?? 'read-only', workspaceRoot: '/usr' })
    await scriptedShell(this.script)(ctx)
    if (approval) await ctx.plugin(ApprovalService, {})
    if (jobs !== 'none') await ctx.plugin(LoggedRegistry, { maxConcurrentJobsPerOwner: 100 })
    if (jobs === 'controlled') ctx.jobs.attachController('test')
    this.watch(ctx)
  }

  private watch(ctx: Context): void {
    ctx.on('approval/request', ({ agent, toolName, callId, reason, signal }) => {
      this.log.push(['asked', agent.id, toolName, callId, reason, signal !== undefined])
      return Promise.resolve(this.current.answer)
    })
    ctx.on('session/event', (_session, { type }) => {
      if (type === 'approval/decided' && this.current.abortAt === 'grant') this.abort.abort()
    })
    ctx.shellEnv.register({
      name: 'watch',
      variables: { DSH_WATCH: { description: 'Notes that the environment is collected.' } },
      resolve: ({ callId }) => {
        this.log.push(['environment', callId])
        if (this.current.abortAt === 'environment') this.abort.abort()
        return { DSH_WATCH: 'yes' }
      },
    })
  }

  /** Make all calls within one turn of the agent, as approvals need it. */
  async play(calls: readonly Call[]): Promise<unknown[]> {
    const world = this.world as World
    const { switchedTo, cwd } = this.composition
    const agent = await world.agent('s1', cwd)
    if (switchedTo !== undefined) setSandboxMode(agent.session, switchedTo)
    return world.inTurn(agent, async () => {
      const results: unknown[] = []
      for (const each of calls) results.push(await this.make(each, world, each.agent ? agent : undefined))
      return results
    })
  }

  private async make(call: Call, world: World, agent: Parameters<World['call']>[1]): Promise<unknown> {
    this.current = call
    this.abort = new AbortController()
    this.hooks = undefined
    this.script.result = call.runResult
    this.script.failure = call.runFailure
    if (call.abortAt === 'before') this.abort.abort()
    const before = this.script.runs.length
    const result = await world.callTool('bash', call.args, agent, this.abort.signal)
    const signal = this.script.runs[before]?.signal
    const { tool } = world
    const content: ContentBlock[][] = [result.content, call.shown.map(text => ({ type: 'text' as const, text }))]
    return {
      result,
      signal: signal?.aborted,
      job: await this.playJob(call),
      callCard: tool.presentCall?.(call.args),
      resultCards: content.flatMap(blocks =>
        [result.isError, !result.isError].map(isError => tool.presentResult?.(call.args, { content: blocks, isError })),
      ),
    }
  }

  /** Take the job through its life, at its hooks. */
  private async playJob({ reads, end }: Call): Promise<unknown> {
    const { hooks } = this
    const process = this.script.processes.at(-1)
    if (hooks === undefined || process === undefined) return undefined
    const texts = reads.map(({ read, sandbox }) => {
      process.print(read.delta, read)
      if (sandbox !== undefined) process.sandbox = sandbox
      return hooks.readOutput?.()
    })
    hooks.cancel('enough')
    Object.assign(process, end)
    // The published tool has no signal of output.
    const keys = Object.keys(hooks).filter(key => key !== 'onOutput')
    return { keys, texts, outcome: await hooks.done }
  }

  async dispose(): Promise<void> {
    await this.world?.ctx.fiber.dispose()
  }

  /** What the executor was asked for; each signal stands for itself. */
  get requests(): unknown[] {
    return this.script.requests.map(({ signal, ...request }) => ({ ...request, signal: signal !== undefined }))
  }

  /** The tool's definition apart from its prose, and whether it is all there. */
  get definition(): unknown {
    const tool = (this.world as World).tool
    return {
      keys: Object.keys(tool),
      parameters: withoutProse(tool.parameters),
      schema: withoutProse(tool.output.schema),
    }
  }
}

/** Two sides differ in what is random in each. */
function normalized(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, entry: unknown) => (entry === undefined ? '(undefined)' : entry)),
    (_key, entry) =>
      typeof entry === 'string' ? entry.replaceAll(/dsh-tool-bash-\w+/g, 'folder') : (entry as unknown),
  )
}

describe('side by side with the published tool', { timeout: 120_000 }, () => {
  it('the tool is offered, asks, refuses, runs, starts, tells and shows the same', async () => {
    const calls = fc.array(call, { minLength: 4, maxLength: 12 })
    const property = fc.asyncProperty(composition, calls, async (parts, script) => {
      const [stock, ours] = [new Side(parts), new Side(parts)]
      const refusal = await stock.load(stockToolBash)
      expect(await ours.load(toolBash)).toBe(refusal)
      if (refusal !== undefined) return
      expect(ours.definition).toEqual(stock.definition)
      const [expected, actual] = [await stock.play(script), await ours.play(script)]
      expect(normalized(actual)).toEqual(normalized(expected))
      expect(normalized(ours.log)).toEqual(normalized(stock.log))
      expect(normalized(ours.requests)).toEqual(normalized(stock.requests))
      await Promise.all([stock, ours].map(side => side.dispose()))
    })
    await fc.assert(property, runs(40))
  })

  it.each([undefined, 'read-only'] as const)(
    'every result reads and looks the same, where the mode is %s',
    async mode => {
      const tools = await Promise.all(
        [stockToolBash, toolBash].map(async tool => {
          const shell = async (ctx: Context) => {
            await ctx.plugin(SandboxPolicyService, {})
            await scriptedShell(new ShellScript(mode))(ctx)
          }
          return (await newWorld({ tool, shell })).tool
        }),
      )
      const property = fc.property(runResult, ended => {
        const value = JSON.parse(JSON.stringify({ kind: 'foreground', ...ended })) as JsonValue
        const call = { command: 'make', description: 'Build' }
        const [stock, ours] = tools.map(tool => {
          const content = tool.output.render(call, value)
          return [content, tool.presentResult?.(call, { content, isError: false })]
        })
        expect(ours).toEqual(stock)
      })
      fc.assert(property, runs(500))
    },
  )

  it('real commands end the same, in the foreground and in the background', async () => {
    const sides = await Promise.all(
      [stockToolBash, toolBash].map(async tool => {
        const world = await newWorld({ tool, shell: localBash({ maxOutputBytes: 64 }) })
        return { world, agent: await world.agent('s1', '/usr/share') }
      }),
    )
    const step = fc.constantFrom(
      'echo out',
      'printf out',
      'echo err >&2',
      'printf err >&2',
      'pwd',
      'seq 1 60',
      'seq 1 60 >&2',
      'echo 世界',
      'echo $DSH_SHELL$DSH_SESSION_ID',
      'exit 3',
      'kill -KILL $$',
      'nowhere',
    )
    const script = fc.array(step, { maxLength: 5 }).map(steps => steps.join('; ') || ':')
    const workdir = fc.constantFrom({}, { workdir: 'man' }, { workdir: '/' }, { workdir: '/nowhere/at/all' })

    // Each spill file has a name of its own.
    const known = (text: string) => text.replaceAll(/full output: [^\]]+/g, 'full output: (a file)')
    const run = async ({ world, agent }: (typeof sides)[number], args: object) => {
      const foreground = await world.call(args, agent)
      const { value } = await world.call({ ...args, run_in_background: true }, agent)
      const { jobId } = value as { jobId: string }
      const read = { job_id: jobId, wait: true, wake_on_output: false }
      return [foreground, await world.callTool('job_output', read, agent)].map(textOf).map(known)
    }
    const property = fc.asyncProperty(script, workdir, async (command, where) => {
      const [stock, ours] = await Promise.all(sides.map(side => run(side, { command, ...where })))
      expect(ours).toEqual(stock)
    })
    await fc.assert(property, runs(15))
  })
})
