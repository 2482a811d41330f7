import { afterEach, describe, expect, it, vi } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { emitAgentEvent, type Agent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread'
import { GoalId, GoalService, type GoalView } from '@deepseek-ai/dsh-goal'
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
import { SessionId, SessionStore, type SessionEvent } from '@deepseek-ai/dsh-session'
import * as toolAskUser from '@deepseek-ai/dsh-tool-ask-user'
import * as toolGoal from '@deepseek-ai/dsh-tool-goal'
import { defineTool } from '@deepseek-ai/dsh-tools'
import { UserQuestionService } from '@deepseek-ai/dsh-user-questions'
import { denialText, GOAL_ROUND_ASK_DENIAL, GOAL_ROUNDS_SECTION, isGoalRoundDenial } from '../src/denial-text.ts'
import * as driver from '../src/index.ts'
import { roundSettings, type Config } from '../src/round-settings.ts'
import { watchRounds, type RoundsState } from '../src/stuck-rounds.ts'

interface Call {
  readonly name: string
  readonly args: unknown
}

/** A text, one call, or calls of one message. */
type Reply = string | Call | readonly Call[]

/** Answers the request of a step; the steps of a round are counted from 1. */
type Script = (step: number, round: number, lastText: string) => Reply | Promise<Reply>

class ScriptedModel extends LlmAdapter {
  readonly requests: GenerateOptions[] = []
  private round = 0
  private step = 0
  private readonly script: Script

  constructor(script: Script) {
    super()
    this.script = script
  }

  override async *stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    this.requests.push(options)
    const text = textOf(options.messages.at(-1)?.content ?? [])
    this.step += 1
    if (text.includes('<goal_round>')) {
      this.round += 1
      this.step = 1
    }
    const reply = await this.script(this.step, this.round, text)
    if (typeof reply === 'string') {
      yield { type: 'text-delta', index: 0, text: reply }
      yield { type: 'finish', reason: { kind: 'stop' } }
      return
    }
    for (const [index, { name, args }] of [reply].flat().entries()) {
      const id = CallId(`call-${this.requests.length}-${index}`)
      yield { type: 'tool-call-delta', index, id, name, argumentsDelta: JSON.stringify(args) }
    }
    yield { type: 'finish', reason: { kind: 'tool-calls' } }
  }
}

const contexts: Context[] = []

afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(contexts.splice(0).map(ctx => ctx.fiber.dispose()))
})

function createContext(): Context {
  const ctx = new Context()
  contexts.push(ctx)
  return ctx
}

/** A tool that does its work at once, or fails. */
function workTool(name: string, isConcurrencySafe: boolean) {
  return defineTool({
    name,
    description: 'Works.',
    parameters: {},
    output: { schema: { type: 'string' }, render: () => [{ type: 'text', text: 'worked' }] },
    isConcurrencySafe: () => isConcurrencySafe,
    execute: () => (name === 'fail' ? Promise.reject(new Error('it failed')) : Promise.resolve('worked')),
  })
}

interface Options {
  readonly config?: Config
  readonly mode?: 'native' | 'code' | undefined
  readonly maxGoalRounds?: number
  readonly blockedAfterConsecutiveRounds?: number
  /** Called before the plugin is loaded. */
  readonly early?: (ctx: Context) => void
  /** Called before the goal is created. */
  readonly prepare?: (world: World) => void | Promise<void>
}

interface World {
  readonly ctx: Context
  readonly agent: Agent
  readonly model: ScriptedModel
  readonly plugin: { dispose(): Promise<void> }
  /** Called with every question that reaches the human, who answers `yes`. */
  readonly human: ReturnType<typeof vi.fn>
  readonly warnings: string[]
  readonly goal: () => GoalView
  readonly create: (maxGoalRounds?: number) => void
}

async function createWorld(
  script: Script,
  { config, mode = 'native', blockedAfterConsecutiveRounds = 3, early }: Options,
): Promise<World> {
  const ctx = createContext()
  const warnings: string[] = []
  ctx.logger.exporter({
    levels: { default: 3 },
    export: ({ type, args }) => {
      if (type === 'warn' || type === 'error') warnings.push(args.map(String).join(' '))
    },
  })
  await mountAgentLoopTestDependencies(ctx, { tools: { mode } })
  if (mode === 'code') await ctx.plugin(WorkerThreadCodeRuntime)
  const model = new ScriptedModel(script)
  ctx.llm.registerAdapter(['scripted'], model)
  await ctx.plugin(AgentLoop, { agents: [] })
  await ctx.plugin(GoalService)
  await ctx.plugin(toolGoal, { blockedAfterConsecutiveRounds })
  await ctx.plugin(UserQuestionService)
  const human = vi.fn()
  ctx.userQuestions.registerProvider({
    ask: ({ questions }) => {
      human(questions)
      return Promise.resolve({ answers: questions.map(({ id }) => ({ id, selected: ['yes'] })) })
    },
  })
  await ctx.plugin(toolAskUser)
  for (const name of ['work', 'fail']) ctx.tools.register(workTool(name, false))
  ctx.tools.register(workTool('look', true))
  early?.(ctx)
  const plugin = await ctx.plugin(driver, config)
  const { agent } = await ctx.agents.create({
    sessionId: SessionId('agent'),
    agentOptions: { provider: 'scripted', model: 'm' },
  })
  const goal = () => ctx.goals.get(agent) ?? expect.fail('no goal')
  const create = (maxGoalRounds = 256) => {
    ctx.goals.create(agent, { objective: 'ship it', maxGoalRounds })
  }
  return { ctx, agent, model, plugin, human, warnings, goal, create }
}

