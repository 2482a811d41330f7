/**
 * Random rounds of a model that asks, works, does both at once, fails, and of people who come in between. What the log
 * says of the rounds decides what the driver must have done: no round is reserved on a goal that has reached a limit, and
 * a goal is blocked for its questions exactly then.
 *
 * `HUNT_RUNS=<n>` sets the number of histories; fast-check prints the seed of a failure.
 */
import { afterEach, expect, it } from 'vitest'
import fc from 'fast-check'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { UserMessage } from '@deepseek-ai/dsh-llm'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { defineTool } from '@deepseek-ai/dsh-tools'
import * as driver from '../src/index.ts'
import {
  ASK_ARGS,
  askCall,
  createRuntime,
  disposeRuntimes,
  message,
  notice,
  settled,
  type Reply,
  type Runtime,
  type ToolCall,
} from './harness.ts'

const numRuns = Number(process.env.HUNT_RUNS ?? 25)
const timeout = Math.max(60_000, numRuns * 3_000)

afterEach(disposeRuntimes)

/** A group of calls at the same time: `A` asks, `W` works, `G` reads the goal. */
type CallGroup = readonly ('A' | 'W' | 'G')[]

/** What the model does in one step; a program makes its groups one after the other. */
type Step = CallGroup | readonly CallGroup[] | 'fail'

/** What somebody does while the model thinks. */
type Meanwhile = 'steer' | 'leave a message' | 'notice' | 'edit' | 'cancel' | 'pause'

interface PlannedStep {
  readonly step: Step
  readonly meanwhile: Meanwhile | undefined
}

interface Limits {
  readonly maxStuckRounds: number
  readonly maxDeniedRounds: number
  readonly maxDenialsPerTurn: number
}

const MAX_GOAL_ROUNDS = 12

const look = defineTool({
  name: 'look',
  description: 'Works.',
  parameters: {},
  output: { schema: { type: 'null' }, render: () => [{ type: 'text', text: 'worked' }] },
  execute: () => Promise.resolve(null),
})

const CALLS: Record<CallGroup[number], ToolCall> = {
  A: askCall,
  W: { name: 'look', args: {} },
  G: { name: 'get_goal', args: {} },
}

function isProgram(step: Step): step is readonly CallGroup[] {
  return Array.isArray(step[0])
}

/** The program names its groups in a comment, for the oracle. */
function programOf(groups: readonly CallGroup[]): ToolCall {
  const calls = {
    A: `tools.ask_user_question(${JSON.stringify(ASK_ARGS)})`,
    W: 'tools.look({})',
    G: 'tools.get_goal({})',
  }
  const lines = groups.map(group => `await Promise.allSettled([${group.map(call => calls[call]).join(', ')}])`)
  const code = [`// ${groups.map(group => group.join('')).join(' ')}`, ...lines, 'return "ran"'].join('\n')
  return { name: 'run_code', args: { code, description: 'run' } }
}

function replyOf(step: Exclude<Step, 'fail'>): Reply {
  return isProgram(step) ? [programOf(step)] : step.map(call => CALLS[call])
}

function act({ ctx }: Runtime, agent: Agent, what: Meanwhile): void {
  const goal = ctx.goals.get(agent)
  switch (what) {
    case 'steer':
      agent.steer(message('look here'))
      break
    case 'leave a message':
      agent.send(message('later'), 'next-turn', false)
      break
    case 'notice':
      agent.inject(notice())
      break
    case 'cancel':
      agent.cancel({ kind: 'user' })
      break
    case 'edit':
      if (goal?.phase === 'active') ctx.goals.edit(agent, goal, { objective: 'ship it well' })
      break
    case 'pause':
      if (goal?.phase === 'active') ctx.goals.pause(agent, goal)
  }
}

/** One round as the log tells it. */
interface LoggedRound {
  readonly message: UserMessage
  admitted: boolean
  isVoid: boolean
  hasHuman: boolean
  denials: number
  /** The step of the last denial, and whether its program worked after it. */
  deniedIn: number | undefined
  works: boolean
}

const isHuman = ({ source }: UserMessage) => source.kind === 'user'
const isRound = ({ source }: UserMessage) => source.kind === 'goal' && source.round > 0

