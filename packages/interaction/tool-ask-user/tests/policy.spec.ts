/**
 * What a policy keeps from the model on the published tool, ours keeps from it, too: every kind of policy, on the question
 * and on the program, in both orders. The person's answer is the secret.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Context } from '@deepseek-ai/cordis'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import type { JsonValue } from '@deepseek-ai/dsh-session'
import * as stock from 'stock-tool-ask-user'
import * as ours from '../src/index.ts'
import {
  answersIn,
  ask,
  callTool,
  disposeHarnesses,
  requestTexts,
  results,
  runCode,
  runTurn,
  select,
  startHarness,
  textOf,
} from './harness.ts'

afterEach(disposeHarnesses)

const SECRET = 'sk-4711'
const hidden: ContentBlock[] = [{ type: 'text', text: 'hidden' }]
const hiddenValue: Record<string, JsonValue> = {
  run_code: { logs: [], result: 'hidden' },
  ask_user_question: { answers: [{ id: 'q', selected: ['hidden'] }] },
}

type Policy = (ctx: Context, names: readonly string[], prepend: boolean) => void

function onResult(decide: (name: string, text: string) => object): Policy {
  return (ctx, names, prepend) =>
    ctx.on(
      'tools/post-execute',
      async (exec, result, next) => {
        const decision = await next()
        if (!names.includes(exec.name)) return decision
        const content = decision.kind === 'accept' ? (decision.content ?? result.content) : decision.feedback
        return { ...decision, ...decide(exec.name, textOf(content)) }
      },
      { prepend },
    )
}

const policies: Record<string, Policy> = {
  'a listener that scrubs the content': onResult((_name, text) => ({
    content: [{ type: 'text', text: text.replaceAll(SECRET, '***') }],
  })),
  'a listener that replaces the content': onResult(() => ({ content: hidden })),
  'a listener that replaces the value': onResult(name => ({ value: hiddenValue[name] })),
  'a listener that blocks': onResult(() => ({ kind: 'block', feedback: hidden })),
  'a listener that throws': onResult(() => {
    throw new Error('hidden')
  }),
  'a wrapper that replaces the result': (ctx, names, prepend) =>
    ctx.on(
      'tools/execute',
      async (exec, next) => {
        const result = await next()
        const value = hiddenValue[exec.name]
        return names.includes(exec.name) && value !== undefined ? { isError: false, value, content: hidden } : result
      },
      { prepend },
    ),
  'a wrapper that throws': (ctx, names, prepend) =>
    ctx.on(
      'tools/execute',
      async (exec, next) => {
        const result = await next()
        if (names.includes(exec.name)) throw new Error('hidden')
        return result
      },
      { prepend },
    ),
}

const places = {
  'the question': ['ask_user_question'],
  'the program': ['run_code'],
  both: ['ask_user_question', 'run_code'],
}

const cells = Object.keys(policies).flatMap(policy =>
  (Object.keys(places) as (keyof typeof places)[]).flatMap(place =>
    [true, false].map(prepend => ({ policy, place, order: prepend ? 'prepended' : 'appended', prepend })),
  ),
)

interface Cell {
  readonly policy?: string
  readonly place?: keyof typeof places
  readonly prepend?: boolean
}

/** One turn in which the model asks, and where the secret is afterwards. */
async function run(tool: typeof ours | typeof stock, program: string | undefined, cell: Cell) {
  const harness = await startHarness({ mode: program === undefined ? 'native' : 'code', tool })
  const { ctx, model, human, createAgent } = harness
  const agent = await createAgent('s')
  const { policy = '', place = 'both', prepend = false } = cell
  policies[policy]?.(ctx, places[place], prepend)
  human.replies.push(select(SECRET))
  const question = { questions: [{ id: 'q', question: '?' }] }
  model.script.push(program === undefined ? callTool('ask_user_question', question) : runCode(program))
  await runTurn(agent)

  expect(human.requests).toHaveLength(1)
  expect(model.requests).toHaveLength(2)
  const texts = requestTexts(model.requests.at(-1))
  return {
    inRequest: texts.some(text => text.includes(SECRET)),
    inLog: JSON.stringify(agent.session.events).includes(SECRET),
    outer: results(agent)[0]?.text,
    writtenBack: answersIn(texts),
  }
}

const returning = `try { return ${ask()} } catch (error) { return error.message }`
const throwingAway = `try { ${ask()} } catch {} return "asked"`

describe('a program that returns the answer', () => {
  it.each(cells)('$policy, on $place, $order: what the published tool hides is hidden', async cell => {
    const published = await run(stock, returning, cell)
    const here = await run(ours, returning, cell)

    expect(here.outer).toBe(published.outer)
    expect(here.inRequest && !published.inRequest).toBe(false)
    expect(here.inLog && !published.inLog).toBe(false)
  })

  it('without a policy, both show it', async () => {
    expect(await run(stock, returning, {})).toMatchObject({ inRequest: true, inLog: true })
    expect(await run(ours, returning, {})).toMatchObject({ inRequest: true, inLog: true })
  })
})

describe('a program that throws the answer away', () => {
  const onQuestion = cells.filter(({ place }) => place !== 'the program')

  it.each(onQuestion)('$policy, on $place, $order: what a direct call hides is hidden', async cell => {
    const direct = await run(stock, undefined, cell)
    const published = await run(stock, throwingAway, cell)
    const here = await run(ours, throwingAway, cell)

    expect(direct.inRequest).toBe(false)
    expect(here.inRequest).toBe(false)
    expect(here.inLog).toBe(published.inLog)
  })

  const onProgram = cells.filter(({ place }) => place === 'the program')

  it.each(onProgram)('$policy, on $place, $order: the answer is told unless the harness keeps nothing', async cell => {
    const here = await run(ours, throwingAway, cell)

    expect(here.inRequest).toBe(!cell.policy.endsWith('throws'))
  })
})