/** Run a goal until it does not go on any more. */
async function play(script: Script, options: Options = {}) {
  const world = await createWorld(script, options)
  await options.prepare?.(world)
  world.create(options.maxGoalRounds)
  await atRest(world)
  return world
}

function eventually(assertion: () => void): Promise<void> {
  return vi.waitFor(assertion, { timeout: 25_000, interval: 1 })
}

async function atRest({ agent, goal }: World): Promise<void> {
  await eventually(() => {
    const { phase, activation } = goal()
    expect(phase === 'active' && activation === 'armed').toBe(false)
  })
  await agent.whenIdle()
}

function textOf(content: readonly ContentBlock[]): string {
  return content
    .map((block: ContentBlock) => {
      if (block.type === 'tool-result') return textOf(block.content)
      return block.type === 'text' ? block.text : ''
    })
    .join('\n')
}

function eventsOf<T extends SessionEvent['type']>(agent: Agent, type: T) {
  return agent.session.events.filter((event): event is SessionEvent<T> => event.type === type)
}

function results(agent: Agent): string[] {
  return eventsOf(agent, 'tool/result').map(({ data }) => textOf(data.message.content))
}

/** What the model was told behind the results, by this plugin. */
function relayed(agent: Agent): string[] {
  return eventsOf(agent, 'user/message').flatMap(({ data: { content, source } }) =>
    source.kind === 'plugin' && source.plugin === 'goal-round-driver' ? [textOf(content)] : [],
  )
}

function message(text: string, source: MessageSource = { kind: 'user' }): UserMessage {
  return createUserMessage({ content: [{ type: 'text', text }], source })
}

const question = { id: 'q1', question: 'Which database?', options: [{ label: 'yes' }, { label: 'no' }] }
const ask: Call = { name: 'ask_user_question', args: { questions: [question] } }
const call = (name: string, args: unknown = {}): Call => ({ name, args })
const runCode = (code: string): Call =>
  call('run_code', {
    code: `const ask = () => tools.ask_user_question(${JSON.stringify(ask.args)})\n${code}`,
    description: 'run',
  })

const UNANSWERED = { phase: 'blocked', blockedReason: { code: 'question-unanswered' } }

/** Refuse every call of a tool, by a hook. */
function refuse({ ctx }: World, tool: string): void {
  ctx.on('tools/pre-execute', (exec, next) =>
    exec.name === tool ? Promise.resolve({ kind: 'deny', reason: 'refused by a hook' }) : next(),
  )
}

describe('a model that does not obey', () => {
  it.each<[string, Options['mode'], Script]>([
    ['asks in every round', 'native', step => (step === 1 ? ask : 'Awaiting your decision.')],
    ['asks in a program that fails of it', 'code', step => (step === 1 ? runCode('await ask()') : 'Awaiting.')],
    [
      'asks in a program that says nothing of it',
      'code',
      step => (step === 1 ? runCode('await ask().catch(() => 0)') : 'Awaiting.'),
    ],
    [
      'does not wait for its question',
      'code',
      step => (step === 1 ? runCode('ask().catch(() => 0); return "asked"') : 'Awaiting.'),
    ],
  ])('and %s is ended in the third round, with its question in the reason', async (_, mode, script) => {
    const world = await play(script, { mode })
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 3 })
    expect(world.goal().blockedReason?.message).toMatch(
      /^The goal needs an answer: "Which database\?" \(yes \/ no\)\. 3 rounds/,
    )
    expect(world.model.requests).toHaveLength(6)
    expect(world.human).not.toHaveBeenCalled()
  })

  it('and is not allowed to block is ended in the third round, whatever it tries', async () => {
    const update = call('update_goal', { goal_id: 'g', revision: 1, action: 'blocked', blocked_reason: 'which?' })
    const script: Script = step => [ask, call('get_goal'), update][step - 1] ?? 'Awaiting your decision.'
    const world = await play(script, {
      prepare: (prepared: World) => {
        refuse(prepared, 'update_goal')
      },
    })
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 3 })
    expect(world.model.requests).toHaveLength(12)
  })

  it('is ended where the asking begins, plus the rounds that the limit leaves it', async () => {
    const script: Script = (step, round) => (step > 1 ? 'Done for now.' : round < 3 ? call('work') : ask)
    expect((await play(script)).goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 5 })
  })

  it('is ended in the tenth round if it works after each of its questions', async () => {
    const script: Script = step => [ask, call('look')][step - 1] ?? 'Done for now.'
    const world = await play(script)
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 10 })
    expect(world.goal().blockedReason?.message).toContain('10 rounds in a row asked')
  })

  it('is ended in its first round if it loops on the denial', async () => {
    const world = await play(() => ask)
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 1 })
    expect(world.goal().blockedReason?.message).toContain('One round asked 20 times')
    expect(world.model.requests).toHaveLength(20)
    expect(eventsOf(world.agent, 'turn/end')[0]?.data.reason).toEqual({
      kind: 'aborted',
      reason: { kind: 'hook', reason: 'a goal round asked 20 times' },
    })
    expect(results(world.agent).filter(text => text.includes(GOAL_ROUND_ASK_DENIAL))).toHaveLength(1)
    expect(world.warnings).toEqual([])
  })

  it('is ended in its first round if its program loops on the denial', async () => {
    const world = await play(() => runCode('for (;;) await ask().catch(() => 0)'), { mode: 'code' })
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 1 })
    expect(eventsOf(world.agent, 'tool/code-dispatch').length).toBeLessThan(25)
    expect(world.model.requests).toHaveLength(1)
  })

  it('is ended at a cap below the limit, and the reason names both', async () => {
    const world = await play(step => (step === 1 ? ask : 'Awaiting.'), { maxGoalRounds: 2 })
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 2 })
    expect(world.goal().blockedReason?.message).toMatch(/"Which database\?".*limit of 2 rounds/)
  })

  it('goes on to the cap where every limit is 0', async () => {
    const config = { maxStuckRounds: 0, maxDeniedRounds: 0, maxDenialsPerTurn: 0 }
    const script: Script = step => (step <= 25 ? ask : 'Awaiting.')
    const world = await play(script, { config, maxGoalRounds: 2 })
    expect(world.goal()).toMatchObject({ roundsStarted: 2, blockedReason: { code: 'round-limit' } })
  })

  it('is not ended by another driver action while its goal is decided', async () => {
    const world = await play((step, round) => (step > 1 ? 'Done.' : round < 3 ? ask : call('work')), {
      prepare: ({ ctx, agent, goal }) => {
        // In the third stuck round, were it one, the goal is paused.
        ctx.on('agent/turn-stopping', () => {
          if (goal().roundsStarted === 2) ctx.goals.pause(agent, goal())
        })
      },
    })
    expect(world.goal()).toMatchObject({ phase: 'paused', roundsStarted: 2 })
  })
})

