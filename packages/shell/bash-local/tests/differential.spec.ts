/**
 * The published executor and ours run the same random commands, and everything that a caller or a subclass can see must
 * be equal: the results, the reads, the status, and what the hook of a subclass is called with. Commands print ASCII,
 * which no change of ours touches, and are read after their end or at points that they wait at.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Context } from '@deepseek-ai/cordis'
import type { ShellExecRequest, ShellProcess } from '@deepseek-ai/dsh-shell'
import { LocalBashExecutor as StockBashExecutor } from 'stock-bash-local'
import { LocalBashExecutor, type Config } from '../src/index.ts'
import {
  mountBash,
  ScriptedOutput,
  ScriptedProcess,
  ScriptedSubprocesses,
  testContext,
  type Executor,
} from './harness.ts'

const runs = { numRuns: Number(process.env.HUNT_RUNS ?? 25) }

const stream = fc.constantFrom('1', '2')
const text = fc.stringMatching(/^[a-z]{0,12}$/)

/** One step of a command. */
const step = fc.oneof(
  fc.record({ stream, text, newline: fc.boolean() }).map(print => printf(print)),
  fc.constantFrom('exit 0', 'exit 3', 'kill -TERM $$', 'kill -KILL $$'),
)

function printf({ stream, text, newline }: { stream: string; text: string; newline: boolean }): string {
  return `printf '${text}${newline ? '\\n' : ''}' >&${stream}`
}

const script = fc.array(step, { maxLength: 8 }).map(steps => steps.join('; '))

const config: fc.Arbitrary<Config> = fc.record(
  {
    maxOutputBytes: fc.constantFrom(1, 5, 20),
    maxSpillBytes: fc.constantFrom(10, 1_000),
    timeoutMs: fc.constant(9_000),
  },
  { requiredKeys: [] },
)

const request: fc.Arbitrary<Partial<ShellExecRequest>> = fc.record(
  {
    workdir: fc.constantFrom('/', '/no/such/folder'),
    stdin: text,
    env: fc.constantFrom({}, { A: 'a' }),
    dshEnv: fc.constantFrom({}, { DSH_A: 'b' }),
    stdoutMaxBytes: fc.constantFrom(7, 100),
    timeoutMs: fc.constantFrom(8_000, 1e9),
  },
  { requiredKeys: [] },
)

/** Paths of spill files are random; that there is one is not. */
function visible(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll(/"[^"]*dsh-subprocess-[^"]*"/g, '"<spill file>"'))
}

async function attempt(call: () => unknown): Promise<unknown> {
  try {
    return ['returned', visible(await call())]
  } catch (error) {
    return ['threw', String(error), visible(error)]
  }
}

/** A subclass that notes what its hook is called with. */
function hooked(Base: Executor, trace: unknown[]): Executor {
  return class extends Base {
    protected override onProcessDone(...facts: Parameters<LocalBashExecutor['onProcessDone']>): void {
      const [{ status, exitCode, signal }, ...rest] = facts
      trace.push(['hook', { status, exitCode, signal }, ...rest.map(String)])
    }
  }
}

/** One process from its start to its end, as its caller sees it. */
async function life(start: () => ShellProcess, meanwhile: (proc: ShellProcess) => unknown): Promise<unknown[]> {
  const trace: unknown[] = []
  const facts = ({ status, exitCode, signal }: ShellProcess) => ({ status, exitCode, signal })
  const end = await attempt(async () => {
    const proc = start()
    trace.push(facts(proc), await attempt(() => meanwhile(proc)), facts(proc))
    trace.push(await Promise.all([proc.done]), facts(proc), proc.kill())
    for (let read = 0; read < 3; read += 1) trace.push(visible(proc.readOutput()))
  })
  return [...trace, end]
}

