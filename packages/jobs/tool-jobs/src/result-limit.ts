/**
 * Holds every result of a job tool within the job's byte limit, whatever the policy listeners made of it.
 * @module @deepseek-ai/dsh-tool-jobs/result-limit
 */
import type { Context } from '@deepseek-ai/cordis'
import type { JobSnapshot } from '@deepseek-ai/dsh-jobs'
import type { ToolDefinition, ToolExecution } from '@deepseek-ai/dsh-tools'
import { fitTail } from './byte-limit.ts'

/** Fits one text of a result; `undefined` if the text is not the tool's own rendering. */
export type FitOwnText = (text: string, value: unknown, limit: number) => string | undefined

type Finalize = NonNullable<ToolDefinition['finalizeContent']>

const LIMITED_TOOLS = ['job_output', 'job_kill']

/** The arguments of a call as the registry hands them on, however malformed. */
type LooseArgs = { job_id?: unknown } | null | undefined

/**
 * Watch the calls of the limited tools, as an effect of the context. The job is looked up before policy runs, since it
 * may be gone afterwards, and again at the end for a call that met no job or never got as far as policy.
 * @param ctx - context of the plugin.
 * @returns builds a tool's `finalizeContent`; the tool says how its own rendering is fitted, if in a way of its own.
 */
export function watchResultLimits(ctx: Context): (fitOwn?: FitOwnText) => Finalize {
  const noted = new WeakMap<object, JobSnapshot>()

  // `get`: a call may end after this plugin was unloaded.
  const jobOf = ({ agent, arguments: args }: Readonly<ToolExecution>) =>
    ctx
      .get('jobs')
      ?.list(agent)
      .find(job => job.id === (args as LooseArgs)?.job_id)

  ctx.on(
    'tools/pre-execute',
    (exec, next) => {
      const job = LIMITED_TOOLS.includes(exec.name) ? jobOf(exec) : undefined
      if (job !== undefined) noted.set(exec, job)
      return next()
    },
    { prepend: true },
  )

  return fitOwn => (exec, result) => {
    const [block, ...others] = result.content
    if (block?.type !== 'text' || others.length > 0) return undefined
    const limit = (noted.get(exec) ?? jobOf(exec))?.outputLimitBytes
    if (limit === undefined) return undefined
    const own = result.isError ? undefined : fitOwn?.(block.text, result.value, limit)
    return [{ type: 'text', text: own ?? fitTail(block.text, '', '[result truncated]', limit) }]
  }
}