describe('work', () => {
  /** Whether a model that plays so in every round is ended as stuck, within as many rounds as that takes. */
  async function isStuck(script: Script, options: Options = {}): Promise<boolean> {
    const world = await play(script, { maxGoalRounds: 4, ...options })
    expect(world.human).not.toHaveBeenCalled()
    const { roundsStarted, blockedReason } = world.goal()
    expect([3, 4]).toContain(roundsStarted)
    return blockedReason?.code === 'question-unanswered'
  }
  function steps(...replies: Reply[]): Script {
    return step => replies[step - 1] ?? 'Done for now.'
  }

  it.each(['work', 'fail', 'look'])('is a call of %s in a later step', async (tool: string) => {
    expect(await isStuck(steps(ask, call(tool)))).toBe(false)
  })

  it.each(['get_goal', 'ask_user_question'])('is no call of %s', async (tool: string) => {
    expect(await isStuck(steps(ask, call(tool, tool === 'get_goal' ? {} : ask.args)))).toBe(true)
  })

  it('is nothing before the last question', async () => {
    expect(await isStuck(steps(call('work'), ask, call('work'), ask))).toBe(true)
  })

  it.each<[string, Reply]>([
    ['before', [call('work'), ask]],
    ['behind', [ask, call('work')]],
    ['around, at the same time', [call('look'), ask, call('look')]],
  ])('is nothing that stands beside the question in its message, %s it', async (_, reply) => {
    expect(await isStuck(steps(reply))).toBe(true)
  })

  it('is no text', async () => {
    expect(await isStuck(steps(ask, 'I take the first one and go on.'))).toBe(true)
  })

  it.each<[string, boolean, string]>([
    ['begins work when it has the denial', false, 'await ask().catch(() => 0); await tools.work({})'],
    ['asks and begins work together', true, 'await Promise.allSettled([ask(), tools.work({})])'],
    ['begins work and asks together', true, 'await Promise.allSettled([tools.work({}), ask()])'],
    ['asks beside work that may overlap', true, 'await Promise.allSettled([tools.look({}), ask(), tools.look({})])'],
    ['works before it asks', true, 'await tools.work({}); await ask().catch(() => 0)'],
    [
      'asks again when it has worked',
      true,
      'await ask().catch(() => 0); await tools.work({}); await ask().catch(() => 0)',
    ],
    ['reads its goal when it has the denial', true, 'await ask().catch(() => 0); await tools.get_goal({})'],
  ])('of a program counts: one that %s', async (_, expected, code) => {
    expect(await isStuck(steps(runCode(`${code}\nreturn "ran"`)), { mode: 'code' })).toBe(expected)
  })

  it('is a program that works in a later step', async () => {
    expect(await isStuck(steps(runCode('await ask()'), runCode('await tools.work({})')), { mode: 'code' })).toBe(false)
  })

  it('is no program that only looks at what it has', async () => {
    expect(await isStuck(steps(runCode('await ask()'), runCode('return 1 + 1')), { mode: 'code' })).toBe(true)
  })
})

