/** Whatever a program does with its answers, and however its run ends, the model gets each of them once, in order. */
import fc from 'fast-check'
import { afterEach, expect, it } from 'vitest'
import type { AskUserQuestionAnswer } from '@deepseek-ai/dsh-user-questions'
import {
  answersIn,
  disposeHarnesses,
  receipts,
  requestTexts,
  runCode,
  runTurn,
  startHarness,
  until,
  userSays,
  type Reply,
} from './harness.ts'

afterEach(disposeHarnesses)

const ask = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('answer'), text: fc.string({ unit: 'binary', maxLength: 8 }) }),
  },
  fc.record({ kind: fc.constantFrom('skip', 'fail', 'nonsense'), text: fc.constant('') }),
)

const scenario = fc.record({
  asks: fc.array(ask, { minLength: 1, maxLength: 4 }),
  parallel: fc.boolean(),
  ending: fc.constantFrom('return', 'throw', 'exit', 'cancel', 'cancel keeping the inbox'),
})

type Ask = typeof ask extends fc.Arbitrary<infer T> ? T : never

/** The program: it catches what fails, and lets every answer fall. */
function program(count: number, parallel: boolean, ending: string): string {
  const one = (id: number) =>
    `tools.ask_user_question({ questions: [{ id: 'q${id}', question: '?' }] }).catch(() => {})`
  const all = Array.from({ length: count }, (_, id) => one(id))
  const asking = parallel ? `await Promise.all([${all.join(', ')}])` : all.map(each => `await ${each}`).join('; ')
  const endings: Record<string, string> = {
    return: 'return "asked"',
    throw: 'throw new Error("broken")',
    exit: 'process.exit(0)',
  }
  return `${asking}; ${endings[ending] ?? 'await new Promise(() => {})'}`
}

function answerTo(id: string, { kind, text }: Ask): AskUserQuestionAnswer {
  return { answers: [{ id, selected: [], ...(kind === 'answer' && { custom: text }) }] }
}

/** What is written back of it. */
function told(given: AskUserQuestionAnswer) {
  return { answers: given.answers.map(item => ({ question: '?', ...item })) }
}

function replyTo(each: Ask): Reply {
  if (each.kind === 'fail') return () => Promise.reject(new Error('the UI is gone'))
  if (each.kind === 'nonsense') return () => Promise.resolve('yes' as never)
  return ({ questions }) => Promise.resolve(answerTo(questions[0]?.id ?? '', each))
}

it('no answer is lost, none is invented', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ asks, parallel, ending }) => {
      const { model, human, createAgent, dispose } = await startHarness({ mode: 'code' })
      const agent = await createAgent('s')
      human.replies.push(...asks.map(replyTo))
      model.script.push(runCode(program(asks.length, parallel, ending)))
      agent.followup(userSays('go'))
      if (ending.startsWith('cancel')) {
        await until(() => receipts(agent).length === asks.length && agent.status === 'running')
        agent.cancel({ kind: 'user' }, { keepInbox: ending !== 'cancel' })
      }
      await agent.whenIdle()
      await runTurn(agent, 'what now?')

      const expected = asks.flatMap((each, id) =>
        each.kind === 'answer' || each.kind === 'skip' ? [told(answerTo(`q${id}`, each))] : [],
      )
      expect(answersIn(requestTexts(model.requests.at(-1)))).toEqual(expected)
      await dispose()
    }),
    { numRuns: Number(process.env.HUNT_RUNS ?? 25) },
  )
})
