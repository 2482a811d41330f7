/** A question that its program left pending: the model is told that it was withdrawn. */
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { AskUserQuestionAnswer } from '@deepseek-ai/dsh-user-questions'
import {
  ask,
  disposeHarnesses,
  noReply,
  parseWriteBack,
  receipts,
  requestTexts,
  results,
  runCode,
  runTurn,
  select,
  startHarness,
  until,
  userSays,
  type Element,
  type Reply,
} from './harness.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'withdrawn-'))
})

afterEach(async () => {
  vi.useRealTimers()
  await disposeHarnesses()
  await rm(folder, { recursive: true, force: true })
})

const note =
  'Withdrawn unanswered: the program ended while the user was being asked. Ask again, and await the answer, if you still need it.'

/** One question without `await`, caught. */
const pending = (id: string) => `${ask(id).replace(/^await /, '')}.catch(() => {})`

/** Program text that goes on when the question is on the screen. */
function onceShown(): string {
  const flag = JSON.stringify(join(folder, 'shown'))
  return `const { existsSync } = await import('node:fs'); while (!existsSync(${flag})) await new Promise(go => setTimeout(go, 5))`
}

/** A reply that never comes, to a question on the screen. */
const shown: Reply = request => {
  const pending = noReply(request)
  writeFileSync(join(folder, 'shown'), '')
  return pending
}

async function start(code: string, ...replies: Reply[]) {
  const harness = await startHarness({ mode: 'code' })
  harness.human.replies.push(...replies)
  harness.model.script.push(runCode(code))
  const agent = await harness.createAgent('s')
  const told = (): Element[] => requestTexts(harness.model.requests.at(-1)).flatMap(text => parseWriteBack(text) ?? [])
  return { ...harness, agent, told }
}

function withdrawn(id: string) {
  const shownMs = expect.any(Number) as number
  return {
    name: 'user_question_withdrawn',
    call: expect.stringMatching(/:code:1$/) as string,
    body: { questions: [{ question: 'Which one?', id }], shownMs, note },
  }
}

it('a question that the program does not await', async () => {
  const { agent, human, told } = await start(`${pending('q')}; ${onceShown()}; return "done"`, shown)
  await runTurn(agent)

  expect(human.requests[0]?.signal?.reason).toBe('run_code settled')
  expect(receipts(agent)).toEqual([
    { isError: true, text: 'Error: ask_user_question was aborted before the user answered' },
  ])
  expect(results(agent)).toMatchObject([{ isError: false, text: 'done' }])
  expect(told()).toEqual([withdrawn('q')])
})

it('a question that lost a race', async () => {
  const race = `await Promise.race([${pending('q')}, (async () => { ${onceShown()} })()])`
  const { agent, told } = await start(`${race}; return "too slow"`, shown)
  await runTurn(agent)

  expect(told()).toEqual([withdrawn('q')])
})

it('a question whose program its wall-clock limit stops, with the time for which it was shown', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const { agent, human, told } = await start(`${ask()}; return "asked"`, noReply)
  const before = performance.now()
  agent.followup(userSays('go'))
  await until(() => human.requests.length === 1)
  await vi.advanceTimersByTimeAsync(600_000)
  await agent.whenIdle()

  expect(results(agent)[0]?.text).toContain('code run failed (timeout): wall-clock ceiling reached (600000ms)')
  expect(told()).toMatchObject([withdrawn('q')])
  const { shownMs } = told()[0]?.body as { shownMs: number }
  expect(shownMs).toBeGreaterThan(590_000)
  expect(shownMs).toBeLessThanOrEqual(performance.now() - before)
})

it('of two questions in a queue, only the one that was shown', async () => {
  const { agent, human, told } = await start(`${pending('a')}; ${pending('b')}; ${onceShown()}`, shown)
  await runTurn(agent)

  expect(human.requests).toHaveLength(1)
  expect(told()).toEqual([withdrawn('a')])
})

it('an answer before it is told, too, in the order of the questions', async () => {
  const { agent, told } = await start(`${ask('a')}; ${pending('b')}; ${onceShown()}`, select('Blue'), shown)
  await runTurn(agent)

  expect(told().map(({ name, call }) => [name, String(call).replace(/^.*:code/, '')])).toEqual([
    ['user_answer', ':1'],
    ['user_question_withdrawn', ':2'],
  ])
})

it('an answer of a UI that ignored the withdrawal comes too late: the question was withdrawn', async () => {
  const late = Promise.withResolvers<AskUserQuestionAnswer>()
  const { agent, human, told } = await start(`${pending('q')}; ${onceShown()}`, request => {
    request.signal?.addEventListener('abort', () => {
      late.resolve({ answers: [{ id: 'q', selected: ['Blue'] }] })
    })
    writeFileSync(join(folder, 'shown'), '')
    return late.promise
  })
  await runTurn(agent)

  expect(human.requests).toHaveLength(1)
  expect(receipts(agent)).toEqual([{ isError: true, text: 'Error: tool call aborted' }])
  expect(told()).toEqual([withdrawn('q')])
})

it('nothing, when the user cancelled the turn', async () => {
  const { agent, human, told } = await start(`${ask()}; return "asked"`, noReply)
  agent.followup(userSays('go'))
  await until(() => human.requests.length === 1)
  agent.cancel({ kind: 'user' })
  await agent.whenIdle()
  await runTurn(agent, 'what now?')

  expect(told()).toEqual([])
})

it('nothing of a question that a wrapper kept from the user', async () => {
  const { ctx, agent, human, told } = await start(`${pending('q')}; ${onceShown()}`)
  ctx.on(
    'tools/execute',
    async (exec, next) => {
      if (exec.name !== 'ask_user_question') return next()
      writeFileSync(join(folder, 'shown'), '')
      await new Promise(resolve => {
        exec.signal.addEventListener('abort', resolve)
      })
      return { isError: false, value: { answers: [] }, content: [] }
    },
    { prepend: true },
  )
  await runTurn(agent)

  expect(human.requests).toHaveLength(0)
  expect(receipts(agent)).toEqual([{ isError: true, text: 'Error: tool call aborted before dispatch' }])
  expect(told()).toEqual([])
})
