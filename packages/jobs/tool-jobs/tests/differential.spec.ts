import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import fc from 'fast-check'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { LocalJobRegistry } from '@deepseek-ai/dsh-jobs-local'
import type { JobOutcome, JobStart } from '@deepseek-ai/dsh-jobs'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { LocalJobRegistry as StockJobRegistry } from 'stock-jobs-local'
import * as stockToolJobs from 'stock-tool-jobs'
import * as toolJobs from '../src/index.ts'
import { ScriptedModel, userMessage, World, type Packages, type TestJob } from './world.ts'

const STOCK: Packages = { registry: StockJobRegistry, tools: stockToolJobs }
const OURS: Packages = { registry: LocalJobRegistry, tools: toolJobs }

/** Without part B, ours must be the published tools to the letter. */
const NO_WAKES = { wakeOnSteer: false, deliver: 'off' }

const LONG = 'a policy says more than any limit of these scripts lets through, 世界 included. '.repeat(3)

/** What the policy listeners of both worlds do to the calls that follow. */
const POLICIES = [
  'none',
  'deny',
  'ask',
  'pre-execute throws',
  'execute throws',
  'post-execute throws',
  'replace',
  'replace, marked',
  'prefix',
  'same text',
  'two blocks',
  'no block',
  'other value',
  'block',
] as const

type Policy = (typeof POLICIES)[number]

type Step =
  | { op: 'start'; owner: number; kind: JobStart['kind']; label: string; limit: number | undefined; final: boolean }
  | { op: 'print'; job: number; text: string }
  | { op: 'end'; job: number; outcome: JobOutcome }
  | { op: 'output'; job: number; caller: number; wait: boolean | undefined; timeoutMs: number | undefined }
  | { op: 'kill'; job: number; caller: number; reason: string | undefined }
  | { op: 'list'; caller: number }
  | { op: 'malformed'; tool: string; args: object; caller: number }
  | { op: 'abort'; call: number }
  | { op: 'pass'; ms: number }
  | { op: 'user'; agent: number }
  | { op: 'hold' | 'release' }
  | { op: 'policy'; policy: Policy }

const text = fc.oneof(
  fc.constantFrom(
    '',
    '\n',
    'done\n',
    '10%\n20%\n',
    'no newline',
    '世界 é 😀\n',
    'x\n[output truncated]',
    '[output truncated]\n',
  ),
  fc.string({ unit: fc.constantFrom('a', ' ', '\n', 'é', '世', '😀', ']'), maxLength: 80 }),
)
const index = fc.nat(5)
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    op: fc.constant('start' as const),
    owner: fc.nat(2),
    kind: fc.constantFrom('bash' as const, 'subagent' as const),
    label: fc.constantFrom('make', 'sleep 5 && echo 完了', 'm'.repeat(130), 'a\n[notice truncated]'),
    limit: optional(fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 60, max: 220 }))),
    final: fc.boolean(),
  }),
  fc.record({ op: fc.constant('print' as const), job: index, text }),
  fc.record({
    op: fc.constant('end' as const),
    job: index,
    outcome: fc.record(
      {
        status: fc.constantFrom('completed' as const, 'killed' as const, 'failed' as const),
        detail: fc.constantFrom('exit code: 0', '', 'signal: 世'),
        output: text,
      },
      { requiredKeys: ['status'] },
    ),
  }),
  fc.record({
    op: fc.constant('output' as const),
    job: index,
    caller: fc.nat(2),
    wait: optional(fc.boolean()),
    timeoutMs: optional(fc.constantFrom(0, -1, 0.5, 20, 80, 1e9)),
  }),
  fc.record({ op: fc.constant('kill' as const), job: index, caller: fc.nat(2), reason: optional(text) }),
  fc.record({ op: fc.constant('list' as const), caller: fc.nat(2) }),
  fc.record({
    op: fc.constant('malformed' as const),
    tool: fc.constantFrom('job_output', 'job_kill', 'job_list'),
    args: fc.constantFrom({}, { job_id: '' }, { job_id: 7 }, { job_id: 'bash-1', wait: 'yes' }, { job_id: 'nope' }),
    caller: fc.nat(2),
  }),
  fc.record({ op: fc.constant('abort' as const), call: index }),
  fc.record({ op: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 120 }) }),
  fc.record({ op: fc.constant('user' as const), agent: fc.nat(1) }),
  fc.record({ op: fc.constantFrom('hold' as const, 'release' as const) }),
  fc.record({ op: fc.constant('policy' as const), policy: fc.constantFrom(...POLICIES) }),
)

