/** What happens to the agents, at random: input, goals, jobs, cancels, disposals, and plugins that come and go. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { JobHooks, JobOutcome } from '@deepseek-ai/dsh-jobs'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { count, type Counts } from './counts.ts'
import { KEEP_ASKING } from './model.ts'
import type { Random } from './random.ts'
import type { Reloadable, World } from './world.ts'

const RELOADS: Record<Reloadable, number> = {
  'goal-round-driver': 4,
  'tool-jobs': 3,
  'tool-ask-user': 3,
  'jobs-local': 1,
  'user-questions': 1,
}

const userMessage = (text: string) => createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })

const notice = (text: string) =>
  createUserMessage({
    content: [{ type: 'text', text }],
    source: { kind: 'plugin', plugin: 'soak', form: 'notice', summary: text },
  })

/** A job in this process that prints lines at random times, with or without a signal, and ends by itself. */
function printingJob(random: Random, push: boolean): JobHooks {
  const { promise, resolve } = Promise.withResolvers<JobOutcome>()
  const listeners = new Set<() => void>()
  let unread = ''
  let left = random.int(0, 60)
  const end = (outcome: JobOutcome) => {
    clearTimeout(timer)
    resolve(outcome)
  }
  const print = () => {
    if (left === 0) {
      end(random.chance(0.9) ? { status: 'completed' } : { status: 'failed', detail: 'at random' })
      return
    }
    left -= 1
    unread += `line ${left}\n`
    for (const listener of listeners) listener()
    timer = setTimeout(print, random.int(1, 200))
  }
  let timer = setTimeout(print, random.int(1, 500))
  return {
    done: promise,
    cancel: () => {
      end({ status: 'killed' })
    },
    readOutput() {
      const text = unread
      unread = ''
      return text
    },
    ...(push && {
      onOutput(listener: () => void) {
        listeners.add(listener)
        if (unread !== '') listener()
        return () => listeners.delete(listener)
      },
    }),
  }
}

/** A job of the agent, of which a notice tells its model; none where no controller is loaded or the agent has its fill. */
function startJob({ ctx }: World, agent: Agent, random: Random, push: boolean): void {
  const jobs = ctx.get('jobs')
  const running = jobs?.list(agent).filter(({ status }) => status === 'running' || status === 'stopping').length ?? 0
  if (jobs === undefined || ctx.tools.get('job_output') === undefined || running >= 8) return
  const label = push ? 'push' : 'pull'
  const id = jobs.start({ kind: 'bash', label, owner: agent, run: () => printingJob(random, push) })
  agent.inject(notice(`started background job ${id}`))
}

function clearGoal({ ctx }: World, agent: Agent): void {
  const goal = ctx.goals.get(agent)
  if (goal !== undefined) ctx.goals.clear(agent, goal)
}

/** Something that happens to an agent. */
interface Action {
  /** How often, beside the others. */
  readonly weight: number
  happen(world: World, agent: Agent, random: Random): void | Promise<void>
}

const ACTIONS = {
  followup: {
    weight: 30,
    happen: (_world, agent) => {
      agent.followup(userMessage('Go on with the work.'))
    },
  },
  steer: {
    weight: 20,
    happen: (_world, agent) => {
      agent.steer(userMessage('Do something else.'))
    },
  },
  notice: {
    weight: 10,
    happen: (_world, agent) => {
      agent.inject(notice('something happened'))
    },
  },
  goal: {
    weight: 12,
    happen(world, agent, random) {
      clearGoal(world, agent)
      world.ctx.goals.create(agent, { objective: 'Wander about', maxGoalRounds: random.int(1, 5) })
    },
  },
  'asking goal': {
    weight: 4,
    happen(world, agent) {
      clearGoal(world, agent)
      world.ctx.goals.create(agent, { objective: KEEP_ASKING, maxGoalRounds: 256 })
    },
  },
  'clear the goal': { weight: 3, happen: clearGoal },
  'push job': {
    weight: 8,
    happen: (world, agent, random) => {
      startJob(world, agent, random, true)
    },
  },
  'pull job': {
    weight: 8,
    happen: (world, agent, random) => {
      startJob(world, agent, random, false)
    },
  },
  cancel: {
    weight: 4,
    happen: (_world, agent) => {
      agent.cancel({ kind: 'user' })
    },
  },
  'cancel, inbox kept': {
    weight: 3,
    happen: (_world, agent) => {
      agent.cancel({ kind: 'user' }, { keepInbox: true })
    },
  },
  'replace the agent': {
    weight: 10,
    async happen(world, agent) {
      await world.removeAgent(agent)
      await world.addAgent()
    },
  },
} satisfies Record<string, Action>

type ActionName = keyof typeof ACTIONS

const WEIGHTS = Object.fromEntries(Object.entries(ACTIONS).map(([name, { weight }]) => [name, weight])) as Record<
  ActionName,
  number
>

async function act(world: World, agent: Agent, random: Random, counts: Counts): Promise<void> {
  const name = random.weighted(WEIGHTS)
  count(counts, name)
  const action: Action = ACTIONS[name]
  await action.happen(world, agent, random)
}

/** Reload plugins of a world, one at a time, until told to stop. */
async function reloadAtRandom(world: World, random: Random, stopped: () => boolean): Promise<void> {
  while (!stopped()) {
    await delay(random.int(500, 3_000))
    await world.reload(random.weighted(RELOADS), () => delay(random.int(0, 100)))
  }
}

/** Any agent, or one that is at work, if some are: what happens then is what races. */
function pickAgent({ agents }: World, random: Random): Agent {
  const working = [...agents].filter(({ status }) => status === 'running')
  return random.pick(working.length > 0 && random.chance(0.6) ? working : [...agents])
}

/** Act on agents of a world until told to stop. Nothing waits for an agent that takes its time to go. */
async function actAtRandom(world: World, random: Random, counts: Counts, stopped: () => boolean): Promise<void> {
  const going = new Set<Promise<void>>()
  while (!stopped()) {
    await delay(random.int(10, 60))
    const action = act(world, pickAgent(world, random), random, counts)
    going.add(action)
    void action.finally(() => going.delete(action))
  }
  await Promise.all(going)
}

/**
 * Run the chaos in some worlds until told to stop.
 * @param worlds - the worlds, with their agents.
 * @param random - all choices.
 * @param counts - takes what happened.
 * @param stopped - asked between actions.
 */
export async function runChaos(
  worlds: readonly World[],
  random: Random,
  counts: Counts,
  stopped: () => boolean,
): Promise<void> {
  await Promise.all(
    worlds.flatMap(world => [actAtRandom(world, random, counts, stopped), reloadAtRandom(world, random, stopped)]),
  )
}
