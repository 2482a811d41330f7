import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { GOAL_ROUND_ASK_DENIAL } from '@deepseek-ai/dsh-goal-round-driver'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import { traceLog } from '../src/index.ts'
import {
  ask,
  BLUE,
  COLOUR,
  logUnder,
  program,
  realSession,
  temporaryFolder,
  waitUntil,
  type RealSession,
} from './real-session.ts'

vi.setConfig({ testTimeout: 30_000 })

const ASK_AND_DROP = 'await tools.ask_user_question(COLOUR); return "asked"'
const ASK_AND_RETURN = 'return await tools.ask_user_question(COLOUR)'

/** A human who answers only when the test says so, and gives up when the call is cancelled. */
function slowHuman() {
  const asked = Promise.withResolvers<undefined>()
  const answer = Promise.withResolvers<typeof BLUE>()
  return {
    asked: asked.promise,
    answer: () => {
      answer.resolve(BLUE)
    },
    human: ({ signal }: { signal?: AbortSignal }) => {
      asked.resolve(undefined)
      signal?.addEventListener('abort', () => {
        answer.reject(new Error('withdrawn'))
      })
      return answer.promise
    },
  }
}

async function traced(session: RealSession) {
  const { report, defect, notes } = await traceLog(await session.flush())
  expect({ defect, notes }).toEqual({ defect: undefined, notes: [] })
  return report
}

describe('a native question', () => {
  it('is delivered, with all three layers', async () => {
    const session = await realSession({ steps: [ask()] })
    await session.say('paint it')

    const { asks, summary } = await traced(session)
    expect(asks).toMatchObject([
      {
        mode: 'native',
        calls: { root: 'call-0' },
        turn: 1,
        questions: [{ id: 'colour', question: 'Which colour?', options: [{ label: 'Blue' }, { label: 'Red' }] }],
        inner: { kind: 'answered', answers: BLUE.answers },
        outer: 'carries',
        context: 'carries',
        verdict: 'delivered',
      },
    ])
    expect(summary).toMatchObject({ asks: 1, roundsSpun: 0, verdicts: { delivered: 1 } })
  })

  it('that the user cancels has failed', async () => {
    const { asked, human } = slowHuman()
    const session = await realSession({ steps: [ask()], human })
    const done = session.say('paint it')
    await asked
    session.agent.cancel({ kind: 'user' })
    await done

    expect((await traced(session)).asks).toMatchObject([{ inner: { kind: 'failed' }, verdict: 'failed' }])
  })

  it('without any questions has failed, with the code of the receipt', async () => {
    const session = await realSession({ steps: [ask({ questions: [] })] })
    await session.say('paint it')

    expect((await traced(session)).asks).toMatchObject([
      { inner: { kind: 'failed', code: 'EMPTY_QUESTIONS' }, outer: 'carries', context: 'carries', verdict: 'failed' },
    ])
  })

  it('that is asked in Code Mode without a program has failed as an unknown tool', async () => {
    const session = await realSession({ mode: 'code', steps: [ask()] })
    await session.say('paint it')

    expect((await traced(session)).asks).toMatchObject([{ inner: { kind: 'failed', code: 'UNKNOWN_TOOL' } }])
  })

  it('is told apart from the next one by order when the model repeats its call ids', async () => {
    let calls = 0
    const human = () => {
      calls += 1
      return calls === 1 ? Promise.reject(new Error('the window was closed')) : Promise.resolve(BLUE)
    }
    const session = await realSession({
      steps: [ask(COLOUR, 'x'), ask(COLOUR, 'x'), ask({ questions: [] }, 'x')],
      human,
    })
    await session.say('paint it')

    const { asks } = await traced(session)
    expect(asks.map(({ inner, verdict }) => [inner.kind, verdict])).toEqual([
      ['failed', 'failed'],
      ['answered', 'delivered'],
      ['failed', 'failed'],
    ])
    expect(asks[0]?.inner).toEqual({ kind: 'failed', code: 'UNKNOWN', message: 'the window was closed' })
  })
})

