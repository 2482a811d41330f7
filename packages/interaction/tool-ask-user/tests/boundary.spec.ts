/**
 * Who is asked what, and by whom: the approval gate, the questions seam and the goal round's guard, on the real agent
 * loop, tools, approval service, goals, Code Mode worker and goal-round driver. docs/asking-a-human.md has the table.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { GoalService } from '@deepseek-ai/dsh-goal'
import * as goalRoundDriver from '@deepseek-ai/dsh-goal-round-driver'
import { GOAL_ROUND_ASK_DENIAL } from '@deepseek-ai/dsh-goal-round-driver'
import { CallId } from '@deepseek-ai/dsh-llm'
import * as toolGoal from '@deepseek-ai/dsh-tool-goal'
import { defineTool, type ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import { ApprovalService, type ApprovalOutcome } from '@deepseek-ai/dsh-user-approval'
import {
  ask,
  callTool,
  disposeHarnesses,
  eventsOf,
  noReply,
  receipts,
  requestTexts,
  results,
  runCode,
  runTurn,
  say,
  startHarness,
  until,
  type Harness,
  type HarnessOptions,
  type Move,
} from './harness.ts'

afterEach(disposeHarnesses)

const question = { questions: [{ id: 'q', question: 'Which one?' }] }
const answer = JSON.stringify({ answers: [{ id: 'q', selected: ['Blue'] }] })
const delegated =
  'human interaction is unavailable while the calling agent is owned by another live agent; '
  + "include the unresolved question or decision in the child agent's final result"

/** The two ways in which a model asks. In Code Mode it returns what it got, or what went wrong. */
const asking = {
  native: callTool('ask_user_question', question),
  code: runCode(`try { return ${ask()} } catch (error) { return error.message }`),
} satisfies Record<string, Move>
const modes = ['native', 'code'] as const
const answerers = ['provider', 'listener'] as const
const everyWay = modes.flatMap(mode => answerers.map(answerer => ({ mode, answerer })))

interface Scene extends Harness {
  readonly root: Agent
}

/** A root agent with goals, whose rounds the forked driver runs. */
async function start(options: HarnessOptions = {}): Promise<Scene> {
  const harness = await startHarness(options)
  await harness.ctx.plugin(GoalService, {})
  await harness.ctx.plugin(toolGoal, {})
  await harness.ctx.plugin(goalRoundDriver)
  return { ...harness, root: await harness.createAgent('root') }
}

/** Run one goal round, in which the model makes these moves; the goal then stands at its limit. */
function runRound(scene: Scene, ...moves: Move[]): Promise<void> {
  return runRoundTo('round-limit', scene, moves)
}

/** The same with a round that ends on a denied question. */
function runStuckRound(scene: Scene, ...moves: Move[]): Promise<void> {
  return runRoundTo('question-unanswered', scene, moves)
}

async function runRoundTo(code: string, { ctx, model, root }: Scene, moves: Move[]): Promise<void> {
  model.script.push(...moves)
  ctx.goals.create(root, { objective: 'Finish', maxGoalRounds: 1 })
  await until(() => ctx.goals.get(root)?.phase === 'blocked' && root.status === 'idle')
  expect(ctx.goals.get(root)).toMatchObject({ roundsStarted: 1, blockedReason: { code } })
}

/** What the model's call came to, whichever way it was made: the program returns the nested call's outcome. */
function lastOutcome(agent: Agent): string | undefined {
  return results(agent)
    .at(-1)
    ?.text.replace(/^Error: /, '')
}

describe('a root asks', () => {
  it.each(everyWay)('in an ordinary turn ($mode, $answerer): the human is asked and the answer arrives', async way => {
    const scene = await start(way)
    scene.model.script.push(asking[way.mode])
    await runTurn(scene.root)

    expect(scene.human.requests).toMatchObject([question])
    expect(scene.human.requests[0]?.agent).toBe(scene.root)
    expect(JSON.parse(lastOutcome(scene.root) ?? '')).toEqual(JSON.parse(answer))
    expect(requestTexts(scene.model.requests[1]).some(text => text.includes('Blue'))).toBe(true)
  })

  it.each(everyWay)('in a goal round ($mode, $answerer): the guard denies, and nobody is asked', async way => {
    const scene = await start(way)
    await runStuckRound(scene, asking[way.mode])

    expect(scene.human.requests).toHaveLength(0)
    expect(lastOutcome(scene.root)).toBe(GOAL_ROUND_ASK_DENIAL)
    expect(requestTexts(scene.model.requests[1]).some(text => text.includes(GOAL_ROUND_ASK_DENIAL))).toBe(true)
  })

  it.each(everyWay)('in the turn right after a goal round ($mode, $answerer): the human is asked', async way => {
    const scene = await start(way)
    await runStuckRound(scene, asking[way.mode])
    scene.model.script.push(asking[way.mode])
    await runTurn(scene.root)

    expect(scene.human.requests).toHaveLength(1)
    expect(JSON.parse(lastOutcome(scene.root) ?? '')).toEqual(JSON.parse(answer))
  })
})

