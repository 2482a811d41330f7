/**
 * A model of the community plugin for the published packages: it wraps `job_output(wait: true)`, looks at the job and at
 * the inbox every 200 ms, and ends the wait 1 s after it first saw output or a steer. Those are its documented defaults.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { JobId, type JobRegistry, type JobSnapshot } from '@deepseek-ai/dsh-jobs'
import type { ToolDispatchExecution, ToolExecutionResult } from '@deepseek-ai/dsh-tools'

const POLL_MS = 200
const GRACE_MS = 1_000

/** One wait by polling. */
export interface PolledWait {
  readonly id: JobId
  readonly agent: Agent
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** What a polled wait came to: all output that it drew, and the job at its end. */
export interface PolledResult {
  readonly text: string
  readonly job: JobSnapshot
}

/**
 * Wait for the end of a job, or until a second after output or a steer was seen.
 * @param jobs - the published registry.
 * @param wait - the job, and for how long.
 * @returns the output and the job; rejects when the registry does not know the job any more.
 */
export function pollWait(jobs: JobRegistry, { id, agent, timeoutMs, signal }: PolledWait): Promise<PolledResult> {
  const { promise, resolve, reject } = Promise.withResolvers<PolledResult>()
  const startedAt = performance.now()
  let text = ''
  let triggeredAt = Infinity
  const look = () => {
    const { text: delta, snapshot: job } = jobs.read(id, agent)
    text += delta
    const now = performance.now()
    const steered = agent.inbox.nextStep.some(({ source }) => source.kind === 'user')
    if (text !== '' || steered) triggeredAt = Math.min(triggeredAt, now)
    const over = now - startedAt >= timeoutMs || now - triggeredAt >= GRACE_MS || signal.aborted
    if (job.status === 'running' && !over) return
    clearInterval(timer)
    resolve({ text, job })
  }
  const timer = setInterval(() => {
    try {
      look()
    } catch (error) {
      clearInterval(timer)
      reject(error)
    }
  }, POLL_MS)
  return promise
}

interface WaitArguments {
  readonly job_id: string
  readonly wait?: boolean
  readonly timeout_ms?: number
}

async function polledOutput(
  jobs: JobRegistry,
  exec: ToolDispatchExecution,
  agent: Agent,
): Promise<ToolExecutionResult> {
  const { job_id: id, timeout_ms: timeoutMs = 30_000 } = exec.arguments as WaitArguments
  const { text, job } = await pollWait(jobs, { id: JobId(id), agent, timeoutMs, signal: exec.signal })
  const { kind, label, status, startedAt } = job
  return {
    isError: false,
    value: { text, job: { id, kind, label, status, startedAt } },
    content: [{ type: 'text', text: `${text || '(no new output)'}\n[status: ${status}]` }],
  }
}

export const name = 'poll-baseline'

export const inject = ['tools', 'jobs']

export function apply(ctx: Context): void {
  ctx.on('tools/execute', (exec, next) => {
    const waits = exec.name === 'job_output' && (exec.arguments as WaitArguments).wait === true
    return waits && exec.agent !== undefined ? polledOutput(ctx.jobs, exec, exec.agent) : next()
  })
}
