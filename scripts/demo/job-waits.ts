/**
 * Reports #6030 and #6285: the model waits for a background bash job with `job_output(wait: true)`, and the user's steer,
 * or the job's output, comes during the wait. A real job in the real agent loop; only the model is scripted.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { LocalBashExecutor } from '@deepseek-ai/dsh-bash-local'
import { LocalJobRegistry } from '@deepseek-ai/dsh-jobs-local'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import * as shellEnv from '@deepseek-ai/dsh-shell-env'
import { LocalSubprocessRuntime } from '@deepseek-ai/dsh-subprocess-local'
import * as toolBash from '@deepseek-ai/dsh-tool-bash'
import * as toolJobs from '@deepseek-ai/dsh-tool-jobs'
import { eventsOf, lastText, mountRuntime, textOf, until, type Reply, type ScriptedModel } from './runtime.ts'
import { excerpt, type Section } from './section.ts'

/** What came of a steer during a wait. */
export interface SteerDuringWait {
  /** From the steer to the model request that contains it. */
  readonly steerToRequestMs: number
  /** Whether the job was still running then. */
  readonly jobSurvived: boolean
  readonly result: string
}

/** What came of output during a wait. */
export interface OutputDuringWait {
  /** From the first output, by the job's own clock, to the model request that contains it. */
  readonly outputToRequestMs: number
  readonly jobSurvived: boolean
  readonly bytesPrinted: number
  readonly bytesRead: number
  readonly modelRequests: number
  readonly result: string
}

/** How long the model waits at most. Upstream's cap is 600,000 ms; the stock run sits out all of this. */
const WAIT_MS = 6_000

const STEER = 'Stop. Switch to the other task.'

const LINES = 2_000
const PROGRESS_JOB = `sleep 0.44; date +'10%% at %s%3N'; sleep 3; seq 1 ${LINES}`

/** Starts one background job, then waits for it until it has ended or the user steers. */
function waitingModel(command: string) {
  return (text: string): Reply => {
    if (text.includes(STEER)) return 'Stopped waiting.'
    const started = /started background job (\S+)/.exec(text)
    if (text.startsWith('Begin')) {
      return { name: 'bash', args: { command, description: 'Run the job', run_in_background: true } }
    }
    if (started !== null || text.includes('[status: running')) {
      return { name: 'job_output', args: { job_id: started?.[1] ?? 'bash-1', wait: true, timeout_ms: WAIT_MS } }
    }
    return 'The job has ended.'
  }
}

async function mountJobs(command: string) {
  const model = waitingModel(command)
  const runtime = await mountRuntime(request => model(lastText(request)), 'native')
  const { ctx } = runtime
  await ctx.plugin(LocalSubprocessRuntime)
  await ctx.plugin(LocalBashExecutor, { graceMs: 200 })
  await ctx.plugin(shellEnv)
  await ctx.plugin(LocalJobRegistry, {})
  await ctx.plugin(toolJobs, {})
  await ctx.plugin(toolBash, {})
  const agent = await runtime.createAgent()
  agent.followup(userMessage('Begin'))
  return { ...runtime, agent }
}

function userMessage(text: string) {
  return createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })
}

/** The first request in which a text stands anywhere, with the time of its arrival. */
function requestWith(model: ScriptedModel, text: string) {
  return model.requests.find(({ request }) => request.messages.some(message => textOf(message.content).includes(text)))
}

function waitCalls(agent: Agent) {
  return eventsOf(agent, 'tool/call').filter(event => event.data.name === 'job_output')
}

function waitResults(agent: Agent): string[] {
  const calls = new Set(waitCalls(agent).map(event => event.data.callId))
  return eventsOf(agent, 'tool/result')
    .filter(({ data }) => calls.has(data.message.source.callId))
    .map(event => textOf(event.data.message.content))
}

function isJobRunning(ctx: Context, agent: Agent): boolean {
  return ctx.jobs.list(agent).some(job => job.status === 'running')
}

/**
 * A steer 300 ms into a wait for a silent job.
 * @returns when the model read it.
 */