describe('a question in a program', () => {
  it('is delivered when the program returns the answer', async () => {
    const session = await realSession({ mode: 'code', steps: [program(ASK_AND_RETURN)] })
    await session.say('paint it')

    const [traceOfAsk] = (await traced(session)).asks
    expect(traceOfAsk).toMatchObject({ mode: 'nested', outer: 'carries', context: 'carries', verdict: 'delivered' })
    expect(traceOfAsk?.calls).toEqual({ root: 'call-0', parent: 'call-0', sub: 'call-0:code:1' })
  })

  it('is delivered when the program prints the answer', async () => {
    const code = 'console.log(await tools.ask_user_question(COLOUR))'
    const session = await realSession({ mode: 'code', steps: [program(code)] })
    await session.say('paint it')

    expect((await traced(session)).asks).toMatchObject([{ outer: 'carries', verdict: 'delivered' }])
  })

  it('is lost when the program returns something else, and the rounds that follow are counted', async () => {
    const session = await realSession({ mode: 'code', steps: [program(ASK_AND_DROP), { say: 'awaiting you' }] })
    await session.say('paint it')
    await session.goal(31)

    const { asks, summary } = await traced(session)
    expect(asks).toMatchObject([
      { inner: { kind: 'answered' }, outer: 'lacks', context: 'lacks', verdict: 'lost-in-program', roundsSpun: 31 },
    ])
    expect(summary.roundsSpun).toBe(31)
  })

  it('may be lost when the program returns the question with its options', async () => {
    const code = 'await tools.ask_user_question(COLOUR); return { asked: COLOUR }'
    const session = await realSession({ mode: 'code', steps: [program(code)] })
    await session.say('paint it')

    expect((await traced(session)).asks).toMatchObject([{ outer: 'carries', verdict: 'delivered?' }])
  })

  it('is lost in a goal round of the published driver, and the next rounds spin', async () => {
    const session = await realSession({ mode: 'code', driver: 'stock', steps: [program(ASK_AND_DROP)] })
    await session.goal(32)

    expect((await traced(session)).asks).toMatchObject([
      { turn: 1, goalRound: { round: 1 }, verdict: 'lost-in-program', roundsSpun: 31 },
    ])
  })

  it('is lost although the answer is a word of the goal prompt that the next request begins with', async () => {
    const session: RealSession = await realSession({
      mode: 'code',
      steps: [program(ASK_AND_DROP)],
      human: () => Promise.resolve({ answers: [{ id: 'colour', selected: [], custom: 'objective' }] }),
      setup: ctx =>
        ctx.on('tools/result', ({ name }) => {
          if (name === 'run_code') session.agent.cancel({ kind: 'user' })
        }),
    })
    await session.say('paint it')
    await session.goal(2)

    expect((await traced(session)).asks).toMatchObject([
      { context: 'lacks', verdict: 'lost-in-program', roundsSpun: 2 },
    ])
  })

  it('may reach the model when the user types it again before the next request', async () => {
    const session = await realSession({
      mode: 'code',
      steps: [program(ASK_AND_DROP)],
      setup: ctx =>
        ctx.on('tools/result', exec => {
          if (exec.name !== 'run_code') return
          exec.agent?.steer(
            createUserMessage({ content: [{ type: 'text', text: 'I said: Blue!' }], source: { kind: 'user' } }),
          )
        }),
    })
    await session.say('paint it')

    expect((await traced(session)).asks).toMatchObject([{ outer: 'lacks', context: 'carries', verdict: 'delivered?' }])
  })

  it('is delivered by the write-back that the program did not need to know of', async () => {
    const session = await realSession({ mode: 'code', steps: [program(ASK_AND_DROP)], tool: 'ours' })
    await session.say('paint it')

    expect((await traced(session)).asks).toMatchObject([
      { outer: 'lacks', context: 'carries', writtenBack: true, verdict: 'delivered-by-write-back' },
    ])
  })

  it('is delivered by its write-back for each of two parallel asks', async () => {
    const code = 'await Promise.all([tools.ask_user_question(COLOUR), tools.ask_user_question(COLOUR)])'
    const session = await realSession({ mode: 'code', steps: [program(code)], tool: 'ours' })
    await session.say('paint it')

    const { asks } = await traced(session)
    expect(asks.map(({ calls, verdict }) => [calls.sub, verdict])).toEqual([
      ['call-0:code:1', 'delivered-by-write-back'],
      ['call-0:code:2', 'delivered-by-write-back'],
    ])
  })

  it('awaits the next request while its write-back waits in the inbox of a cancelled turn', async () => {
    const session: RealSession = await realSession({
      mode: 'code',
      steps: [program(ASK_AND_DROP)],
      tool: 'ours',
      setup: ctx =>
        ctx.on('tools/result', ({ name }) => {
          if (name === 'run_code') session.agent.cancel({ kind: 'user' }, { keepInbox: true })
        }),
    })
    await session.say('paint it')
    expect((await traced(session)).asks).toMatchObject([{ context: 'no-request-yet', verdict: 'awaiting-request' }])

    await session.say('go on')
    expect((await traced(session)).asks).toMatchObject([{ context: 'carries', verdict: 'delivered-by-write-back' }])
  })

  it('has failed when the call was aborted with its turn, though its answer came after that', async () => {
    const session: RealSession = await realSession({
      mode: 'code',
      steps: [program(ASK_AND_DROP)],
      tool: 'ours',
      human: () => {
        session.agent.cancel({ kind: 'user' })
        return Promise.resolve(BLUE)
      },
    })
    await session.say('paint it')
    await session.say('go on')

    expect((await traced(session)).asks).toMatchObject([
      { inner: { kind: 'failed', code: 'ABORTED' }, writtenBack: false, verdict: 'failed' },
    ])
  })

  it('is lost when the turn is cancelled after it and nothing brings the answer back', async () => {
    const session: RealSession = await realSession({
      mode: 'code',
      steps: [program(ASK_AND_DROP)],
      setup: ctx =>
        ctx.on('tools/result', ({ name }) => {
          if (name === 'run_code') session.agent.cancel({ kind: 'user' })
        }),
    })
    await session.say('paint it')

    expect((await traced(session)).asks).toMatchObject([{ context: 'no-request-yet', verdict: 'lost-in-program' }])
  })

  it('has failed when nobody is there to ask, in the words of the seam', async () => {
    const session = await realSession({
      mode: 'code',
      steps: [program(ASK_AND_RETURN)],
      human: undefined,
    })
    await session.say('paint it')

    expect((await traced(session)).asks).toMatchObject([
      { inner: { kind: 'failed', code: 'NO_PROVIDER' }, outer: 'carries', context: 'carries', verdict: 'failed' },
    ])
  })

  it('whose receipt was replaced has an unknown end', async () => {
    const session = await realSession({
      mode: 'code',
      steps: [program(ASK_AND_DROP)],
      setup: ctx => ctx.on('tools/code-dispatch-log', () => Promise.resolve([{ type: 'text', text: 'spilled' }])),
    })
    await session.say('paint it')

    expect((await traced(session)).asks).toMatchObject([
      { inner: { kind: 'unreadable', message: 'spilled' }, verdict: 'unknown' },
    ])
  })
})

