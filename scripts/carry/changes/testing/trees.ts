/** A small harness with the places of all commits, in our own words. */
import { packages, type Tree } from './packages.ts'

/** Headings that many READMEs end with. */
const CLOSING = ['Model Experience', 'Known Limitations and Deferred Work']

/**
 * Make the tree.
 * @param prefix - what the names of its packages begin with.
 * @returns its files.
 */
export function smallHarness(prefix = '@deepseek-ai/dsh-'): Tree {
  return {
    ...packages(prefix, {
      'packages/goal/goal-round-driver': ['Composition', 'Idle checkpoint', ...CLOSING],
      'packages/goal/tool-goal': [],
      'packages/interaction/tool-ask-user': ['Tool', ...CLOSING],
      'packages/interaction/user-questions': [],
      'packages/code-runtime/code-runtime-worker-thread': [],
      'packages/util/output-retention': [],
      'packages/core/system-prompt': [],
      'packages/core/tools': [],
      'vendor/schemastery': [],
      'packages/core/agent-loop': [],
      'packages/llm/llm': [],
      'packages/test-support/agent-loop-testkit': [],
      'packages/jobs/jobs': ['Service contract'],
      'packages/jobs/jobs-local': ['Lifecycle'],
      'packages/jobs/tool-jobs': ['Tools', 'Config', 'Background-job guidance', 'Known Limitations and Deferred Work'],
      'packages/shell/shell': ['Service API (`ctx.shell`)'],
      'packages/shell/bash-local': ['Behavior'],
      'packages/shell/tool-bash': ['`bash`'],
    }),
    ...sources(prefix),
  }
}