describe('a denial', () => {
  const everyRound: Script = step => (step === 1 ? ask : 'Awaiting.')

  it('counts, whoever denies', async () => {
    const world = await play(everyRound, {
      prepare: (prepared: World) => {
        refuse(prepared, 'ask_user_question')
      },
    })
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 3 })
    expect(results(world.agent)[0]).toContain('refused by a hook')
  })

  it('counts where the tool is not callable at all', async () => {
    const world = await play(everyRound, { mode: 'code' })
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 3 })
    expect(results(world.agent)[0]).toContain('only `run_code` is callable directly')
  })

  it('is none if the question failed by itself', async () => {
    // The guard is out of the way, so that the call gets as far as its body.
    const world = await play(everyRound, {
      maxGoalRounds: 4,
      config: { deniedTools: ['ask_user_question', 'exit_plan_mode'] },
      prepare: ({ ctx, agent }) => {
        vi.spyOn(agent.ctx, 'get').mockReturnValue(undefined)
        vi.spyOn(ctx.userQuestions, 'ask').mockRejectedValue(new Error('the human hung up'))
      },
    })
    expect(world.goal().blockedReason?.code).toBe('round-limit')
    expect(results(world.agent)[0]).toContain('the human hung up')
  })

  it('is none if somebody else answered in place of the tool', async () => {
    const world = await createWorld((step, round) => (round === 1 && step <= 2 ? ask : 'Done.'), {
      early: (ctx: Context) => {
        ctx.on('tools/execute', (exec, next) => {
          if (exec.name !== ask.name) return next()
          const value = { answers: [{ id: 'q1', selected: ['no'] }] }
          return Promise.resolve({ isError: false, value, content: [] })
        })
      },
    })
    let isDone = false
    world.ctx.on('tools/result', () => {
      if (!isDone) world.agent.steer(message('ask me'))
      isDone = true
      return undefined
    })
    world.create(1)
    await atRest(world)
    expect(results(world.agent)[1]).toContain('"selected":["no"]')
    expect(world.warnings).toEqual([])
  })

  it('is none outside the calls of the round: a plugin that asks in its name leaves no trace', async () => {
    const world = await play(step => (step === 1 ? call('look') : 'Done.'), {
      maxGoalRounds: 4,
      prepare: ({ ctx, agent }) => {
        ctx.on('agent/turn-stopping', async () => {
          const { signal } = new AbortController()
          const probe = { callId: CallId('probe'), name: ask.name, arguments: ask.args, agent, signal }
          const { content } = await ctx.tools.execute(probe)
          expect(textOf(content)).toContain(GOAL_ROUND_ASK_DENIAL)
          await ctx.tools.execute({ callId: CallId('nobody'), name: ask.name, arguments: ask.args, signal })
        })
      },
    })
    expect(world.goal().blockedReason?.code).toBe('round-limit')
  })

  it('is one of any tool in the list, by its own name', async () => {
    const script: Script = step => [call('work'), call('work')][step - 1] ?? 'Awaiting.'
    const world = await play(script, { config: { deniedTools: ['work'] } })
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 3 })
    expect(world.goal().blockedReason?.message).toContain('a call of work')
    expect(results(world.agent).slice(0, 3)).toEqual(
      [false, true, false].map(isTold => `Error: ${denialText('work', isTold, 'active')}`),
    )
  })

  it('is short when it is repeated in the turn, and says another thing once the goal is decided', async () => {
    const script: Script = (step, _round, text) => {
      if (step <= 2) return ask
      if (step === 3) return call('get_goal')
      const goal = /"id":"([^"]+)","revision":(\d+)/.exec(text)
      if (step === 4 && goal !== null) {
        const args = { goal_id: goal[1], revision: Number(goal[2]), action: 'blocked', blocked_reason: 'which one?' }
        return call('update_goal', args)
      }
      return step === 5 ? ask : 'Which database?'
    }
    const world = await play(script, { blockedAfterConsecutiveRounds: 1 })
    expect(world.goal()).toMatchObject({ phase: 'blocked', blockedReason: { code: 'model-reported' } })
    expect(results(world.agent).filter(text => isGoalRoundDenial(text))).toEqual(
      [
        denialText('ask_user_question', false, 'active'),
        denialText('ask_user_question', true, 'active'),
        denialText('ask_user_question', true, 'decided'),
      ].map(text => `Error: ${text}`),
    )
  })

  it.each(['gone', 'another'])('says so, too, once the goal is %s', async (state: string) => {
    const script: Script = step => (step <= 2 ? ask : 'Which database?')
    const world = await createWorld(script, {})
    let isDone = false
    world.ctx.on('tools/result', () => {
      if (isDone) return undefined
      isDone = true
      world.ctx.goals.clear(world.agent, world.goal())
      if (state === 'another') world.create(1)
      return undefined
    })
    world.create()
    await eventually(() => {
      expect(eventsOf(world.agent, 'turn/end')).not.toHaveLength(0)
    })
    expect(results(world.agent)[1]).toContain('no longer active')
  })

  it('is the whole advice again where the goal cannot be read', async () => {
    const script: Script = (step, round) => (round === 1 && step <= 2 ? ask : 'Awaiting.')
    const world = await play(script, {
      maxGoalRounds: 2,
      prepare: ({ ctx, agent }) => {
        const read = ctx.goals.get.bind(ctx.goals)
        vi.spyOn(ctx.goals, 'get').mockImplementation((reader: Agent) => {
          if (eventsOf(agent, 'tool/call').length > eventsOf(agent, 'tool/result').length)
            throw new Error('no goal store')
          return read(reader)
        })
      },
    })
    expect(results(world.agent)).toEqual([0, 1].map(() => `Error: ${GOAL_ROUND_ASK_DENIAL}`))
  })
})

