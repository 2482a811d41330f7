/** The real runtime of the soak: everything but the model is what a user runs, and most plugins can be reloaded. */
import type { Context, Fiber } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { LocalBashExecutor } from '@deepseek-ai/dsh-bash-local'
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread'
import { GoalService } from '@deepseek-ai/dsh-goal'
import * as goalRoundDriver from '@deepseek-ai/dsh-goal-round-driver'
import { LocalJobRegistry } from '@deepseek-ai/dsh-jobs-local'
import * as shellEnv from '@deepseek-ai/dsh-shell-env'
import { LocalSubprocessRuntime } from '@deepseek-ai/dsh-subprocess-local'
import * as toolAskUser from '@deepseek-ai/dsh-tool-ask-user'
import * as toolBash from '@deepseek-ai/dsh-tool-bash'
import * as toolGoal from '@deepseek-ai/dsh-tool-goal'
import * as toolJobs from '@deepseek-ai/dsh-tool-jobs'
import type { ToolPresentationMode } from '@deepseek-ai/dsh-tools'
import { UserQuestionService } from '@deepseek-ai/dsh-user-questions'
import { mountRuntime } from '../demo/runtime.ts'
import { count, type Counts } from './counts.ts'
import { randomModel } from './model.ts'
import type { Random } from './random.ts'

/** The plugins that come and go. */
export type Reloadable = 'goal-round-driver' | 'jobs-local' | 'tool-ask-user' | 'tool-jobs' | 'user-questions'

/** One runtime with its agents. */
export interface World {
  readonly ctx: Context
  readonly mode: ToolPresentationMode
  readonly agents: Set<Agent>
  /** Create an agent under an id that was not used before. */
  addAgent(): Promise<void>
  /** Dispose an agent; only weak references to it stay. */
  removeAgent(agent: Agent): Promise<void>
  /** Unload a plugin, wait, and load it again. */
  reload(name: Reloadable, pause: () => Promise<void>): Promise<void>
  /** From now on the model ends every turn at once, unless a check asks it for a question. */
  rest(): void
  /** Drop the requests that the model has kept. */
  forgetRequests(): void
  /** The agents that were disposed, as far as something still holds them. */
  disposedAgentsInMemory(): number
}

/** A human who answers most questions after a moment, and fails some. */
function humanPlugin(random: Random, counts: Counts) {
  return {
    name: 'human',
    inject: ['userQuestions'],
    apply(ctx: Context) {
      ctx.userQuestions.registerProvider({
        ask: async ({ questions }) => {
          count(counts, 'questions answered')
          await new Promise(resolve => setTimeout(resolve, random.int(0, 30)))
          if (random.chance(0.1)) throw new Error('the human hung up')
          return { answers: questions.map(({ id }) => ({ id, selected: ['this'] })) }
        },
      })
    },
  }
}

/**
 * Mount a world.
 * @param mode - how its tools are presented.
 * @param random - its model's and its human's choices.
 * @param counts - takes what happened.
 * @returns the world, without agents.
 */
export async function mountWorld(mode: ToolPresentationMode, random: Random, counts: Counts): Promise<World> {
  let resting = false
  const runtime = await mountRuntime(
    randomModel(random, mode, () => resting),
    mode,
  )
  const { ctx, model } = runtime
  await ctx.plugin(LocalSubprocessRuntime)
  await ctx.plugin(LocalBashExecutor, { graceMs: 200 })
  await ctx.plugin(shellEnv)
  if (mode === 'code') await ctx.plugin(WorkerThreadCodeRuntime)
  await ctx.plugin(GoalService)
  await ctx.plugin(toolGoal, {})
  const load: Record<Reloadable, () => PromiseLike<Fiber>> = {
    'user-questions': () => ctx.plugin(UserQuestionService),
    'jobs-local': () => ctx.plugin(LocalJobRegistry, {}),
    'goal-round-driver': () => ctx.plugin(goalRoundDriver),
    'tool-ask-user': () => ctx.plugin(toolAskUser),
    'tool-jobs': () => ctx.plugin(toolJobs, {}),
  }
  const fibers = new Map<Reloadable, Fiber>()
  for (const name of Object.keys(load) as Reloadable[]) fibers.set(name, await load[name]())
  await ctx.plugin(toolBash, {})
  await ctx.plugin(humanPlugin(random, counts))

  const agents = new Set<Agent>()
  const disposed: WeakRef<Agent>[] = []
  const disposers = new WeakMap<Agent, () => Promise<void>>()
  let created = 0
  return {
    ctx,
    mode,
    agents,
    async addAgent() {
      created += 1
      const handle = await runtime.createHandle(`${mode}-${created}`)
      disposers.set(handle.agent, () => handle.dispose())
      agents.add(handle.agent)
    },
    async removeAgent(agent) {
      agents.delete(agent)
      await disposers.get(agent)?.()
      disposed.push(new WeakRef(agent))
    },
    async reload(name, pause) {
      count(counts, `reloads of ${name}`)
      await fibers.get(name)?.dispose()
      await pause()
      fibers.set(name, await load[name]())
    },
    rest: () => void (resting = true),
    forgetRequests: () => void model.requests.splice(0),
    disposedAgentsInMemory: () => disposed.filter(reference => reference.deref() !== undefined).length,
  }
}