describe('a question that its program does not wait for', () => {
  const ASK_AND_LEAVE = 'tools.ask_user_question(COLOUR).catch(() => {}); await new Promise(go => setTimeout(go, 50));'

  it.each([
    ['published', undefined, 'lacks'],
    ['our', 'ours', 'carries'],
  ] as const)('is withdrawn, and only %s question tool tells the model', async (_, tool, context) => {
    const { human } = slowHuman()
    const session = await realSession({
      mode: 'code',
      steps: [program(`${ASK_AND_LEAVE} return "went on"`)],
      human,
      ...(tool === undefined ? {} : { tool }),
    })
    await session.say('paint it')

    const [withdrawn] = (await traced(session)).asks
    expect(withdrawn).toMatchObject({ inner: { kind: 'failed' }, outer: 'lacks', context, verdict: 'withdrawn' })
    expect(withdrawn?.writtenBack).toBe(tool === 'ours')
    expect(withdrawn?.waitedMs).toBeGreaterThan(0)
    expect(withdrawn?.evidence.context?.matches[0]?.reason).toBe(tool === 'ours' ? 'withdrawn-notice' : 'absent')
  })

  it('is withdrawn also when the program throws', async () => {
    const { human } = slowHuman()
    const session = await realSession({
      mode: 'code',
      steps: [program(`${ASK_AND_LEAVE} throw new Error("boom")`)],
      human,
    })
    await session.say('paint it')

    expect((await traced(session)).asks).toMatchObject([{ inner: { kind: 'failed' }, verdict: 'withdrawn' }])
  })

  it('has failed when the user cancels the turn meanwhile', async () => {
    const { asked, human } = slowHuman()
    const session = await realSession({ mode: 'code', steps: [program(ASK_AND_RETURN)], human })
    const done = session.say('paint it')
    await asked
    session.agent.cancel({ kind: 'user' })
    await done

    expect((await traced(session)).asks).toMatchObject([{ verdict: 'failed' }])
  })
})