describe('a denial that a program swallows', () => {
  const SWALLOW = runCode('await ask().catch(() => 0)\nreturn "ran"')
  function oneRound(reply: Reply): Script {
    return step => (step === 1 ? reply : 'Awaiting.')
  }

  it('reaches the model behind the result', async () => {
    const world = await play(oneRound(SWALLOW), { mode: 'code', maxGoalRounds: 1 })
    expect(results(world.agent)).toEqual(['ran'])
    expect(relayed(world.agent)).toEqual([GOAL_ROUND_ASK_DENIAL])
    expect(JSON.stringify(world.model.requests[1]?.messages)).toContain(
      JSON.stringify(GOAL_ROUND_ASK_DENIAL).slice(1, -1),
    )
    expect(eventsOf(world.agent, 'user/message').at(-1)?.data.source).toMatchObject({
      kind: 'plugin',
      plugin: 'goal-round-driver',
      form: 'notice',
      summary: expect.stringMatching(/^A question was denied: /) as string,
    })
  })

  it('does so although a hook blocks the result, and beside what the hook says', async () => {
    const feedback: ContentBlock[] = [{ type: 'text', text: 'blocked by a hook' }]
    const world = await play(oneRound(SWALLOW), {
      mode: 'code',
      maxGoalRounds: 1,
      prepare: ({ ctx }) => {
        ctx.on('tools/post-execute', (exec, _result, next) => {
          if (exec.name !== 'run_code') return next()
          const additionalContexts = [message('by the way', { kind: 'plugin', plugin: 'hook' })]
          return Promise.resolve({ kind: 'block', feedback, additionalContexts })
        })
      },
    })
    expect(results(world.agent)).toEqual(['blocked by a hook'])
    expect(relayed(world.agent)).toEqual([GOAL_ROUND_ASK_DENIAL])
    expect(eventsOf(world.agent, 'user/message').map(({ data }) => textOf(data.content))).toContain('by the way')
  })

  it('does so where a hook takes it out of the result', async () => {
    const world = await play(oneRound(runCode('return await ask().catch(error => error.message)')), {
      mode: 'code',
      maxGoalRounds: 1,
      prepare: ({ ctx }) => {
        ctx.on('tools/post-execute', (exec, _result, next) =>
          exec.name === 'run_code' ? Promise.resolve({ kind: 'accept', content: [] }) : next(),
        )
      },
    })
    expect(relayed(world.agent)).toEqual([GOAL_ROUND_ASK_DENIAL])
  })

  it('does so where a hook that was there before the plugin takes it out', async () => {
    const world = await play(oneRound(runCode('return await ask().catch(error => error.message)')), {
      mode: 'code',
      maxGoalRounds: 1,
      early: (ctx: Context) => {
        ctx.on('tools/post-execute', async (exec, _result, next) => {
          const decision = await next()
          return exec.name === 'run_code' ? { kind: 'accept', content: [] } : decision
        })
      },
    })
    expect(relayed(world.agent)).toEqual([GOAL_ROUND_ASK_DENIAL])
  })

  it.each([
    'await ask()',
    'return await ask().catch(error => error.message)',
    'return { denial: await ask().catch(error => error.message) }',
    'await ask().catch(error => console.log(error.message))',
    'await ask().catch(() => 0); return await ask().catch(error => error.message)',
  ])('does not when the result carries it: %s', async (code: string) => {
    const world = await play(oneRound(runCode(code)), { mode: 'code', maxGoalRounds: 1 })
    expect(relayed(world.agent)).toEqual([])
  })

  it('does not when a hook blocks the result with it', async () => {
    const feedback: ContentBlock[] = [{ type: 'text', text: GOAL_ROUND_ASK_DENIAL }]
    const world = await play(oneRound(SWALLOW), {
      mode: 'code',
      maxGoalRounds: 1,
      prepare: ({ ctx }) => {
        ctx.on('tools/post-execute', (exec, _result, next) =>
          exec.name === 'run_code' ? Promise.resolve({ kind: 'block', feedback }) : next(),
        )
      },
    })
    expect(relayed(world.agent)).toEqual([])
  })

  it('does so when only the beginning of it is carried', async () => {
    const code = 'return await ask().catch(error => error.message.slice(0, 60))'
    const world = await play(oneRound(runCode(code)), { mode: 'code', maxGoalRounds: 1 })
    expect(relayed(world.agent)).toEqual([GOAL_ROUND_ASK_DENIAL])
  })

  it('does so once in a turn', async () => {
    const world = await play(step => (step <= 3 ? SWALLOW : 'Awaiting.'), { mode: 'code', maxGoalRounds: 1 })
    expect(relayed(world.agent)).toEqual([GOAL_ROUND_ASK_DENIAL])
  })

  it('does so in each round', async () => {
    const world = await play(oneRound(SWALLOW), { mode: 'code' })
    expect(relayed(world.agent)).toEqual([1, 2, 3].map(() => GOAL_ROUND_ASK_DENIAL))
  })

  it('does so with the words of whoever denied', async () => {
    const world = await play(oneRound(SWALLOW), {
      mode: 'code',
      maxGoalRounds: 1,
      prepare: (prepared: World) => {
        refuse(prepared, 'ask_user_question')
      },
    })
    expect(relayed(world.agent)).toEqual(['refused by a hook'])
  })

  it('leaves a program without a question alone, and one outside a round', async () => {
    const world = await play(oneRound(runCode('return "ran"')), { mode: 'code', maxGoalRounds: 1 })
    world.agent.followup(message('hello'))
    await world.agent.whenIdle()
    expect(relayed(world.agent)).toEqual([])
  })
})