function sources(prefix: string): Tree {
  return {
    'packages/goal/goal-round-driver/src/index.ts': `import type { Agent } from '${prefix}agent'
import { renderGoalRoundPrompt } from './prompt.ts'

export { renderGoalRoundPrompt } from './prompt.ts'

interface DriverState {
  agent: Agent
}

export function apply(ctx: Context): void {
  const states = new Map<Agent, DriverState>()

  function stateFor(agent: Agent): DriverState {
    const state: DriverState = {
      agent,
    }
    return state
  }

  function drive(state: DriverState): void {
    const goal = goalOf(state)
    if (goal.roundsStarted >= goal.maxGoalRounds) {
      return
    }
  }

  ctx.effect(function* () {
    ctx.on('agent/status', ({ agent }) => {
      const attempt = stateFor(agent).attempt
    })
    ctx.on('agent/pre-step', async ({ agent, signal }, next) => {
      if (!valid) {
        return refuse()
      }
      try {
        decision = await next()
      } catch (error) {
        throw error
      }
      if (signal.aborted) {
        return decision
      }
      if (decision.kind === 'reject') {
        return decision
      }
      if (!valid) {
        return refuse()
      }
      return decision
    })
    yield async () => {
      await Promise.allSettled(waits)
    }
  })
}
`,
    'packages/interaction/tool-ask-user/src/index.ts': `import { defineTool } from '${prefix}tools'

/** Mounts it. */
export function apply(ctx: Context): void {
  ctx.tools.register(defineTool({ name: 'ask' }))
}
`,
    'packages/jobs/jobs/src/types.ts': `export interface JobHooks {
  done: Promise<void>
  readOutput?(): string
}
`,
    'packages/jobs/jobs/src/index.ts': `import type { Agent } from '${prefix}agent'
export type { JobSnapshot } from './types.ts'

export abstract class JobRegistry {
  /**
   * Wait.
   * @param signal - ends it.
   * @returns the job.
   */
  abstract wait(id: JobId, timeoutMs: number, caller?: Agent, signal?: AbortSignal): Promise<JobSnapshot>
}
`,
    'docs/subsystems/jobs.md': '# Jobs\n\n```ts\ninterface JobHooks {\n  readOutput?(): string\n}\n```\n\nWords.\n',
    'docs/subsystems/jobs.zh.md': '# 作业\n\n```ts\ninterface JobHooks {\n  readOutput?(): string\n}\n```\n\n文字。\n',
    'scripts/gen-cordis-catalog.ts': `const pages = {
  JobSnapshot: 'jobs.md',
}
`,
    'packages/jobs/jobs-local/src/index.ts': `import { deadline } from '${prefix}timeout'
import type { JobSnapshot } from '${prefix}jobs'

interface Tracked {
  readOutput: (() => string) | undefined
  waitResolvers: Set<() => void>
}

export class LocalJobRegistry {
  private readonly selfCtx: Context

  constructor(ctx: Context) {
    this.selfCtx = ctx
  }

  start(spec: JobStart) {
    const hooks = spec.run()
    const id = newId()
    const job: Tracked = {
      id,
      readOutput: hooks.readOutput,
      waitResolvers: new Set(),
    }
  }

  read(id: JobId) {
    const job = this.expect(id)
    return job.readOutput ? job.readOutput() : job.output
  }

  async wait(id: JobId, timeoutMs: number, caller?: Agent, signal?: AbortSignal): Promise<JobSnapshot> {
    const job = this.expect(id)
    if (isLive(job)) {
      const uncount = () => {}
      using d = deadline(signal, timeoutMs)
      await new Promise<void>((resolve, reject) => {
        const onSettled = () => resolve()
        d.signal.addEventListener('abort', reject)
      })
    }
    return this.snapshot(job)
  }

  private settle(job: Tracked) {
    job.finishedAt = Date.now()
  }
}
`,
    'packages/jobs/tool-jobs/src/index.ts': `import { defineTool } from '${prefix}tools'

export interface Config {
  waitTimeoutMs?: number
}

export const Config: z<Config> = z.object({
  waitTimeoutMs: z.number(),
})

export function apply(ctx: Context, config: Config): void {
  const waitCap = config.maxWaitTimeoutMs
  const finalizeTaskContent = (exec, result) => {
    const value = result.value as { text: string }
    const suffix = \`\\n\${statusLine(value.job)}\`
    return fitWithSuffix(value.text, suffix, maxBytes, 'cut')
  }
  ctx.systemPrompt.section({
    name: 'tool:jobs',
    text: 'Mind your jobs.',
  })
  ctx.tools.register(defineTool({
    name: 'job_output',
    description: 'Read a job. '
      + 'Or wait.',
    parameters: {
      job_id: { type: 'string' },
    },
    output: {
      schema: {
        properties: {
          text: { type: 'string' },
        },
      },
      render: (_args, value) => [{ type: 'text', text: value.text + statusLine(value.job) }],
    },
    async execute(args, exec) {
      const id = JobId(args.job_id)
      if (args.wait === true) {
        const timeout = Math.min(args.timeout_ms, waitCap)
        await ctx.jobs.wait(id, timeout, exec.agent, exec.signal)
      }
      const read = ctx.jobs.read(id, exec.agent)
      return { text: read.text }
    },
  }))
}
`,
    'packages/examples/agent-spine-demo/tests/agent-core.spec.ts':
      'expect(wait).toHaveBeenCalledWith(id, 1, undefined, signal)\n',
    'packages/shell/shell/src/types.ts': `export interface ShellProcess {
  readOutput(): ShellProcessRead
}
`,
    'docs/subsystems/shell.md':
      '# Shell\n\n```ts\ninterface ShellProcess {\n  readOutput(): ShellProcessRead\n}\n```\n',
    'docs/subsystems/shell.zh.md':
      '# Shell\n\n```ts\ninterface ShellProcess {\n  readOutput(): ShellProcessRead\n}\n```\n',
    'packages/shell/bash-local/src/index.ts': `import { ShellExecutor } from '${prefix}shell'

export class LocalBashExecutor extends ShellExecutor {
  private source: () => Config

  protected startArgv(spec: ShellExecSpec, argv: readonly string[]): ShellProcess {
    const running = this.ctx.subprocess.spawn(argv)
    const { out, err } = running
    let spawnFailureNote: string | undefined
    let a = 0
    let b = 0
    const proc: ShellProcess = {
      done: running.done.then(() => {
        this.onProcessDone(proc)
      }, (error: unknown) => {
        spawnFailureNote = String(error)
      }),
      readOutput: () => {
        const first = out.readFrom(a)
        const second = err.readFrom(b)
        a = first.nextOffset
        b = second.nextOffset
        return { delta: first.text + second.text }
      },
    }
    return proc
  }
}
`,
    'packages/shell/tool-bash/src/index.ts': `import { defineTool } from '${prefix}tools'

const id = jobs.start({
  kind: 'bash',
  run: () => {
    const proc = start()
    return {
      readOutput: () => proc.readOutput(),
    }
  },
})
`,
  }
}
