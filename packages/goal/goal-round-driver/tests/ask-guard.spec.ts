import { afterEach, describe, expect, it, vi } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { agentEvents, type Agent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread'
import { GoalId, GoalService } from '@deepseek-ai/dsh-goal'
import {
  CallId,
  createUserMessage,
  LlmAdapter,
  type ContentBlock,
  type GenerateOptions,
  type MessageSource,
  type StreamChunk,
  type UserMessage,
} from '@deepseek-ai/dsh-llm'
import { SessionId, type Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import * as toolAskUser from '@deepseek-ai/dsh-tool-ask-user'
import * as toolGoal from '@deepseek-ai/dsh-tool-goal'
import type { ToolExecution } from '@deepseek-ai/dsh-tools'
import { UserQuestionService } from '@deepseek-ai/dsh-user-questions'
import {
  clearAskGuard,
  denyAskDuringRound,
  GOAL_ROUND_ASK_DENIAL,
  installAskGuard,
  watchAskWindow,
  type AskGuardState,
} from '../src/ask-guard.ts'
import * as driver from '../src/index.ts'

type Reply = string | readonly { name: string; args: unknown }[]
type Script = (request: GenerateOptions, index: number) => Reply | Promise<Reply>

class ScriptedModel extends LlmAdapter {
  readonly requests: GenerateOptions[] = []

  private readonly script: Script

  constructor(script: Script) {
    super()
    this.script = script
  }

  override async *stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const index = this.requests.push(options) - 1
    const reply = await this.script(options, index)
    if (typeof reply === 'string') yield { type: 'text-delta', index: 0, text: reply }
    else {
      for (const [position, { name, args }] of reply.entries()) {
        const id = CallId(`call-${index}-${position}`)
        yield { type: 'tool-call-delta', index: position, id, name, argumentsDelta: JSON.stringify(args) }
      }
    }
    yield { type: 'finish', reason: { kind: typeof reply === 'string' ? 'stop' : 'tool-calls' } }
  }
}

const contexts: Context[] = []

afterEach(async () => {
  await Promise.all(contexts.splice(0).map(ctx => ctx.fiber.dispose()))
})

/** The real runtime without a driver; a human answers every question with `yes`. */
async function createRuntime(script: Script, mode: 'native' | 'code' = 'native', blockedAfterConsecutiveRounds = 3) {
  const ctx = new Context()
  contexts.push(ctx)
  await mountAgentLoopTestDependencies(ctx, { tools: { mode } })
  if (mode === 'code') await ctx.plugin(WorkerThreadCodeRuntime)
  const model = new ScriptedModel(script)
  ctx.llm.registerAdapter(['scripted'], model)
  await ctx.plugin(AgentLoop, { agents: [] })
  await ctx.plugin(GoalService)
  await ctx.plugin(toolGoal, { blockedAfterConsecutiveRounds })
  await ctx.plugin(UserQuestionService)
  const human = vi.fn((questions: readonly { id: string }[]) => questions.map(({ id }) => ({ id, selected: ['yes'] })))
  ctx.userQuestions.registerProvider({ ask: ({ questions }) => Promise.resolve({ answers: human(questions) }) })
  await ctx.plugin(toolAskUser)
  const createAgent = async (id = 'agent', owner = ctx) => {
    const agentOptions = { provider: 'scripted', model: 'm' }
    return await owner.agents.create({ sessionId: SessionId(id), agentOptions })
  }
  return { ctx, model, human, createAgent }
}

const question = { id: 'q1', question: 'Which database?', options: [{ label: 'yes' }, { label: 'no' }] }
const ask = { name: 'ask_user_question', args: { questions: [question] } }

function runCode(code: string) {
  return { name: 'run_code', args: { code, description: 'asks the user' } }
}

let asks = 0

/** Ask the real registry, as the loop does, whether the agent may put a question now. */
async function isDenied(ctx: Context, agent: Agent): Promise<boolean> {
  const callId = CallId(`probe-${++asks}`)
  const { signal } = new AbortController()
  const result = await ctx.tools.execute({ callId, name: ask.name, arguments: ask.args, agent, signal })
  const denied = textOf(result.content).includes(GOAL_ROUND_ASK_DENIAL)
  expect(result.isError).toBe(denied)
  return denied
}

function textOf(content: readonly ContentBlock[]): string {
  return content
    .map((block: ContentBlock) => {
      if (block.type === 'tool-result') return textOf(block.content)
      return block.type === 'text' ? block.text : ''
    })
    .join('\n')
}

function message(text: string, source: MessageSource = { kind: 'user' }): UserMessage {
  return createUserMessage({ content: [{ type: 'text', text }], source })
}

const notice = () => message('job done', { kind: 'plugin', plugin: 'jobs', form: 'notice', summary: 'job done' })
const round = (n = 1) => message('round', { kind: 'goal', goalId: GoalId('g'), revision: 1, round: n })

function eventsOf<T extends SessionEvent['type']>(agent: Agent, type: T) {
  return agent.session.events.filter((event): event is SessionEvent<T> => event.type === type)
}

/** Wait for a condition, however slow the machine is. */
function eventually(assertion: () => void): Promise<void> {
  return vi.waitFor(assertion, { timeout: 25_000, interval: 1 })
}

/** A model that stops at a gate with every request, until the test lets it answer. */
function gatedModel(replies: Reply[] = []) {
  const arrivals: { request: GenerateOptions; answer: (reply?: Reply) => void }[] = []
  const script: Script = (request: GenerateOptions) => {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    request.signal?.addEventListener('abort', () => {
      reject(new Error('aborted'))
    })
    arrivals.push({
      request,
      answer: (reply = 'done') => {
        resolve(reply)
      },
    })
    return promise
  }
  const next = async () => {
    const reply = replies.shift()
    await eventually(() => {
      expect(arrivals).not.toHaveLength(0)
    })
    const arrival = arrivals.shift() as (typeof arrivals)[number]
    if (reply !== undefined) arrival.answer(reply)
    return arrival
  }
  return { script, next }
}

/** A driven agent whose model waits at the gate inside goal round 1. */
async function inRound(id?: string) {
  const gate = gatedModel()
  const runtime = await createRuntime(gate.script)
  const plugin = await runtime.ctx.plugin(driver)
  const handle = await runtime.createAgent(id)
  const { agent } = handle
  runtime.ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 5 })
  const request = await gate.next()
  const complete = () => {
    const goal = runtime.ctx.goals.get(agent)
    if (goal !== undefined) runtime.ctx.goals.complete(agent, goal)
  }
  const dispose = () => handle.dispose()
  return { ...runtime, agent, dispose, plugin, gate, request, complete, denied: () => isDenied(runtime.ctx, agent) }
}