describe('a child asks', () => {
  /** A tool that delegates to a child of the calling agent, which asks, and that returns when the child is done. */
  function registerDelegate(scene: Scene): Agent[] {
    const children: Agent[] = []
    scene.ctx.tools.register(
      defineTool({
        name: 'delegate',
        description: 'Delegate to a child.',
        parameters: {},
        output: { schema: { type: 'null' }, render: () => [{ type: 'text', text: 'delegated' }] },
        async execute(_args, { agent }) {
          const child = await scene.createAgent('child', agent)
          children.push(child)
          await runTurn(child, 'ask')
          return null
        },
      }),
    )
    return children
  }

  const delegating = { native: callTool('delegate', {}), code: runCode('await tools.delegate({})') }

  it.each(everyWay)('outside a round ($mode, $answerer): DELEGATED_CALLER', async way => {
    const scene = await start(way)
    const children = registerDelegate(scene)
    scene.model.script.push(delegating[way.mode], asking[way.mode])
    await runTurn(scene.root)

    expect(scene.human.requests).toHaveLength(0)
    expect(children.map(lastOutcome)).toEqual([delegated])
    if (way.mode === 'native') expect(children.flatMap(results)).toMatchObject([{ code: 'DELEGATED_CALLER' }])
  })

  it.each(everyWay)("inside its parent's round ($mode, $answerer): DELEGATED_CALLER, not the guard", async way => {
    const scene = await start(way)
    const children = registerDelegate(scene)
    await runRound(scene, delegating[way.mode], asking[way.mode])

    expect(scene.human.requests).toHaveLength(0)
    expect(children.map(lastOutcome)).toEqual([delegated])
  })
})

describe('the approval gate', () => {
  /** A tool that a `tools/pre-execute` listener puts under approval, and whether it ran. */
  async function guardWithApproval(scene: Scene, outcome: ApprovalOutcome | 'nobody', name = 'deploy') {
    const log: string[] = []
    scene.ctx.tools.register(
      defineTool({
        name: 'deploy',
        description: 'Deploy.',
        parameters: {},
        output: { schema: { type: 'null' }, render: () => [{ type: 'text', text: 'deployed' }] },
        execute: () => (log.push('deployed'), Promise.resolve(null)),
      }),
    )
    scene.ctx.on('tools/pre-execute', (exec, next) =>
      exec.name === name ? Promise.resolve({ kind: 'ask', reason: 'it changes production' }) : next(),
    )
    await scene.ctx.plugin(ApprovalService, {})
    if (outcome !== 'nobody') {
      scene.ctx.on('approval/request', ({ toolName }) => {
        log.push(`approval of ${toolName}`)
        return Promise.resolve(outcome)
      })
    }
    return log
  }

  const deploying = callTool('deploy', {})

  it.each([
    ['in an ordinary turn', (scene: Scene) => (scene.model.script.push(deploying), runTurn(scene.root))],
    ['in a goal round', (scene: Scene) => runRound(scene, deploying)],
  ])('%s, another tool goes to ctx.approval, not to the guard or the questions', async (_name, run) => {
    const scene = await start()
    const log = await guardWithApproval(scene, 'allowed-once')
    await run(scene)

    expect(log).toEqual(['approval of deploy', 'deployed'])
    expect(scene.human.requests).toHaveLength(0)
    expect(eventsOf(scene.root, 'approval/decided')).toMatchObject([{ outcome: 'allowed-once' }])
  })

  it('without the service the answer is no, too', async () => {
    const scene = await start()
    scene.ctx.on('tools/pre-execute', () => Promise.resolve({ kind: 'ask' }))
    scene.model.script.push(asking.native)
    await runTurn(scene.root)

    expect(lastOutcome(scene.root)).toBe('tool "ask_user_question" requires approval (not yet supported)')
    expect(scene.human.requests).toHaveLength(0)
  })

  it.each(['ordinary turn', 'goal round'])('without an answerer it fails closed (%s)', async where => {
    const scene = await start()
    const log = await guardWithApproval(scene, 'nobody')
    scene.model.script.push(...(where === 'goal round' ? [] : [deploying]))
    await (where === 'goal round' ? runRound(scene, deploying) : runTurn(scene.root))

    expect(log).toEqual([])
    expect(lastOutcome(scene.root)).toBe('tool "deploy" requires approval, but no approval channel is available')
  })

  it.each(modes)('a denial of the question tool itself wins in a round, since it comes first (%s)', async mode => {
    const scene = await start({ mode })
    scene.ctx.on('tools/pre-execute', (exec, next) =>
      exec.name === 'ask_user_question' ? Promise.resolve({ kind: 'deny', reason: 'no questions today' }) : next(),
    )
    await runStuckRound(scene, asking[mode])

    expect(lastOutcome(scene.root)).toBe('no questions today')
    expect(scene.human.requests).toHaveLength(0)
  })

  it.each(modes)('approval of the question tool itself is asked for before the guard denies (%s)', async mode => {
    const scene = await start({ mode })
    const log = await guardWithApproval(scene, 'allowed-once', 'ask_user_question')
    await runStuckRound(scene, asking[mode])

    expect(log).toEqual(['approval of ask_user_question'])
    expect(lastOutcome(scene.root)).toBe(GOAL_ROUND_ASK_DENIAL)
    expect(scene.human.requests).toHaveLength(0)
  })
})