describe('a native question', () => {
  it('whose result a policy replaced has an unknown end', async () => {
    const session = await realSession({
      steps: [ask()],
      setup: ctx =>
        ctx.on('tools/post-execute', ({ name }, _result, next) =>
          name === 'ask_user_question'
            ? Promise.resolve({ kind: 'accept', content: [{ type: 'text', text: '[removed by policy]' }] })
            : next(),
        ),
    })
    await session.say('paint it')

    expect((await traced(session)).asks).toMatchObject([
      { inner: { kind: 'unreadable', message: '[removed by policy]' }, verdict: 'unknown' },
    ])
  })
})

describe('a question that nobody is asked', () => {
  it('is denied by the questions seam for a child agent', async () => {
    const session = await realSession({ steps: [] })
    const { agent: child } = await session.agent.ctx.agents.create({
      sessionId: SessionId('child'),
      agentOptions: { provider: 'scripted', model: 'm' },
    })
    session.model.steps.push(ask())
    child.followup(createUserMessage({ content: [{ type: 'text', text: 'help' }], source: { kind: 'user' } }))
    await child.whenIdle()
    await session.ctx.sessions.flush(child.session)

    const { report } = await traceLog(logUnder(session.root))
    expect(report.asks).toMatchObject([{ inner: { kind: 'denied', rule: 'delegated-caller' }, verdict: 'denied' }])
  })

  // The driver tells the model of a denial that the program swallowed.
  it.each([
    ['native', 'carries'],
    ['code', 'carries'],
    // The driver tells the model past the program that swallowed it.
    ['swallowed', 'lacks'],
  ] as const)('is denied by the guard in a goal round: %s', async (kind, outer) => {
    const swallow = 'try { await tools.ask_user_question(COLOUR) } catch { return "went on" }'
    const steps = { native: ask(), code: program(ASK_AND_RETURN), swallowed: program(swallow) }
    const asked: unknown[] = []
    const session = await realSession({
      mode: kind === 'native' ? 'native' : 'code',
      steps: [steps[kind]],
      human: request => {
        asked.push(request)
        return Promise.resolve(BLUE)
      },
    })
    await session.goal(2)

    const { asks, summary } = await traced(session)
    expect(asked).toEqual([])
    expect(asks).toMatchObject([
      {
        mode: kind === 'native' ? 'native' : 'nested',
        goalRound: { round: 1 },
        inner: { kind: 'denied', rule: 'goal-round', message: GOAL_ROUND_ASK_DENIAL },
        outer,
        context: 'carries',
        verdict: 'denied',
        roundsSpun: 0,
      },
    ])
    expect(summary.verdicts).toMatchObject({ denied: 1, 'lost-in-program': 0 })
  })

  it('is denied by the guard even after an approval let it pass', async () => {
    const session = await realSession({
      mode: 'code',
      steps: [program(ASK_AND_RETURN)],
      setup: ctx => {
        ctx.on('tools/pre-execute', ({ name }, next) =>
          name === 'ask_user_question' ? Promise.resolve({ kind: 'ask' }) : next(),
        )
        ctx.on('approval/request', () => Promise.resolve('allowed-once'))
      },
    })
    await session.goal(1)

    expect((await traced(session)).asks).toMatchObject([{ inner: { kind: 'denied', rule: 'goal-round' } }])
  })

  it.each([
    ['rejected', 'approval-rejected'],
    ['cancelled', 'approval-cancelled'],
    ['unavailable', 'approval-unavailable'],
  ] as const)('is denied when the approval is %s', async (outcome, rule) => {
    const session = await realSession({
      mode: 'code',
      steps: [program(ASK_AND_RETURN)],
      setup: ctx => {
        ctx.on('tools/pre-execute', ({ name }, next) =>
          name === 'ask_user_question' ? Promise.resolve({ kind: 'ask' }) : next(),
        )
        ctx.on('approval/request', () => Promise.resolve(outcome))
      },
    })
    await session.say('paint it')

    expect((await traced(session)).asks).toMatchObject([{ inner: { kind: 'denied', rule }, verdict: 'denied' }])
  })
})