describe('somebody who interferes', () => {
  const everyRound: Script = step => (step === 1 ? ask : 'Awaiting.')

  /** Do something once, at the first event of some kind in a round. */
  function once(world: World, round: number, type: SessionEvent['type'], act: () => void): void {
    let isDone = false
    world.ctx.on('session/event', (_session, event) => {
      if (isDone || event.type !== type || world.goal().roundsStarted !== round) return
      isDone = true
      queueMicrotask(act)
    })
  }

  it.each<[string, SessionEvent['type'], (world: World) => void]>([
    [
      'a steer in the round',
      'tool/result',
      ({ agent }) => {
        agent.steer(message('use postgres'))
      },
    ],
    [
      'a message that waits for a turn of its own',
      'tool/result',
      ({ agent }) => {
        agent.send(message('later'), 'next-turn', false)
      },
    ],
    [
      'an edit of the goal',
      'tool/result',
      ({ ctx, agent, goal }) => void ctx.goals.edit(agent, goal(), { objective: 'ship it well' }),
    ],
    [
      'a pause and a resume',
      'tool/result',
      ({ ctx, agent, goal }) => void ctx.goals.resume(agent, ctx.goals.pause(agent, goal())),
    ],
  ])('sets the counts back: %s', async (_, type, act) => {
    const world = await play(everyRound, {
      prepare: (prepared: World) => {
        once(prepared, 2, type, () => {
          act(prepared)
        })
      },
    })
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 5 })
  })

  it('answers the next question: the model may ask again until the round ends', async () => {
    const world = await play((step, round) => (round === 1 && step <= 2 ? ask : 'Done.'), {
      maxGoalRounds: 1,
      prepare: (prepared: World) => {
        once(prepared, 1, 'tool/result', () => {
          prepared.agent.steer(message('ask me'))
        })
      },
    })
    expect(world.human).toHaveBeenCalledTimes(1)
    expect(world.goal().blockedReason?.code).toBe('round-limit')
  })

  it('makes the round void that claims a parked steer', async () => {
    const world = await createWorld(everyRound, {})
    world.agent.inject(message('by the way'))
    world.create()
    await atRest(world)
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 4 })
    expect(world.human).toHaveBeenCalledTimes(1)
  })

  it('makes it void, though a hook denies its question', async () => {
    const world = await createWorld(everyRound, {})
    refuse(world, 'ask_user_question')
    world.agent.inject(message('by the way'))
    world.create()
    await atRest(world)
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 4 })
  })

  it('clears the counts by a resume', async () => {
    const world = await play(everyRound, {
      prepare: ({ ctx, agent, goal }) => {
        ctx.on('agent/turn-stopping', () => {
          if (goal().roundsStarted === 2) ctx.goals.pause(agent, goal())
        })
      },
    })
    expect(world.goal()).toMatchObject({ phase: 'paused', roundsStarted: 2 })
    world.ctx.goals.resume(world.agent, world.goal())
    await atRest(world)
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 5 })
  })

  it('finds a goal that goes on with its answer', async () => {
    const script: Script = (step, round) => (round <= 3 && step === 1 ? ask : 'Done.')
    const world = await play(script)
    expect(world.goal()).toMatchObject(UNANSWERED)
    world.agent.followup(message('PostgreSQL'))
    await world.agent.whenIdle()
    world.ctx.goals.resume(world.agent, world.ctx.goals.edit(world.agent, world.goal(), { maxGoalRounds: 4 }))
    await atRest(world)
    expect(world.goal()).toMatchObject({ roundsStarted: 4, blockedReason: { code: 'round-limit' } })
  })

  it('is nobody in another turn: a notice between two rounds leaves the counts', async () => {
    const world = await play(everyRound, {
      prepare: (prepared: World) => {
        once(prepared, 2, 'tool/result', () => {
          prepared.agent.followup(message('a job is done', { kind: 'plugin', plugin: 'jobs' }))
        })
      },
    })
    expect(eventsOf(world.agent, 'turn/start')).toHaveLength(4)
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 3 })
  })

  it('starts the session again, and all is forgotten', async () => {
    const world = await play(everyRound, {
      prepare: ({ ctx, agent, goal }) => {
        ctx.on('agent/turn-stopping', () => {
          if (goal().roundsStarted === 2) emitAgentEvent(ctx, agent, 'agent/session-start', { source: 'clear' })
        })
      },
    })
    expect(world.goal()).toMatchObject({ phase: 'active', activation: 'disarmed', roundsStarted: 2 })
  })
})