describe('codes through ctx.tools.execute()', () => {
  function execute(
    { ctx }: Harness,
    more: { questions?: unknown[]; agent?: Agent; signal?: AbortSignal } = {},
  ): Promise<ToolExecutionResult> {
    const { questions = question.questions, signal = new AbortController().signal, agent } = more
    return ctx.tools.execute({
      callId: CallId('call'),
      name: 'ask_user_question',
      arguments: { questions },
      signal,
      ...(agent && { agent }),
    })
  }

  function failure(name: string, code: string): object {
    return { isError: true, error: { info: { name, code } } }
  }

  it('EMPTY_QUESTIONS', async () => {
    expect(await execute(await start(), { questions: [] })).toMatchObject(
      failure('UserQuestionError', 'EMPTY_QUESTIONS'),
    )
  })

  it('CALLER_NOT_LIVE, for an agent that is gone', async () => {
    const scene = await start()
    const { agent, ...handle } = await disposable(scene)
    await handle.dispose()

    expect(await execute(scene, { agent })).toMatchObject(failure('UserQuestionError', 'CALLER_NOT_LIVE'))
  })

  it('DELEGATED_CALLER, for a live child', async () => {
    const scene = await start()
    const child = await scene.createAgent('child', scene.root)

    expect(await execute(scene, { agent: child })).toMatchObject(failure('UserQuestionError', 'DELEGATED_CALLER'))
  })

  it('NO_PROVIDER, when nobody answers', async () => {
    const scene = await start({ answerer: 'none' })

    expect(await execute(scene, { agent: scene.root })).toMatchObject(failure('UserQuestionError', 'NO_PROVIDER'))
  })

  it.each(answerers)('ASK_ABORTED, when it is aborted while pending (%s)', async answerer => {
    const scene = await start({ answerer })
    scene.human.replies.push(noReply)
    const caller = new AbortController()
    const pending = execute(scene, { agent: scene.root, signal: caller.signal })
    await until(() => scene.human.requests.length === 1)
    caller.abort()

    expect(await pending).toMatchObject(failure('UserQuestionError', 'ASK_ABORTED'))
  })

  it("ABORTED_BEFORE_DISPATCH, the registry's own, when it was aborted beforehand", async () => {
    const scene = await start()

    expect(await execute(scene, { signal: AbortSignal.abort() })).toMatchObject(
      failure('AbortError', 'ABORTED_BEFORE_DISPATCH'),
    )
    expect(scene.human.requests).toHaveLength(0)
  })

  it('INVALID_TOOL_OUTPUT, for an answer that is none', async () => {
    const scene = await start()
    scene.human.replies.push(() => Promise.resolve({ answers: [{ id: 'q' }] } as never))

    expect(await execute(scene)).toMatchObject(failure('ToolOutputError', 'INVALID_TOOL_OUTPUT'))
  })

  it.each(modes)('and after a failure the turn goes on (%s)', async mode => {
    const scene = await start({ mode })
    scene.human.replies.push(() => Promise.resolve('yes' as never))
    scene.model.script.push(asking[mode], say('I go on without it'))
    await runTurn(scene.root)

    expect(lastOutcome(scene.root)).toContain('"value" must be an object')
    expect(eventsOf(scene.root, 'turn/end')).toMatchObject([{ reason: { kind: 'completed' } }])
    expect(mode === 'code' ? receipts(scene.root) : results(scene.root)).toMatchObject([{ isError: true }])
  })
})

describe('codes of ctx.userQuestions.ask itself', () => {
  it('ASK_ABORTED, when it was aborted beforehand', async () => {
    const { ctx } = await start()

    await expect(ctx.userQuestions.ask({ ...question, signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'ASK_ABORTED',
    })
  })

  it('BAD_INTENT, which the tool cannot produce: it passes no intent on', async () => {
    const scene = await start()
    const intent = { kind: 'plan-review', approve: 'Go' } as const

    await expect(
      scene.ctx.userQuestions.ask({ questions: [{ id: 'q', question: '?', intent }] }),
    ).rejects.toMatchObject({ code: 'BAD_INTENT' })
    scene.model.script.push(callTool('ask_user_question', { questions: [{ id: 'q', question: '?', intent }] }))
    await runTurn(scene.root)
    expect(scene.human.requests[0]?.questions).toEqual([{ id: 'q', question: '?' }])
  })
})

/** An agent that the test can dispose. */
function disposable({ ctx, root }: Scene) {
  return ctx.agents.create({ sessionId: `${root.id}-2` as typeof root.id, agentOptions: root.options })
}