describe('a question when the process dies', () => {
  it('is stalled while it waits, and after crash repair', async () => {
    const { asked, human, answer } = slowHuman()
    const session = await realSession({ mode: 'code', steps: [program(ASK_AND_RETURN)], human })
    const done = session.say('paint it')
    await asked
    await session.flush()
    const crashed = temporaryFolder()
    cpSync(session.root, crashed, { recursive: true })
    answer()
    await done

    const before = await traceLog(logUnder(crashed))
    expect(before.report.asks).toMatchObject([
      { inner: { kind: 'pending', reason: 'NO_RECEIPT' }, outer: 'missing', verdict: 'stalled' },
    ])

    const resumed = await realSession({ steps: [], root: crashed, resume: 's1' })
    await resumed.say('go on')
    expect((await traced(resumed)).asks).toMatchObject([
      { inner: { kind: 'pending', reason: 'TOOL_OUTCOME_UNKNOWN' }, outer: 'missing', context: 'lacks' },
    ])
  })

  it.each([
    ['after the call', 'tool/call', 'TOOL_OUTCOME_UNKNOWN'],
    ['before the call', 'assistant/message', 'TOOL_NOT_STARTED'],
  ])('is stalled when the log ends right %s', async (_, lastType, reason) => {
    const session = await realSession({ steps: [ask()], compression: 'none' })
    await session.say('paint it')
    const path = await session.flush()
    const lines = readFileSync(path, 'utf8').split('\n')
    const end = lines.findIndex(line => line.includes(`"type":"${lastType}"`))
    const crashed = temporaryFolder()
    cpSync(session.root, crashed, { recursive: true })
    writeFileSync(logUnder(crashed), `${lines.slice(0, end + 1).join('\n')}\n`)

    const resumed = await realSession({ steps: [], root: crashed, resume: 's1', compression: 'none' })
    await resumed.say('go on')
    expect((await traced(resumed)).asks).toMatchObject([
      { mode: 'native', inner: { kind: 'pending', reason }, outer: 'missing', context: 'lacks', verdict: 'stalled' },
    ])
  })
})

it('a log of one file and one of zstd frames give the same trace', async () => {
  const verdicts = []
  for (const compression of ['none', 'zstd'] as const) {
    const session = await realSession({
      mode: 'code',
      steps: [program(ASK_AND_DROP), program(ASK_AND_RETURN)],
      compression,
    })
    await session.say('paint it')
    await waitUntil(() => session.agent.status === 'idle')
    verdicts.push((await traced(session)).asks.map(({ verdict, outer, context }) => [verdict, outer, context]))
  }
  expect(verdicts[0]).toEqual(verdicts[1])
})