describe('the guard', () => {
  const agent = { id: 'a' } as unknown as Agent
  const execution = (name: string, caller: Agent | undefined) => ({ name, agent: caller }) as unknown as ToolExecution

  it("denies the agent's own question, and nothing else", () => {
    const guard = denyAskDuringRound(agent)
    expect(guard(execution('ask_user_question', agent))).toBe(GOAL_ROUND_ASK_DENIAL)
    expect(guard(execution('ask_user_question', { ...agent }))).toBeUndefined()
    expect(guard(execution('ask_user_question', undefined))).toBeUndefined()
    expect(guard(execution('bash', agent))).toBeUndefined()
  })

  it('says what happened, what fails again, and what to do next', () => {
    const order = ['unavailable', 'nobody is waiting', 'fails again', 'get_goal', 'update_goal', 'blocked_reason']
    const positions = [...order, 'too few rounds', 'later round', 'default'].map(x => GOAL_ROUND_ASK_DENIAL.indexOf(x))
    expect(positions).not.toContain(-1)
    expect(positions).toEqual(positions.toSorted((a, b) => a - b))
  })

  it('is re-exported from the package root', () => {
    expect(driver.GOAL_ROUND_ASK_DENIAL).toBe(GOAL_ROUND_ASK_DENIAL)
  })

  it('is installed once and cleared once', () => {
    const dispose = vi.fn()
    const tools = { guard: vi.fn(() => dispose) }
    const state: AskGuardState = {
      agent: { ctx: { get: () => tools } } as unknown as Agent,
      askGuardDispose: undefined,
    }
    installAskGuard(state)
    installAskGuard(state)
    expect(tools.guard).toHaveBeenCalledTimes(1)
    clearAskGuard(state)
    clearAskGuard(state)
    expect(dispose).toHaveBeenCalledTimes(1)
    expect(state.askGuardDispose).toBeUndefined()
  })

  it('is left out where there is no tool registry', () => {
    const state: AskGuardState = {
      agent: { ctx: { get: () => undefined } } as unknown as Agent,
      askGuardDispose: undefined,
    }
    installAskGuard(state)
    expect(state.askGuardDispose).toBeUndefined()
  })

  it("logs a failed installation in one line, through the agent's logger, and lives on", async () => {
    const { createAgent } = await createRuntime(() => 'done')
    const handle = await createAgent()
    const { agent: live } = handle
    await handle.dispose()
    const warn = vi.spyOn(live.ctx.logger, 'warn')
    const state: AskGuardState = { agent: live, askGuardDispose: undefined }
    installAskGuard(state)
    expect(state.askGuardDispose).toBeUndefined()
    expect(warn).toHaveBeenCalledTimes(1)
    expect(warn.mock.calls[0]).toEqual([
      expect.stringMatching(/could not install the ask guard for agent "agent": cannot create effect/),
    ])
  })

  it('renders what is no Error, too', () => {
    const warn = vi.fn()
    const get = () => {
      throw 'scope gone'
    }
    const ctx = { get, logger: { warn } }
    installAskGuard({ agent: { id: 'a', ctx } as unknown as Agent, askGuardDispose: undefined })
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('scope gone'))
  })
})