describe('a turn that asks too often', () => {
  const config = { maxDenialsPerTurn: 3 }

  it('keeps what waits in the inbox', async () => {
    const world = await createWorld(() => ask, { config })
    world.ctx.on('tools/result', () => {
      if (world.agent.inbox.nextTurn.length === 0)
        world.agent.send(message('a job is done', { kind: 'plugin', plugin: 'jobs' }), 'next-turn', false)
      return undefined
    })
    world.create()
    await atRest(world)
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 1 })
    expect(world.agent.inbox.nextTurn).toHaveLength(1)
  })

  it('says nothing of the rounds that follow a resume', async () => {
    const world = await createWorld((_step, round) => (round === 1 ? ask : 'Done.'), { config })
    world.create(3)
    await atRest(world)
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 1 })
    world.ctx.goals.resume(world.agent, world.goal())
    await atRest(world)
    expect(world.goal()).toMatchObject({ roundsStarted: 3, blockedReason: { code: 'round-limit' } })
  })

  it('goes on when a human comes in that moment', async () => {
    const world = await createWorld((step, round) => (round === 1 && step <= 3 ? ask : 'Done.'), { config })
    let denials = 0
    world.ctx.on('tools/result', () => {
      denials += 1
      if (denials === 3) world.agent.steer(message('use postgres'))
      return undefined
    })
    world.create(1)
    await atRest(world)
    expect(eventsOf(world.agent, 'turn/end').map(({ data }) => data.reason.kind)).toEqual(['completed'])
    expect(world.goal().blockedReason?.code).toBe('round-limit')
  })

  it('leaves a goal alone that was decided meanwhile', async () => {
    const world = await createWorld(() => ask, { config })
    let denials = 0
    world.ctx.on('tools/result', () => {
      denials += 1
      if (denials === 3) world.ctx.goals.complete(world.agent, world.goal())
      return undefined
    })
    world.create()
    await atRest(world)
    expect(world.goal().phase).toBe('complete')
    expect(world.warnings).toEqual([])
  })

  it('leaves it where there is no goal any more', async () => {
    const world = await createWorld(() => ask, { config })
    let denials = 0
    world.ctx.on('tools/result', () => {
      denials += 1
      if (denials === 3) world.ctx.goals.clear(world.agent, world.goal())
      return undefined
    })
    world.create()
    await eventually(() => {
      expect(world.agent.status === 'idle' && world.ctx.goals.get(world.agent) === undefined).toBe(true)
    })
    expect(world.warnings).toEqual([])
  })

  it('leaves another goal alone', async () => {
    const world = await createWorld((_step, _round, text) => (text.includes('the next thing') ? 'Done.' : ask), {
      config,
    })
    let denials = 0
    world.ctx.on('tools/result', () => {
      denials += 1
      if (denials !== 3) return undefined
      world.ctx.goals.clear(world.agent, world.goal())
      world.ctx.goals.create(world.agent, { objective: 'the next thing', maxGoalRounds: 1 })
      return undefined
    })
    world.create()
    await atRest(world)
    // A turn that was cancelled pauses the goal that goes on behind it.
    expect(world.goal()).toMatchObject({ objective: 'the next thing', phase: 'paused' })
  })

  it('is over when another round has come in that moment', async () => {
    const world = await createWorld(step => (step <= 3 ? ask : 'Done.'), { config })
    const cancel = vi.spyOn(world.agent, 'cancel')
    let denials = 0
    world.ctx.on('tools/result', () => {
      denials += 1
      const next = message('round', { kind: 'goal', goalId: world.goal().id, revision: 1, round: 2 })
      if (denials === 3) emitAgentEvent(world.ctx, world.agent, 'agent/inbox/claimed', { message: next, turn: 2 })
      return undefined
    })
    world.create(1)
    await atRest(world)
    expect(cancel).not.toHaveBeenCalled()
  })

  it.each([new Error('disk full'), 'disk full'])(
    'is disarmed where the goal cannot be blocked: %o',
    async (failure: unknown) => {
      const world = await createWorld(() => ask, { config })
      vi.spyOn(world.ctx.goals, 'block').mockImplementation(() => {
        throw failure
      })
      world.create()
      await atRest(world)
      expect(world.goal()).toMatchObject({ phase: 'active', activation: 'disarmed', roundsStarted: 1 })
      expect(world.warnings).toEqual([expect.stringMatching(/unanswered question for agent "agent": disk full$/)])
    },
  )

  it('is over when the plugin unloads in that moment', async () => {
    const world = await createWorld(() => ask, { config })
    const unloaded = vi.fn()
    let denials = 0
    world.ctx.on('tools/result', () => {
      denials += 1
      if (denials === 3) void world.plugin.dispose().then(unloaded)
      return undefined
    })
    world.create()
    await eventually(() => {
      expect(unloaded).toHaveBeenCalled()
    })
    expect(world.agent.status).toBe('idle')
    expect(world.goal()).toMatchObject({ phase: 'active', activation: 'disarmed' })
  })
})

