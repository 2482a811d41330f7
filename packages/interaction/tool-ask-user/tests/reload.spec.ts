/** The written-back answer is part of the session log: it is there after a reload, in its place. */
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Agent, AgentHandle } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import {
  agentOptions,
  ask,
  disposeHarnesses,
  eventsOf,
  isWriteBack,
  parseWriteBack,
  receipts,
  requestTexts,
  runCode,
  runTurn,
  startHarness,
  textOf,
  until,
  userSays,
  writtenBack,
  type Harness,
} from './harness.ts'

let folder: string
let sessions: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'write-back-'))
  sessions = join(folder, 'live')
})

afterEach(async () => {
  await disposeHarnesses()
  await rm(folder, { recursive: true, force: true })
})

const told = { name: 'user_answer', body: { answers: [{ question: 'Which one?', id: 'q', selected: ['Blue'] }] } }

function start(): Promise<Harness> {
  return startHarness({ mode: 'code', sessions })
}

/** The session as another process would find it in this folder. */
async function reload(root = sessions): Promise<{ harness: Harness; agent: Agent }> {
  const harness = await startHarness({ mode: 'code', sessions: root })
  return { harness, agent: await harness.resumeAgent('s') }
}

/** A program that got its answer and hangs: the message is still on its way. */
async function answeredAndHanging({ ctx, model }: Harness): Promise<AgentHandle> {
  model.script.push(runCode(`${ask()}; await new Promise(() => {})`))
  const handle = await ctx.agents.create({ sessionId: SessionId('s'), agentOptions })
  handle.agent.followup(userSays('go'))
  await until(() => receipts(handle.agent).length === 1)
  return handle
}

/** What a killed process leaves behind: the log as it was flushed, and no disposal. */
async function crash({ ctx }: Harness, agent: Agent): Promise<string> {
  await ctx.sessions.flush(agent.session)
  const copy = join(folder, 'copy')
  await cp(sessions, copy, { recursive: true })
  return copy
}

async function expectNextTurnStartsWithTheAnswer({
  harness,
  agent,
}: Awaited<ReturnType<typeof reload>>): Promise<void> {
  expect(agent.inbox.nextStep.filter(isWriteBack)).toHaveLength(1)
  await runTurn(agent, 'what now?')
  const texts = requestTexts(harness.model.requests.at(-1))
  const written = texts.findIndex(text => parseWriteBack(text) !== undefined)
  expect(parseWriteBack(texts[written])).toMatchObject(told)
  expect(texts.indexOf('what now?')).toBeGreaterThan(written)
}

describe('after a reload', () => {
  it('the message stands where it stood, and the next request has it', async () => {
    const first = await start()
    first.model.script.push(runCode(`${ask()}; return "asked"`))
    const agent = await first.createAgent('s')
    await runTurn(agent)
    const before = agent.session.deriveMessages()
    const logged = [...agent.session.events]
    await first.dispose()

    const second = await reload()
    expect(second.agent.session.events.slice(0, logged.length)).toEqual(logged)
    expect(second.agent.session.deriveMessages()).toEqual(before)
    await runTurn(second.agent, 'and now?')
    expect(second.harness.model.requests[0]?.messages.slice(0, before.length)).toEqual(before)
    expect(writtenBack(second.agent).map(({ content }) => parseWriteBack(textOf(content)))).toMatchObject([told])
  })

  it('a message that a cancelled turn left waiting enters the next turn first', async () => {
    const first = await start()
    const { agent } = await answeredAndHanging(first)
    agent.cancel({ kind: 'user' })
    await agent.whenIdle()

    await expectNextTurnStartsWithTheAnswer(await reload(await crash(first, agent)))
  })

  it('a message that the disposal of its agent caught on the way waits in the log', async () => {
    const first = await start()
    const handle = await answeredAndHanging(first)
    const { agent } = handle
    await handle.dispose()

    expect(eventsOf(agent, 'turn/end')).toMatchObject([{ reason: { kind: 'aborted', reason: { kind: 'disposed' } } }])
    await first.dispose()
    await expectNextTurnStartsWithTheAnswer(await reload())
  })
})

describe('lost', () => {
  it('a waiting message, when its agent is disposed: the inbox is cleared', async () => {
    const first = await start()
    const handle = await answeredAndHanging(first)
    const { agent } = handle
    agent.cancel({ kind: 'user' })
    await agent.whenIdle()
    await handle.dispose()
    await first.dispose()

    const second = await reload()
    expect(second.agent.inbox.nextStep).toEqual([])
    expect(receipts(second.agent)).toMatchObject([{ isError: false }])
  })

  it('a message on its way, when the whole process is disposed: its log is closed first', async () => {
    const first = await start()
    await answeredAndHanging(first)
    await first.dispose()

    const second = await reload()
    expect(second.agent.inbox.nextStep).toEqual([])
    expect(receipts(second.agent)).toMatchObject([{ isError: false }])
  })
})