describe('the window, site by site', () => {
  /** The listeners alone, on a real agent; the test speaks for the loop. */
  async function openWindow(isDriving = () => true) {
    const { ctx, createAgent } = await createRuntime(() => 'done')
    const { agent } = await createAgent()
    const states = new Map<Agent, AskGuardState>()
    const owner = {
      peek: (key: Agent) => states.get(key),
      of: (key: Agent) => {
        const state = states.get(key) ?? { agent: key, askGuardDispose: undefined }
        states.set(key, state)
        return state
      },
      isDriving,
    }
    await ctx.plugin({
      name: 'window',
      inject: ['agents'],
      apply: scope => void scope.effect(() => watchAskWindow(scope, owner)),
    })
    const emit = agentEvents(ctx, agent)
    const opener = round()
    emit.emit('agent/inbox/claimed', { message: opener, turn: 7 })
    const isOpen = () => states.get(agent)?.askGuardDispose !== undefined
    return { ctx, agent, emit, opener, isOpen, states, createAgent }
  }

  it('opens when a goal round message is claimed', async () => {
    const { ctx, agent, isOpen } = await openWindow()
    expect(isOpen()).toBe(true)
    expect(await isDenied(ctx, agent)).toBe(true)
  })

  it('stays shut while the driver is not driving', async () => {
    const { isOpen } = await openWindow(() => false)
    expect(isOpen()).toBe(false)
  })

  it('stays shut for a goal message of round 0', async () => {
    const { emit, isOpen } = await openWindow()
    emit.emit('agent/status', { status: 'idle' })
    emit.emit('agent/inbox/claimed', { message: round(0), turn: 8 })
    expect(isOpen()).toBe(false)
  })

  it('stays shut when a human message was claimed before the round in the same turn, and only in that turn', async () => {
    const { emit, isOpen } = await openWindow()
    emit.emit('agent/inbox/claimed', { message: message('hi'), turn: 8 })
    expect(isOpen()).toBe(false)
    emit.emit('agent/inbox/claimed', { message: round(2), turn: 8 })
    expect(isOpen()).toBe(false)
    emit.emit('agent/inbox/claimed', { message: round(3), turn: 9 })
    expect(isOpen()).toBe(true)
  })

  it('forgets the human of an earlier turn when the turn ends or the session starts again', async () => {
    const { agent, emit, isOpen } = await openWindow()
    emit.emit('agent/inbox/claimed', { message: message('hi'), turn: 8 })
    agent.session.append('turn/start', { turn: 8 })
    agent.session.append('turn/end', { turn: 8, reason: { kind: 'completed' } })
    emit.emit('agent/inbox/claimed', { message: round(2), turn: 8 })
    expect(isOpen()).toBe(true)
    emit.emit('agent/inbox/claimed', { message: message('hi'), turn: 1 })
    emit.emit('agent/session-start', { source: 'clear' })
    emit.emit('agent/inbox/claimed', { message: round(2), turn: 1 })
    expect(isOpen()).toBe(true)
  })

  it('closes when a human message is claimed behind the round', async () => {
    const { emit, isOpen } = await openWindow()
    emit.emit('agent/inbox/claimed', { message: message('hi'), turn: 7 })
    expect(isOpen()).toBe(false)
  })

  it.each(['completed', 'blocked', 'max-tokens'] as const)(
    'closes at the end of the turn: %s',
    async (kind: 'completed' | 'blocked' | 'max-tokens') => {
      const { agent, isOpen } = await openWindow()
      agent.session.append('turn/start', { turn: 7 })
      expect(isOpen()).toBe(true)
      agent.session.append('turn/end', { turn: 7, reason: { kind } })
      expect(isOpen()).toBe(false)
    },
  )

  it("is not closed by another agent's turn end", async () => {
    const { isOpen, createAgent } = await openWindow()
    const { agent: other } = await createAgent('other')
    other.session.append('turn/start', { turn: 7 })
    other.session.append('turn/end', { turn: 7, reason: { kind: 'completed' } })
    expect(isOpen()).toBe(true)
  })

  it('is not closed by the turn end of another session under the same id', async () => {
    const { ctx, agent, isOpen } = await openWindow()
    const twin = Object.create(agent.session) as Session
    const event = { type: 'turn/end', data: { turn: 7, reason: { kind: 'completed' } } } as SessionEvent
    ctx.emit('session/event', twin, event)
    expect(isOpen()).toBe(true)
  })

  it.each(['next-step', 'next-turn'] as const)(
    'closes when a human message is inserted into %s',
    async (target: 'next-step' | 'next-turn') => {
      const { agent, isOpen } = await openWindow()
      agent.inbox.append(target, message('me'))
      expect(isOpen()).toBe(false)
    },
  )

  it.each(['next-step', 'next-turn'] as const)(
    'is not closed by a notice inserted into %s',
    async (target: 'next-step' | 'next-turn') => {
      const { agent, isOpen } = await openWindow()
      agent.inbox.append(target, notice())
      expect(isOpen()).toBe(true)
    },
  )

  it('closes when the message that opened it is discarded, not with another round', async () => {
    const { emit, opener, isOpen } = await openWindow()
    emit.emit('agent/inbox/discarded', { message: round() })
    expect(isOpen()).toBe(true)
    emit.emit('agent/inbox/discarded', { message: opener })
    expect(isOpen()).toBe(false)
  })

  it('closes with the discard of the round that opened it, not of a second one claimed behind it', async () => {
    const { emit, opener, isOpen } = await openWindow()
    const second = round(2)
    emit.emit('agent/inbox/claimed', { message: second, turn: 7 })
    emit.emit('agent/inbox/discarded', { message: second })
    expect(isOpen()).toBe(true)
    emit.emit('agent/inbox/discarded', { message: opener })
    expect(isOpen()).toBe(false)
  })

  it('closes when the session starts again', async () => {
    const { emit, isOpen } = await openWindow()
    emit.emit('agent/session-start', { source: 'clear' })
    expect(isOpen()).toBe(false)
  })

  it('closes when the agent becomes idle, but not on the news of an idle that is over', async () => {
    const { agent, emit, isOpen } = await openWindow()
    const status = vi.spyOn(agent, 'status', 'get').mockReturnValue('running')
    emit.emit('agent/status', { status: 'idle' })
    expect(isOpen()).toBe(true)
    status.mockRestore()
    emit.emit('agent/status', { status: 'running' })
    expect(isOpen()).toBe(true)
    emit.emit('agent/status', { status: 'idle' })
    expect(isOpen()).toBe(false)
  })

  it('closes when the agent is disposed, and makes no state for it', async () => {
    const { emit, isOpen, states, createAgent } = await openWindow()
    const stranger = await createAgent('stranger')
    await stranger.dispose()
    expect(states.has(stranger.agent)).toBe(false)
    emit.emit('agent/disposed', {})
    expect(isOpen()).toBe(false)
  })

  it('makes no state for a human message to an unknown agent', async () => {
    const { states, createAgent } = await openWindow()
    const { agent } = await createAgent('stranger')
    agent.inbox.append('next-step', message('hello'))
    expect(states.has(agent)).toBe(false)
  })

  it('has nothing to do, and no fault, at the events of an unknown agent', async () => {
    const { ctx, states, createAgent } = await openWindow()
    const { agent } = await createAgent('stranger')
    const logged: string[] = []
    ctx.logger.exporter({ levels: { default: 3 }, export: ({ type }) => logged.push(type) })
    const emit = agentEvents(ctx, agent)
    emit.emit('agent/inbox/inserted', { message: message('hello') })
    emit.emit('agent/inbox/discarded', { message: round() })
    emit.emit('agent/status', { status: 'idle' })
    emit.emit('agent/session-start', { source: 'clear' })
    expect(states.has(agent)).toBe(false)
    expect(logged).toEqual([])
  })
})