const config = fc.record({
  waitTimeoutMs: fc.constantFrom(30, 90),
  maxWaitTimeoutMs: fc.constantFrom(90, 150),
  completionDelivery: fc.constantFrom('wakeup', 'quiet'),
  maxConsecutiveWakes: fc.constantFrom(1, 2),
})

const block = (said: string): ContentBlock[] => [{ type: 'text', text: said }]

/** One of the two worlds, taken through a script. */
class Run {
  readonly results: unknown[] = []
  private readonly world: World
  private readonly agents: Agent[]
  private readonly jobs: TestJob[] = []
  private readonly aborts: AbortController[] = []
  private policy: Policy = 'none'
  private gate: PromiseWithResolvers<void> | undefined

  private constructor(world: World, agents: Agent[]) {
    this.world = world
    this.agents = agents
  }

  static async create(packages: Packages, config: object): Promise<Run> {
    const model = new ScriptedModel()
    const world = await World.create({ ...packages, config, model })
    const run = new Run(world, [await world.agent('s1'), await world.agent('s2')])
    // The gate of `hold` stands for a long model request: the owner is busy until `release`.
    for (let n = 0; n < 1_000; n++)
      model.replies.push({
        then: (f: (r: string) => void) => {
          run.whenOpen(f)
        },
      } as never)
    run.installPolicies()
    return run
  }

  private whenOpen(answer: (reply: string) => void): void {
    if (this.gate === undefined) answer('ok')
    else
      void this.gate.promise.then(() => {
        answer('ok')
      })
  }

  private installPolicies(): void {
    const { ctx } = this.world
    ctx.on('tools/pre-execute', (_exec, next) => {
      if (this.policy === 'deny') return Promise.resolve({ kind: 'deny', reason: LONG })
      if (this.policy === 'ask') return Promise.resolve({ kind: 'ask', reason: LONG })
      if (this.policy === 'pre-execute throws') throw new Error(LONG)
      return next()
    })
    ctx.on('tools/execute', (_exec, next) => {
      if (this.policy === 'execute throws') throw new Error(LONG)
      return next()
    })
    ctx.on('tools/post-execute', async (_exec, result, next) => {
      const [first] = result.content
      const said = first?.type === 'text' ? first.text : ''
      switch (this.policy) {
        case 'post-execute throws':
          throw new Error(LONG)
        case 'replace':
          return { kind: 'accept', content: block(LONG) }
        case 'replace, marked':
          return { kind: 'accept', content: block(`${LONG}\n[result truncated]`) }
        case 'prefix':
          return { kind: 'accept', content: block(`note: ${said}`) }
        case 'same text':
          return { kind: 'accept', content: block(said) }
        case 'two blocks':
          return { kind: 'accept', content: [...block(LONG), ...block(LONG)] }
        case 'no block':
          return { kind: 'accept', content: [] }
        case 'other value':
          if (result.isError || typeof result.value !== 'object' || !('text' in (result.value ?? {}))) return next()
          return { kind: 'accept', value: { ...(result.value as object), text: LONG } }
        case 'block':
          return { kind: 'block', feedback: block(LONG) }
        default:
          return next()
      }
    })
  }

  /** Calls are recorded under their number, since the two worlds may differ in which microtask answers first. */
  private call(tool: string, args: object, caller: number): void {
    const n = this.aborts.length
    const abort = new AbortController()
    this.aborts.push(abort)
    this.results[n] = 'pending'
    void this.world.call(tool, args, this.agents[caller], abort.signal).then(result => (this.results[n] = result))
  }