/** Reads a log from its beginning, and checks what the driver did at each of its decisions. */
class Oracle {
  private readonly limits: Limits
  private readonly lists: Record<'next-step' | 'next-turn', UserMessage[]> = { 'next-step': [], 'next-turn': [] }
  private readonly asks = new Set<string>()
  private round: LoggedRound | undefined
  private hasHumanTurn = false
  private stuck = 0
  private denied = 0
  private rounds = 0
  private overran = false
  private step = 0
  private programWorks = false
  private hasWork = false

  constructor(limits: Limits) {
    this.limits = limits
  }

  private isAtLimit(): boolean {
    const { maxStuckRounds, maxDeniedRounds } = this.limits
    const isCapLower = this.rounds >= MAX_GOAL_ROUNDS && MAX_GOAL_ROUNDS < maxStuckRounds
    return (
      (maxStuckRounds > 0 && this.stuck >= (isCapLower ? 1 : maxStuckRounds))
      || (maxDeniedRounds > 0 && this.denied >= maxDeniedRounds)
    )
  }

  private interfere(): void {
    this.stuck = 0
    this.denied = 0
    if (this.round !== undefined) this.round.isVoid = true
  }

  private deny(round: LoggedRound, step: number, works = false): void {
    round.denials += 1
    round.deniedIn = step
    round.works = works
  }

  /** @returns what the driver did wrong, if it did. */
  read(event: SessionEvent): string | undefined {
    const { round } = this
    switch (event.type) {
      case 'agent/inbox/spliced': {
        const { target, start, removedCount = 0, inserted, outcome } = event.data
        const removed = this.lists[target].splice(start, removedCount, ...inserted)
        if (inserted.some(isHuman)) {
          this.interfere()
          if (round !== undefined) round.hasHuman = true
        }
        const claimed = outcome === undefined ? removed : []
        this.hasHumanTurn ||= claimed.some(isHuman)
        const opener = claimed.find(isRound)
        if (opener === undefined) return undefined
        this.round = {
          message: opener,
          admitted: false,
          isVoid: this.hasHumanTurn,
          hasHuman: this.hasHumanTurn,
          denials: 0,
          deniedIn: undefined,
          works: false,
        }
        return this.isAtLimit() ? 'reserved a round at a limit' : undefined
      }
      case 'turn/start':
        this.hasHumanTurn = false
        return undefined
      case 'step/start':
        this.step = event.data.step
        return undefined
      case 'user/message':
        if (event.data.id !== round?.message.id) return undefined
        round.admitted = true
        this.rounds += 1
        return undefined
      case 'tool/call': {
        const { callId, name } = event.data
        if (name === 'ask_user_question') this.asks.add(callId)
        if (name === 'run_code') this.readProgram(event.data)
        const isWork = name === 'look' || (name === 'run_code' && this.hasWork)
        if (round?.deniedIn !== undefined && this.step > round.deniedIn && isWork) round.works = true
        return undefined
      }
      case 'tool/result': {
        const { source, content } = event.data.message
        const isError = content.some(block => block.isError === true)
        if (round !== undefined && isError && this.asks.has(source.callId)) this.deny(round, event.data.step)
        return undefined
      }
      case 'tool/code-dispatch':
        if (event.data.name === 'ask_user_question' && event.data.isError && round !== undefined) {
          this.deny(round, this.step, this.programWorks)
        }
        return undefined
      case 'goal/change': {
        const change = event.data
        if (change.operation === 'create' || change.operation === 'edit' || change.operation === 'resume')
          this.interfere()
        if (change.operation !== 'block') return undefined
        const isUnanswered = change.goal.blockedReason?.code === 'question-unanswered'
        const expected = this.overran || this.isAtLimit()
        return isUnanswered === expected ? undefined : `blocked as ${String(change.goal.blockedReason?.code)}`
      }
      case 'turn/end': {
        this.round = undefined
        const { reason } = event.data
        const { maxDenialsPerTurn } = this.limits
        this.overran = reason.kind === 'aborted' && reason.reason.kind === 'hook'
        const mustOverrun =
          round !== undefined && maxDenialsPerTurn > 0 && round.denials >= maxDenialsPerTurn && !round.hasHuman
        if (mustOverrun && reason.kind === 'completed') return 'let a turn ask too often'
        if (this.overran && !mustOverrun) return 'ended a turn that did not ask too often'
        if (round?.admitted !== true || reason.kind !== 'completed') return undefined
        const isDenied = !round.isVoid && round.denials > 0
        this.stuck = isDenied && !round.works ? this.stuck + 1 : 0
        this.denied = isDenied ? this.denied + 1 : 0
        return undefined
      }
      default:
        return undefined
    }
  }

