/** Runs the examples of docs/asking-a-human.md, in their order, as the body of one plugin. */
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { compileFunction } from 'node:vm'
import { afterEach, expect, it } from 'vitest'
import { CallId } from '@deepseek-ai/dsh-llm'
import { defineTool } from '@deepseek-ai/dsh-tools'
import { ApprovalService } from '@deepseek-ai/dsh-user-approval'
import type { AskUserQuestionRequest } from '@deepseek-ai/dsh-user-questions'
import { callTool, disposeHarnesses, results, runTurn, select, startHarness, type Harness } from './harness.ts'

const page = readFileSync(join(import.meta.dirname, '../../../../docs/asking-a-human.md'), 'utf8')
const examples = [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code = '']) => code)
const [gate = '', approver = '', question = '', answerer = '', guard = '', review = ''] = examples

afterEach(disposeHarnesses)

/** What the examples take for granted: a UI that owns every agent and shows its dialogs, and a calendar. */
class Surroundings {
  readonly confirmed: string[] = []
  says = true
  isFrozen = false
  private readonly harness: Harness

  constructor(harness: Harness) {
    this.harness = harness
  }

  /** Run one example, and read a variable of it. */
  run(code: string, result = 'undefined'): Promise<unknown> {
    const { ctx, human } = this.harness
    const ui = {
      owns: () => true,
      confirm: (text: string) => (this.confirmed.push(text), Promise.resolve(this.says)),
      answer: (request: AskUserQuestionRequest) => human.ask(request),
    }
    const calendar = { frozen: () => this.isFrozen }
    const body = stripTypeScriptTypes(`async function example() {\n${code}\nreturn ${result}\n}`)
    const parameters = ['ctx', 'defineTool', 'ui', 'calendar']
    const example = compileFunction(`${body}\nreturn example()`, parameters) as (...args: unknown[]) => Promise<unknown>
    return example(ctx, defineTool, ui, calendar)
  }
}

async function start() {
  const harness = await startHarness({ answerer: 'none' })
  await harness.ctx.plugin(ApprovalService, {})
  harness.ctx.tools.register(
    defineTool({
      name: 'deploy',
      description: 'Deploy.',
      parameters: {},
      output: { schema: { type: 'null' }, render: () => [{ type: 'text', text: 'deployed' }] },
      execute: () => Promise.resolve(null),
    }),
  )
  const agent = await harness.createAgent('root')
  return { ...harness, agent, surroundings: new Surroundings(harness) }
}

it('has the six examples', () => {
  expect(examples).toHaveLength(6)
})

it('approval gate: a person is asked, and yes or no is what happens', async () => {
  const { model, agent, surroundings } = await start()
  await surroundings.run(gate)
  await surroundings.run(approver)
  for (const says of [true, false]) {
    surroundings.says = says
    model.script.push(callTool('deploy', {}))
    await runTurn(agent)
  }

  expect(surroundings.confirmed).toEqual(Array(2).fill('deploy: it changes production'))
  expect(results(agent).map(({ text }) => text)).toEqual(['deployed', 'Error: the user rejected tool "deploy"'])
})

it('user question: the tool returns what the person picked', async () => {
  const { model, human, agent, surroundings } = await start()
  await surroundings.run(question)
  await surroundings.run(answerer)
  human.replies.push(select('SQLite'), select(), ({ questions }) =>
    Promise.resolve({ answers: questions.map(({ id }) => ({ id, selected: [], custom: 'a text file' })) }),
  )
  for (let turn = 0; turn < 3; turn++) {
    model.script.push(callTool('pick_database', {}))
    await runTurn(agent)
  }

  expect(results(agent).map(({ text }) => text)).toEqual(['SQLite', 'no preference', 'a text file'])
})

it('guard: the rule stands, whoever says yes', async () => {
  const { ctx, surroundings } = await start()
  await surroundings.run(guard)
  const deploy = () =>
    ctx.tools.execute({
      callId: CallId('call'),
      name: 'deploy',
      arguments: {},
      signal: new AbortController().signal,
    })

  expect(await deploy()).toMatchObject({ isError: false })
  surroundings.isFrozen = true
  expect(await deploy()).toMatchObject({
    error: { message: 'deployments are frozen; say so and go on with other work' },
  })
})

it('plan review: the answer is a label, and the approving one approves', async () => {
  const { ctx, human, surroundings } = await start()
  ctx.userQuestions.registerProvider(human)
  human.replies.push(select('Carry it out'), select('Keep planning'))

  expect(await surroundings.run(review, 'approved')).toBe(true)
  expect(await surroundings.run(review, 'approved')).toBe(false)
})