/** Runs one scenario on both executors, each in a context of its own. */
async function both(
  mount: (Executor: Executor) => Promise<Context>,
  scenario: (ctx: Context, trace: unknown[]) => Promise<unknown>,
): Promise<void> {
  const traces: unknown[][] = []
  for (const Executor of [StockBashExecutor as unknown as Executor, LocalBashExecutor]) {
    const trace: unknown[] = []
    const ctx = await mount(hooked(Executor, trace))
    trace.push(await scenario(ctx, trace))
    await ctx.fiber.dispose()
    traces.push(trace)
  }
  expect(traces[1]).toEqual(traces[0])
}

function onRealProcesses(config: Config): (Executor: Executor) => Promise<Context> {
  return async Executor => (await mountBash(config, Executor)).ctx
}

async function onScriptedProcesses(Executor: Executor): Promise<Context> {
  const ctx = testContext()
  await ctx.plugin(ScriptedSubprocesses)
  await ctx.plugin(Executor, {})
  return ctx
}

it('a foreground command ends alike', () =>
  fc.assert(
    fc.asyncProperty(config, script, request, (config, command, request) =>
      both(onRealProcesses(config), ({ shell }) => attempt(() => shell.run(shell.resolve({ command, ...request })))),
    ),
    runs,
  ))

it('a background command ends and reads alike, killed or not', () =>
  fc.assert(
    fc.asyncProperty(config, script, request, fc.boolean(), (config, command, request, kill) =>
      both(onRealProcesses(config), ({ shell }) =>
        // A process that is to be killed prints nothing: it may not have come to that on one of the sides.
        life(
          () => shell.start(shell.resolve({ command: kill ? 'sleep 60' : command, ...request })),
          proc => (kill ? proc.kill() : undefined),
        ),
      ),
    ),
    runs,
  ))

const piece = fc.record({ stream: fc.constantFrom('stdout', 'stderr'), text })
const moment = fc.oneof(
  { weight: 4, arbitrary: piece },
  { weight: 3, arbitrary: fc.constant('read' as const) },
  { weight: 1, arbitrary: fc.constantFrom('kill', 'abort', 'exit', 'die', 'fail', 'fail with nothing') },
)
type Moment = typeof moment extends fc.Arbitrary<infer T> ? T : never

it('a process driven by hand reads, ends and calls the hook alike, whatever happens in whatever order', () =>
  fc.assert(
    fc.asyncProperty(fc.array(moment, { maxLength: 12 }), fc.constantFrom(4, 1_000), (moments, window) =>
      both(onScriptedProcesses, (ctx, trace) => scripted(ctx, trace, moments, window)),
    ),
    runs,
  ))

async function scripted(ctx: Context, trace: unknown[], moments: readonly Moment[], window: number): Promise<number> {
  const output = { stdout: new ScriptedOutput(window), stderr: new ScriptedOutput(window) }
  const handle = new ScriptedProcess(output)
  const controller = new AbortController()
  ScriptedSubprocesses.next = () => handle
  const proc = ctx.shell.start(ctx.shell.resolve({ command: 'x', signal: controller.signal }))
  const step = (moment: Moment): unknown => {
    switch (moment) {
      case 'read':
        return proc.readOutput()
      case 'kill':
        return proc.kill()
      case 'abort':
        controller.abort()
        return undefined
      case 'exit':
        handle.exit({ exitCode: 2, signal: null })
        return undefined
      case 'die':
        handle.exit({ exitCode: null, signal: 'SIGKILL' })
        return undefined
      case 'fail':
        handle.fail(new Error('no bash'))
        return undefined
      case 'fail with nothing':
        handle.fail()
        return undefined
      default:
        output[moment.stream].push(moment.text)
        return undefined
    }
  }
  let isDone = false
  void proc.done.then(() => (isDone = true))
  for (const moment of [...moments, 'exit', 'read', 'read'] as const) {
    trace.push([moment, step(moment)])
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
    trace.push([proc.status, proc.exitCode, proc.signal, isDone])
  }
  return handle.terminated
}