  do(step: Step): void {
    const job = 'job' in step ? this.jobs[step.job] : undefined
    const id = job?.id ?? 'bash-99'
    switch (step.op) {
      case 'start': {
        const { kind, label, limit, final } = step
        const owner = this.agents[step.owner]
        const spec = {
          kind,
          label,
          final,
          ...(owner && { owner }),
          ...(limit !== undefined && { outputLimitBytes: limit }),
        }
        this.jobs.push(this.world.job(spec))
        break
      }
      case 'print':
        job?.print(step.text)
        break
      case 'end':
        void job?.end(step.outcome)
        break
      case 'output': {
        const { wait, timeoutMs } = step
        const args = {
          job_id: id,
          ...(wait !== undefined && { wait }),
          ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
        }
        this.call('job_output', args, step.caller)
        break
      }
      case 'kill':
        this.call('job_kill', { job_id: id, ...(step.reason !== undefined && { reason: step.reason }) }, step.caller)
        break
      case 'list':
        this.call('job_list', {}, step.caller)
        break
      case 'malformed':
        this.call(step.tool, step.args, step.caller)
        break
      case 'abort':
        this.aborts.at(-1 - step.call)?.abort()
        break
      case 'user':
        this.agents[step.agent]?.followup(userMessage('go on'))
        break
      case 'hold':
        this.gate ??= Promise.withResolvers()
        break
      case 'release':
        this.gate?.resolve()
        this.gate = undefined
        break
      case 'policy':
        this.policy = step.policy
        break
      case 'pass':
        break
    }
  }

  async finish(): Promise<void> {
    this.do({ op: 'release' })
    for (const job of this.jobs) await job.end()
    await Promise.all(this.agents.map(agent => agent.whenIdle()))
  }

  /**
   * Everything that both worlds must agree on: results, kill reasons, and each session's log with its notices. The
   * request headers are left out, since the tools' descriptions are worded anew.
   */
  trace(): unknown {
    const ids = new Map<string, string>()
    const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
    const log = this.agents.map(({ session }) => session.events.filter(({ type }) => type !== 'request/header'))
    const trace = { results: this.results, cancels: this.jobs.map(job => job.cancel.mock.calls), log }
    const named = (id: string) => ids.get(id) ?? ids.set(id, `id ${ids.size}`).get(id) ?? id
    return JSON.parse(JSON.stringify(trace).replace(uuid, named))
  }

  dispose(): Promise<void> {
    return this.world.dispose()
  }
}

async function play(script: Step[], config: object, wakes: object): Promise<void> {
  const stock = await Run.create(STOCK, config)
  const ours = await Run.create(OURS, { ...config, ...wakes })
  const runs = [stock, ours]
  for (const step of script) {
    for (const run of runs) run.do(step)
    await vi.advanceTimersByTimeAsync(step.op === 'pass' ? step.ms : 1)
  }
  await vi.advanceTimersByTimeAsync(200)
  for (const run of runs) await run.finish()
  expect(ours.trace()).toEqual(stock.trace())
  expect(stock.results).not.toContain('pending')
  for (const run of runs) await run.dispose()
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const scriptOf = (steps: fc.Arbitrary<Step>) => fc.array(steps, { minLength: 5, maxLength: 40 })

describe('the tools say and do what the published ones do', { timeout: 120_000 }, () => {
  it('without wakes, on any script', async () => {
    const property = fc.asyncProperty(scriptOf(step), config, (script, config) => play(script, config, NO_WAKES))
    await fc.assert(property, { numRuns: Number(process.env.HUNT_RUNS ?? 60) })
  })

  it('with wakes, where no wait lasts as long as their window', async () => {
    const property = fc.asyncProperty(scriptOf(step), config, (script, config) => play(script, config, {}))
    await fc.assert(property, { numRuns: Number(process.env.HUNT_RUNS ?? 40) })
  })
})