export async function runSteerDuringWait(): Promise<SteerDuringWait> {
  const { ctx, model, agent } = await mountJobs('sleep 30')
  await until(ctx, agent, () => waitCalls(agent).length > 0)
  await new Promise(resolve => setTimeout(resolve, 300))
  const steeredAt = performance.now()
  agent.steer(userMessage(STEER))
  await until(ctx, agent, () => requestWith(model, STEER) !== undefined)
  const readAt = requestWith(model, STEER)?.at ?? Number.NaN
  const jobSurvived = isJobRunning(ctx, agent)
  await agent.whenIdle()
  const [result = ''] = waitResults(agent)
  await ctx.fiber.dispose()
  return { steerToRequestMs: Math.round(readAt - steeredAt), jobSurvived, result }
}

/**
 * A job that prints a line after 0.44 s and a burst of lines 3 s later.
 * @returns when the model read the first line, and how much it read in all.
 */
export async function runOutputDuringWait(): Promise<OutputDuringWait> {
  const { ctx, model, agent } = await mountJobs(PROGRESS_JOB)
  await until(ctx, agent, () => requestWith(model, '10% at') !== undefined)
  const request = requestWith(model, '10% at')
  const jobSurvived = isJobRunning(ctx, agent)
  await agent.whenIdle()
  const results = waitResults(agent)
  const [firstLine = '', printedAt = ''] = /10% at (\d+)/.exec(results.join('\n')) ?? []
  const printed = [firstLine, ...Array.from({ length: LINES }, (_, n) => String(n + 1)), ''].join('\n')
  await ctx.fiber.dispose()
  return {
    outputToRequestMs: Math.round(performance.timeOrigin + (request?.at ?? Number.NaN) - Number(printedAt)),
    jobSurvived,
    bytesPrinted: Buffer.byteLength(printed),
    bytesRead: results.reduce((sum, result) => sum + Buffer.byteLength(outputOf(result)), 0),
    modelRequests: model.requests.length,
    result: results[0]?.slice(0, 300) ?? '',
  }
}

/** The job's own output in a result: what stands before the lines that the tool adds. */
function outputOf(result: string): string {
  return result.replace(/(\[wake: [^\n]*\n)?\[status: [^\n]*$/, '').replace(/^\(no new output\)\n$/, '')
}

/**
 * Lay the stock run beside ours.
 * @param stock - the run on the published packages.
 * @param fork - the run on the packages of this repository.
 * @returns the section to print.
 */
export function presentSteerDuringWait(stock: SteerDuringWait, fork: SteerDuringWait): Section {
  return {
    title: '#6030  A message to the model while it waits for a job',
    setting:
      `The model waits for a silent background job, at most ${WAIT_MS} ms (dsh allows 600,000).`
      + ' After 0.3 s the user writes: stop, switch tasks.',
    rows: [
      ['until the model reads it', `${stock.steerToRequestMs} ms`, `${fork.steerToRequestMs} ms`],
      ['the job goes on', yesNo(stock.jobSurvived), yesNo(fork.jobSurvived)],
      ['result of the wait', excerpt(stock.result), excerpt(fork.result)],
    ],
    checks: [
      { what: 'the message is read long before the wait would end', holds: fork.steerToRequestMs < WAIT_MS / 4 },
      { what: 'the job goes on', holds: fork.jobSurvived },
    ],
  }
}

/**
 * Lay the stock run beside ours.
 * @param stock - the run on the published packages.
 * @param fork - the run on the packages of this repository.
 * @returns the section to print.
 */
export function presentOutputDuringWait(stock: OutputDuringWait, fork: OutputDuringWait): Section {
  const bytes = (run: OutputDuringWait) => `${run.bytesPrinted} / ${run.bytesRead}`
  return {
    title: '#6285  Output of a job while the model waits for it',
    setting: `A background job that prints after 0.44 s and again 3 s later; waits of at most ${WAIT_MS} ms.`,
    rows: [
      ['until the model reads it', `${stock.outputToRequestMs} ms`, `${fork.outputToRequestMs} ms`],
      ['the job was running then', yesNo(stock.jobSurvived), yesNo(fork.jobSurvived)],
      ['bytes printed / read', bytes(stock), bytes(fork)],
      ['model requests', stock.modelRequests, fork.modelRequests],
      ['first result', excerpt(stock.result), excerpt(fork.result)],
    ],
    checks: [
      {
        what: 'the first line comes back while the job runs',
        holds: fork.jobSurvived && fork.outputToRequestMs < 2_000,
      },
      { what: 'every byte that was printed is read, once', holds: fork.bytesRead === fork.bytesPrinted },
    ],
  }
}

function yesNo(value: boolean): string {
  return value ? 'yes' : 'no'
}
