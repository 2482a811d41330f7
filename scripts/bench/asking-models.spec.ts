/** What the bench's table of models shows, held to the driver of this tree, and to the published one beside it. */
import { expect, it } from 'vitest'
import * as stock from 'stock-goal-round-driver'
import { ASKING_MODELS, playModel, type AskingModel } from './asking-models.ts'

const UNANSWERED =
  /^question-unanswered: The goal needs an answer: "Which database shall the service use\?" \(PostgreSQL \/ SQLite\)\./

const EXPECTED: Record<string, [rounds: number, requests: number, end: RegExp]> = {
  'obeys: takes a default (native)': [1, 5, /^complete$/],
  'obeys: takes a default (code)': [1, 3, /^complete$/],
  'ignores the denial (native)': [3, 6, UNANSWERED],
  'ignores the denial (code)': [3, 6, UNANSWERED],
  'swallows the denial (code)': [3, 6, UNANSWERED],
  'may not block (native)': [3, 12, UNANSWERED],
  'asks, then looks (native)': [10, 30, UNANSWERED],
  'asks, then looks (code)': [10, 20, UNANSWERED],
  'loops on it (native)': [1, 20, UNANSWERED],
  'loops on it (code)': [1, 1, UNANSWERED],
  'asks in its text (native)': [256, 256, /^round-limit/],
}

const nameOf = ({ name, mode }: AskingModel) => `${name} (${mode})`

it.each(ASKING_MODELS.map(model => [nameOf(model), model] as const))(
  'the model that %s ends where it should, whether a human is there or not',
  async (name, model) => {
    const [rounds, requests, end] = EXPECTED[name] ?? expect.fail('not expected')
    for (const human of ['answers', 'absent'] as const) {
      const run = await playModel(model, human)
      expect(run).toMatchObject({ rounds, requests, questions: 0 })
      expect(run.end).toMatch(end)
    }
  },
)

it('has a row for each expectation', () => {
  expect(ASKING_MODELS.map(nameOf)).toEqual(Object.keys(EXPECTED))
})

it('spins to the cap on the published driver where a human answers, and hangs where nobody does', async () => {
  const model = ASKING_MODELS.find(candidate => nameOf(candidate) === 'ignores the denial (native)')
  if (model === undefined) expect.fail('no such model')
  const spun = await playModel({ ...model, maxGoalRounds: 32 }, 'answers', stock)
  expect(spun).toMatchObject({ rounds: 32, requests: 64, questions: 32 })
  expect(spun.end).toMatch(/^round-limit/)
  const hung = await playModel(model, 'absent', stock)
  expect(hung).toMatchObject({ rounds: 1, requests: 1, questions: 1, end: 'waits for an answer' })
  const ours = await playModel(model, 'answers')
  expect(ours.characters).toBeLessThan(spun.characters)
})