describe('a goal round on the real runtime', () => {
  it('denies a native question, and the human is not asked', async () => {
    const { ctx, human, createAgent, model } = await createRuntime((_, index) => (index === 0 ? [ask] : 'waiting'))
    await ctx.plugin(driver)
    const { agent } = await createAgent()
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    await eventually(() => {
      expect(ctx.goals.get(agent)?.phase).toBe('blocked')
    })

    const [result] = eventsOf(agent, 'tool/result')
    expect(result?.data.message.content[0]).toMatchObject({ isError: true })
    expect(textOf(result?.data.message.content ?? [])).toContain(GOAL_ROUND_ASK_DENIAL)
    expect(human).not.toHaveBeenCalled()
    expect(JSON.stringify(model.requests[1]?.messages)).toContain(JSON.stringify(GOAL_ROUND_ASK_DENIAL).slice(1, -1))
  })

  // A denial that the result does not carry reaches the model behind it.
  it.each([
    ['uncaught', 'await tools.ask_user_question(ARGS); return "asked"', true],
    ['caught and returned', 'try { await tools.ask_user_question(ARGS) } catch (e) { return e.message }', true],
    ['caught and swallowed', 'try { await tools.ask_user_question(ARGS) } catch {} return "asked"', false],
  ])('denies a question of a program, the denial being %s', async (_, program, carried) => {
    const code = program.replace('ARGS', JSON.stringify(ask.args))
    const script: Script = (_request, index) => (index === 0 ? [runCode(code)] : 'waiting')
    const { ctx, human, createAgent, model } = await createRuntime(script, 'code')
    await ctx.plugin(driver)
    const { agent } = await createAgent()
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 1 })
    await eventually(() => {
      expect(ctx.goals.get(agent)?.phase).toBe('blocked')
    })

    const [inner] = eventsOf(agent, 'tool/code-dispatch')
    expect(inner?.data).toMatchObject({ name: 'ask_user_question', isError: true })
    expect(textOf(inner?.data.content ?? [])).toContain(GOAL_ROUND_ASK_DENIAL)
    const [outer] = eventsOf(agent, 'tool/result')
    const denialAsJson = JSON.stringify(GOAL_ROUND_ASK_DENIAL).slice(1, -1)
    const carriesDenial = (value: unknown) => {
      const text = JSON.stringify(value)
      return text.includes(denialAsJson) || text.includes(JSON.stringify(denialAsJson).slice(1, -1))
    }
    expect(carriesDenial(outer?.data.message)).toBe(carried)
    expect(carriesDenial(model.requests[1]?.messages)).toBe(true)
    expect(human).not.toHaveBeenCalled()
  })

  it('leads the model to block the goal in the first round that the goal tools allow', async () => {
    const script: Script = (request: GenerateOptions) => {
      const last = textOf(request.messages.at(-1)?.content ?? [])
      if (last.includes('<goal_round>')) return [ask]
      if (last.includes(GOAL_ROUND_ASK_DENIAL)) return [{ name: 'get_goal', args: {} }]
      const found = /"id":"([^"]+)","revision":(\d+)/.exec(last)
      if (found === null) return 'waiting'
      const args = {
        goal_id: found[1],
        revision: Number(found[2]),
        action: 'blocked',
        blocked_reason: 'which database?',
      }
      return [{ name: 'update_goal', args }]
    }
    const { ctx, human, createAgent } = await createRuntime(script)
    await ctx.plugin(driver)
    const { agent } = await createAgent()
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds: 256 })
    await eventually(() => {
      expect(ctx.goals.get(agent)?.phase).toBe('blocked')
    })
    await agent.whenIdle()

    expect(ctx.goals.get(agent)).toMatchObject({
      roundsStarted: 3,
      blockedReason: { code: 'model-reported', message: 'which database?' },
    })
    expect(human).not.toHaveBeenCalled()
  })

  it('cannot be overruled by a listener that allows everything', async () => {
    const { ctx, denied } = await inRound()
    ctx.on('tools/pre-execute', () => Promise.resolve({ kind: 'allow' }), { prepend: true })
    expect(await denied()).toBe(true)
  })

  it('leaves other tools alone', async () => {
    const { ctx, agent } = await inRound()
    const { signal } = new AbortController()
    const call = { callId: CallId('c'), name: 'get_goal', arguments: {}, agent, signal }
    const result = await ctx.agents.withInitiator(agent, () => ctx.tools.execute(call))
    expect(result.isError).toBe(false)
  })

  it('stays guarded when a notice arrives and is claimed in the middle of it', async () => {
    const { agent, denied, request, gate } = await inRound()
    agent.inject(notice())
    expect(await denied()).toBe(true)
    request.answer([{ name: 'get_goal', args: {} }])
    await gate.next()
    expect(eventsOf(agent, 'user/message').map(event => event.data.source.kind)).toEqual(['goal', 'plugin'])
    expect(await denied()).toBe(true)
  })

  it('lets the question through once the user steers', async () => {
    const { agent, denied } = await inRound()
    agent.steer(message('use postgres, or ask me'))
    expect(await denied()).toBe(false)
  })

  it('keeps the window shut when a parked steer is claimed with the next round', async () => {
    const { ctx, agent, denied, gate } = await inRound()
    agent.steer(message('hello'))
    agent.cancel({ kind: 'user' }, { keepInbox: true })
    await eventually(() => {
      expect(ctx.goals.get(agent)?.phase).toBe('paused')
    })
    expect(agent.inbox.nextStep).toHaveLength(1)
    const goal = ctx.goals.get(agent)
    if (goal !== undefined) ctx.goals.resume(agent, goal)
    await gate.next()
    expect(eventsOf(agent, 'user/message').map(event => event.data.source.kind)).toEqual(['goal', 'user', 'goal'])
    expect(await denied()).toBe(false)
  })

  it('stays guarded through an edit, a pause and a completion of the goal, until the turn ends', async () => {
    const { ctx, agent, denied, request } = await inRound()
    const current = () => ctx.goals.get(agent) ?? expect.fail('no goal')
    ctx.goals.edit(agent, current(), { objective: 'ship it well' })
    expect(await denied()).toBe(true)
    ctx.goals.pause(agent, current())
    expect(await denied()).toBe(true)
    ctx.goals.complete(agent, current())
    expect(await denied()).toBe(true)
    request.answer()
    await agent.whenIdle()
    expect(await denied()).toBe(false)
  })

  it('guards two rounds back to back', async () => {
    const { denied, request, gate, agent } = await inRound()
    request.answer()
    await gate.next()
    expect(eventsOf(agent, 'user/message')).toHaveLength(2)
    expect(await denied()).toBe(true)
  })

  it('guards a round that another listener started from inside an idle event', async () => {
    const { ctx, agent, complete, request, gate, denied } = await inRound()
    complete()
    let restarted = false
    // Ahead of every other listener: the later ones hear of an idle that is over.
    ctx.on(
      'agent/status',
      ({ status }) => {
        if (status !== 'idle' || restarted) return
        restarted = true
        ctx.goals.create(agent, { objective: 'again', maxGoalRounds: 1 })
      },
      { prepend: true },
    )
    request.answer()
    await gate.next()
    expect(await denied()).toBe(true)
  })

  it("opens for the turn of a plugin's message that follows a round without an idle between", async () => {
    const { agent, denied, request, gate, complete } = await inRound()
    agent.followup(notice())
    complete()
    request.answer()
    await gate.next()
    expect(eventsOf(agent, 'turn/start')).toHaveLength(2)
    expect(await denied()).toBe(false)
  })

  it('allows the question in the turn after a round that was rejected before its step', async () => {
    const gate = gatedModel()
    const { ctx, createAgent } = await createRuntime(gate.script)
    await ctx.plugin(driver)
    const { agent } = await createAgent()
    const stop = ctx.on('agent/pre-step', () => Promise.resolve({ kind: 'reject' }))
    agent.inbox.append('next-step', notice())
    ctx.goals.create(agent, { objective: 'ship it' })
    await eventually(() => {
      expect(ctx.goals.get(agent)?.blockedReason?.code).toBe('prompt-rejected')
    })
    stop()
    agent.followup(notice())
    await gate.next()
    expect(await isDenied(ctx, agent)).toBe(false)
  })

  it.each([
    ['downstream rejects', () => Promise.resolve({ kind: 'reject' as const })],
    ['next() throws', () => Promise.reject(new Error('listener broke'))],
  ])('is not guarded any more once %s', async (_, outcome) => {
    const { ctx, createAgent } = await createRuntime(() => 'done')
    const seen: boolean[] = []
    const { agent } = await createAgent()
    const probe = async (): Promise<void> => void seen.push(await isDenied(ctx, agent))
    // Around the driver's fence: sees the step as the fence leaves it.
    ctx.on('agent/pre-step', async (_step, next) => {
      try {
        return await next()
      } finally {
        await probe()
      }
    })
    await ctx.plugin(driver)
    ctx.on('agent/pre-step', async () => {
      await probe()
      return outcome()
    })
    ctx.goals.create(agent, { objective: 'ship it' })
    await eventually(() => {
      expect(eventsOf(agent, 'turn/end')).toHaveLength(1)
    })
    expect(seen).toEqual([true, false])
  })

  it('is not guarded any more once the fence has refused it or seen the abort', async () => {
    const { ctx, createAgent } = await createRuntime(() => 'done')
    const { agent } = await createAgent()
    const seen: boolean[] = []
    ctx.on('agent/pre-step', async (_step, next) => {
      const decision = await next()
      seen.push(await isDenied(ctx, agent))
      return decision
    })
    await ctx.plugin(driver)
    ctx.on('agent/pre-step', ({ agent: subject }, next) => {
      subject.cancel({ kind: 'user' })
      return next()
    })
    // No reservation stands behind this message, so the fence refuses it.
    agent.followup(round())
    await agent.whenIdle()
    ctx.goals.create(agent, { objective: 'ship it' })
    await eventually(() => {
      expect(ctx.goals.get(agent)?.phase).toBe('paused')
    })
    expect(seen).toEqual([false, false])
  })

  it("keeps one agent's guard when another agent's turn ends", async () => {
    const { ctx, createAgent, denied } = await inRound('one')
    const { agent: two } = await createAgent('two')
    two.followup(message('hello'))
    await eventually(() => {
      expect(two.status).toBe('running')
    })
    two.cancel({ kind: 'user' })
    await two.whenIdle()
    expect(eventsOf(two, 'turn/end')).toHaveLength(1)
    expect(await denied()).toBe(true)
    expect(await isDenied(ctx, two)).toBe(false)
  })

  it("leaves a child agent of the round to the questions seam's own refusal", async () => {
    const { ctx, agent, createAgent } = await inRound()
    const { agent: child } = await createAgent('child', agent.ctx)
    const { signal } = new AbortController()
    const call = { callId: CallId('c'), name: ask.name, arguments: ask.args, agent: child, signal }
    const result = await ctx.tools.execute(call)
    expect(result.error?.info).toEqual({ name: 'UserQuestionError', code: 'DELEGATED_CALLER' })
  })

  it('leaves no guard behind when the plugin unloads in the middle of it', async () => {
    const { ctx, agent, plugin } = await inRound()
    await plugin.dispose()
    expect(agent.status).toBe('idle')
    expect(await isDenied(ctx, agent)).toBe(false)
  })

  it('leaves no guard behind when the plugin unloads from under a turn that does not end', async () => {
    const { ctx, agent, plugin, denied } = await inRound()
    const stuck = [vi.spyOn(agent, 'cancel').mockReturnValue(), vi.spyOn(agent, 'whenIdle').mockResolvedValue()]
    expect(await denied()).toBe(true)
    await plugin.dispose()
    expect(agent.status).toBe('running')
    expect(await isDenied(ctx, agent)).toBe(false)
    for (const spy of stuck) spy.mockRestore()
  })

  it('goes with its agent', async () => {
    const { ctx, dispose, createAgent } = await inRound('same')
    await dispose()
    const { agent: successor } = await createAgent('same')
    expect(await isDenied(ctx, successor)).toBe(false)
  })

  it('is not guarded when it is claimed while the plugin unloads', async () => {
    const { ctx, agent, plugin, createAgent } = await inRound()
    const { agent: other } = await createAgent('other')
    const waiting: PromiseWithResolvers<void> = Promise.withResolvers()
    const whenIdle = vi.spyOn(agent, 'whenIdle').mockReturnValue(waiting.promise)
    const unloading = plugin.dispose()
    other.inbox.append('next-turn', round())
    other.inbox.claim('next-turn', 1)
    expect(await isDenied(ctx, other)).toBe(false)
    waiting.resolve()
    await unloading
    whenIdle.mockRestore()
  })

  it('installs, clears and asks without a timer', async () => {
    const { ctx, createAgent } = await createRuntime(() => 'done')
    const { agent } = await createAgent()
    const timers = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'setInterval')]
    const state: AskGuardState = { agent, askGuardDispose: undefined }
    for (let n = 0; n < 100; n++) {
      installAskGuard(state)
      clearAskGuard(state)
    }
    for (const timer of timers) expect(timer).not.toHaveBeenCalled()
    expect(await isDenied(ctx, agent)).toBe(false)
    vi.restoreAllMocks()
  })
})