  /** Whether the open program works behind its last question: its first line names its groups. */
  private readProgram({ arguments: args }: SessionEvent<'tool/call'>['data']): void {
    const groups = /\/\/ ([AGW ]+)/.exec(args)?.[1]?.split(' ') ?? []
    const lastAsk = groups.findLastIndex(calls => calls.includes('A'))
    this.programWorks = groups.slice(lastAsk + 1).some(calls => calls.includes('W'))
    this.hasWork = groups.some(calls => calls.includes('W'))
  }
}

/** Play rounds as planned, resuming the goal whenever it stops, and hold the log against the oracle. */
async function check(
  mode: 'native' | 'code',
  limits: Limits,
  plan: readonly (readonly PlannedStep[])[],
): Promise<void> {
  const plugin = {
    ...driver,
    apply: (ctx: Context) => {
      driver.apply(ctx, limits)
    },
  }
  const waiting = [...plan]
  let steps: PlannedStep[] = []
  const runtime = await createRuntime({
    driver: plugin,
    mode,
    script: async ({ messages }) => {
      if (JSON.stringify(messages.at(-1)).includes('<goal_round>')) steps = [...(waiting.shift() ?? [])]
      const planned = steps.shift()
      if (planned?.meanwhile !== undefined) act(runtime, agent, planned.meanwhile)
      await Promise.resolve()
      if (planned?.step === 'fail') throw new Error('provider down')
      return planned === undefined ? 'Done.' : replyOf(planned.step)
    },
  })
  runtime.ctx.tools.register(look)
  const { agent } = await runtime.createAgent()
  runtime.ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: MAX_GOAL_ROUNDS })
  for (let resumed = 0; resumed <= plan.length; resumed++) {
    await settled(agent)
    const goal = runtime.ctx.goals.get(agent)
    if (waiting.length === 0 || goal === undefined || goal.roundsStarted >= MAX_GOAL_ROUNDS) break
    if (goal.activation === 'disarmed') runtime.ctx.goals.resume(agent, goal)
  }
  const oracle = new Oracle(limits)
  const read: string[] = []
  for (const event of agent.session.events) {
    const fault = oracle.read(event)
    if (event.type !== 'assistant/chunk') read.push(`${event.type} ${JSON.stringify(event.data).slice(0, 160)}`)
    if (fault !== undefined) expect.fail(`the driver ${fault}:\n${read.join('\n')}`)
  }
  expect(runtime.warnings).toEqual([])
  await disposeRuntimes()
}

const letter = fc.constantFrom(...(['A', 'A', 'W', 'G'] as const))
const group = fc.array(letter, { minLength: 1, maxLength: 3 })
const meanwhile = fc.option(
  fc.constantFrom<Meanwhile>('steer', 'leave a message', 'notice', 'edit', 'cancel', 'pause'),
  { nil: undefined, freq: 8 },
)
const limits = fc.record({
  maxStuckRounds: fc.constantFrom(0, 1, 2, 3, 20),
  maxDeniedRounds: fc.constantFrom(0, 1, 3, 5),
  maxDenialsPerTurn: fc.constantFrom(0, 2, 4),
})

function rounds(step: fc.Arbitrary<Step>) {
  const planned = fc.record({
    step: fc.oneof({ weight: 12, arbitrary: step }, { weight: 1, arbitrary: fc.constant<Step>('fail') }),
    meanwhile,
  })
  return fc.array(fc.array(planned, { maxLength: 4 }), { minLength: 1, maxLength: 10, size: 'max' })
}

it(
  'blocks a goal for its questions exactly at a limit, in every history of native calls',
  async () => {
    await fc.assert(
      fc.asyncProperty(limits, rounds(group), (config, plan) => check('native', config, plan)),
      { numRuns },
    )
  },
  timeout,
)

it(
  'blocks a goal for its questions exactly at a limit, in every history of programs',
  async () => {
    const programs = rounds(fc.array(group, { minLength: 1, maxLength: 3 }))
    // Each program is a thread of its own.
    await fc.assert(
      fc.asyncProperty(limits, programs, (config, plan) => check('code', config, plan.slice(0, 5))),
      { numRuns: Math.ceil(numRuns / 4) },
    )
  },
  timeout,
)