describe('the driver', () => {
  it('disarms where a stuck goal cannot be blocked, and begins to count anew', async () => {
    const world = await createWorld(step => (step === 1 ? ask : 'Awaiting.'), {})
    const block = vi.spyOn(world.ctx.goals, 'block').mockImplementationOnce(() => {
      throw new Error('disk full')
    })
    world.create()
    await atRest(world)
    expect(world.goal()).toMatchObject({ phase: 'active', activation: 'disarmed', roundsStarted: 3 })
    expect(world.warnings).toEqual([expect.stringMatching(/driver failed for agent "agent": disk full$/)])
    world.ctx.goals.resume(world.agent, world.goal())
    await atRest(world)
    expect(world.goal()).toMatchObject({ ...UNANSWERED, roundsStarted: 6 })
    expect(block).toHaveBeenCalledTimes(2)
  })

  it('lets questions through, and says and counts nothing, where they are allowed in rounds', async () => {
    const world = await play(step => (step === 1 ? ask : 'Done.'), {
      config: { askInRounds: 'allow' },
      maxGoalRounds: 4,
    })
    expect(world.human).toHaveBeenCalledTimes(4)
    expect(world.goal().blockedReason?.code).toBe('round-limit')
    expect(world.model.requests[0]?.system).not.toContain(GOAL_ROUNDS_SECTION.text)
  })

  it('warns in the first round of a name in the list that no tool has, once', async () => {
    const config = { deniedTools: ['ask_user_question', 'work', 'wrok'] }
    const world = await play(() => 'Done.', { config, maxGoalRounds: 2 })
    expect(world.warnings).toEqual(['goal-round-driver: deniedTools names wrok, and agent "agent" has no such tool'])
  })

  it('says beforehand that nobody reads along, in every request with the same words, behind the goal tools', async () => {
    const world = await play(step => (step === 1 ? ask : 'Done.'))
    const systems = new Set(world.model.requests.map(({ system }) => system))
    expect(systems.size).toBe(1)
    const [system = ''] = systems
    expect(system.indexOf(GOAL_ROUNDS_SECTION.text)).toBeGreaterThan(system.indexOf('Use goal tools'))
    await world.plugin.dispose()
    const { sections } = await world.ctx.systemPrompt.assemble()
    expect(sections.map(({ name }) => name)).not.toContain('goal:rounds')
  })

  it('denies with the whole advice where it has no record, and keeps none of an agent that it does not know', async () => {
    const { ctx, agent, plugin, warnings } = await createWorld(() => 'Done.', {})
    await plugin.dispose()
    const states = new Map<Agent, RoundsState>()
    const owner = {
      peek: (key: Agent) => states.get(key),
      of: (key: Agent) => {
        const state = states.get(key) ?? { agent: key, askGuardDispose: undefined, roundCounts: undefined }
        states.set(key, state)
        return state
      },
      isDriving: () => true,
    }
    await ctx.plugin({
      name: 'rounds',
      inject: ['agents', 'goals'],
      apply: scope => void scope.effect(() => watchRounds(scope, owner, roundSettings({}))),
    })
    emitAgentEvent(ctx, agent, 'agent/session-start', { source: 'clear' })
    emitAgentEvent(ctx, agent, 'agent/inbox/inserted', { message: message('hello') })
    ctx.emit('session/event', agent.session, { type: 'step/start', data: { step: 1 } } as SessionEvent)
    expect(states.size).toBe(0)
    expect(warnings).toEqual([])
    const round = message('round', { kind: 'goal', goalId: GoalId('g'), revision: 1, round: 1 })
    emitAgentEvent(ctx, agent, 'agent/inbox/claimed', { message: round, turn: 1 })
    const state = states.get(agent) ?? expect.fail('no state')
    expect(state.roundCounts?.record?.messageId).toBe(round.id)
    // The ends of turns of a session without an agent, and of another session under the agent's id.
    for (const id of [SessionId('nobody'), agent.id]) {
      const end = { type: 'turn/end', data: { turn: 1, reason: { kind: 'completed' } } }
      ctx.emit('session/event', { id } as never, end as SessionEvent)
    }
    expect(state.roundCounts?.record?.messageId).toBe(round.id)
    // Only the id tells that the round was admitted.
    for (const data of [message('beside it'), { ...message('the round'), id: round.id }]) {
      ctx.emit('session/event', agent.session, { type: 'user/message', data } as SessionEvent)
      expect(state.roundCounts?.record?.isAdmitted).toBe(data.id === round.id)
    }
    emitAgentEvent(ctx, agent, 'agent/session-start', { source: 'clear' })
    expect(state.roundCounts).toBeUndefined()
    emitAgentEvent(ctx, agent, 'agent/inbox/claimed', { message: round, turn: 2 })
    state.roundCounts = undefined
    const { signal } = new AbortController()
    const { content } = await ctx.tools.execute({
      callId: CallId('a'),
      name: ask.name,
      arguments: ask.args,
      agent,
      signal,
    })
    expect(textOf(content)).toBe(`Error: ${GOAL_ROUND_ASK_DENIAL}`)
  })

  it('loads without a system prompt and without tools', async () => {
    const ctx = createContext()
    const services = { agents: { list: () => [] }, goals: {} }
    await ctx.plugin(SessionStore)
    await ctx.plugin({
      name: 'services',
      apply: (inner: Context) => {
        for (const [name, value] of Object.entries(services)) inner.provide(name, value)
      },
    })
    const plugin = await ctx.plugin(driver)
    expect(plugin.state).toBe(2)
  })
})
