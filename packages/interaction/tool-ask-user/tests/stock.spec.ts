/** The 0.1.0 generation: what the published tool does, ours does too. */
import { afterEach, describe, expect, it } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { CallId } from '@deepseek-ai/dsh-llm'
import { SystemPrompt } from '@deepseek-ai/dsh-system-prompt'
import { ToolRuntime, type ToolExecutionInput } from '@deepseek-ai/dsh-tools'
import { UserQuestionService, type AskUserQuestionRequest } from '@deepseek-ai/dsh-user-questions'
import * as stock from 'stock-tool-ask-user'
import * as stockInvariant from 'stock-tool-ask-user/invariant'
import * as ours from '../src/index.ts'
import * as oursInvariant from '../src/invariant.ts'
import { ask, disposeHarnesses, receipts, requestTexts, results, runCode, runTurn, startHarness } from './harness.ts'

const contexts: Context[] = []

async function mount(plugin: typeof ours | typeof stock) {
  const ctx = new Context()
  contexts.push(ctx)
  await ctx.plugin(SystemPrompt)
  await ctx.plugin(ToolRuntime)
  await ctx.plugin(UserQuestionService)
  const fiber = await ctx.plugin(plugin)
  const seen: AskUserQuestionRequest[] = []
  const answerWith = (answer: unknown) =>
    ctx.userQuestions.registerProvider({
      ask: request => (seen.push(request), Promise.resolve(answer as never)),
    })
  const run = (args: unknown, more: Partial<ToolExecutionInput> = {}) =>
    ctx.tools.execute({
      callId: CallId('c'),
      name: 'ask_user_question',
      arguments: args,
      signal: new AbortController().signal,
      ...more,
    })
  return { ctx, fiber, seen, answerWith, run }
}

afterEach(async () => {
  await Promise.all(contexts.splice(0).map(ctx => ctx.fiber.dispose()))
})

/** The schemas as JSON, which keeps the order of the fields, with every description emptied. */
function withoutDescriptions(schemas: unknown): string {
  return JSON.stringify(schemas).replaceAll(/"description":"(?:[^"\\]|\\.)*"/g, '"description":""')
}

function descriptionsIn(schemas: unknown): string[] {
  return [...JSON.stringify(schemas).matchAll(/"description":"((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text)
}

const full = {
  id: 'a',
  question: 'Which one?',
  header: 'Pick',
  options: [{ label: 'X', description: 'first', more: 1 }, { label: 'Y' }],
  multi_select: true,
  detail: 'no field of the tool',
  intent: { kind: 'plan-review', approve: 'nothing' },
}

describe('the same as the published tool', () => {
  it('exports, but for the configuration, and services it needs', () => {
    expect(Object.keys(ours).sort()).toEqual(['Config', ...Object.keys(stock)].sort())
    expect([ours.name, ours.inject]).toEqual([stock.name, stock.inject])
    expect([oursInvariant.name, oursInvariant.inject]).toEqual([stockInvariant.name, stockInvariant.inject])
  })

  it('what the model sees of it, but for the descriptions', async () => {
    const [theirs, mine] = [await mount(stock), await mount(ours)]
    const definitionOf = ({ ctx }: typeof mine) => ctx.tools.get('ask_user_question')
    const bare = ({ ctx }: typeof mine) => withoutDescriptions(ctx.tools.schemas())

    expect(bare(mine)).toBe(bare(theirs))
    expect(definitionOf(mine)?.output.schema).toEqual(definitionOf(theirs)?.output.schema)
    expect(Object.keys(definitionOf(mine) ?? {})).toEqual(Object.keys(definitionOf(theirs) ?? {}))
  })

  it.each<[string, unknown]>([
    ['every field', { questions: [full], more: 1 }],
    ['the least', { questions: [{ id: 'a', question: '?' }] }],
    ['empty fields', { questions: [{ id: 'a', question: '', header: '', options: [], multi_select: false }] }],
  ])('what it asks with %s', async (_name, args) => {
    const [theirs, mine] = [await mount(stock), await mount(ours)]
    for (const each of [theirs, mine]) each.answerWith({ answers: [{ id: 'a', selected: ['X'], custom: 'c' }] })
    const [expected, result] = [await theirs.run(args), await mine.run(args)]

    expect(result).toEqual(expected)
    expect(mine.seen).toStrictEqual(theirs.seen)
    expect(Object.keys(mine.seen[0] ?? {})).toEqual(['questions', 'signal'])
  })

  it.each<[string, unknown]>([
    ['labels', { answers: [{ id: 'a', selected: ['X', 'Y'] }] }],
    ['fields in another order, and more of them', { by: 1, answers: [{ custom: 'c', at: 1, selected: [], id: 'a' }] }],
    ['custom that is undefined', { answers: [{ id: 'a', selected: [], custom: undefined }] }],
    ['no items', { answers: [] }],
    ['fields of the wrong type', { answers: [{ id: 'a', selected: [1], custom: 3 }] }],
    ['an id that nobody asked for', { answers: [{ id: 'other', selected: ['X'] }] }],
    ['lone surrogates', { answers: [{ id: 'a', selected: ['\ud800'], custom: '\udfff' }] }],
    ['control characters and markup', { answers: [{ id: 'a', selected: ['\u0007\u009b</user_answer>'] }] }],
    ['1 MB', { answers: [{ id: 'a', selected: [], custom: 'x'.repeat(1_000_000) }] }],
  ])('what it returns for %s', async (_name, answer) => {
    const [theirs, mine] = [await mount(stock), await mount(ours)]
    for (const each of [theirs, mine]) each.answerWith(answer)

    expect(await mine.run({ questions: [full] })).toEqual(await theirs.run({ questions: [full] }))
  })

  it.each<[string, unknown, Partial<ToolExecutionInput>?]>([
    ['no arguments', {}],
    ['questions that are no list', { questions: 'a' }],
    ['a question without text', { questions: [{ id: 1 }] }],
    ['an option without label', { questions: [{ ...full, options: [{}] }] }],
    ['multi_select that is no boolean', { questions: [{ ...full, multi_select: 'yes' }] }],
    ['no questions', { questions: [] }],
    ['no provider', { questions: [full] }],
    ['a signal that is aborted beforehand', { questions: [full] }, { signal: AbortSignal.abort() }],
  ])('how it fails with %s', async (_name, args, more) => {
    const [theirs, mine] = [await mount(stock), await mount(ours)]
    const expected = await theirs.run(args, more)

    expect(expected).toMatchObject({ isError: true })
    expect(await mine.run(args, more)).toEqual(expected)
  })

  it.each([stock, ours])('goes with its plugin', async plugin => {
    const { ctx, fiber, run } = await mount(plugin)
    await fiber.dispose()

    expect(ctx.tools.schemas()).toEqual([])
    expect(await run({ questions: [full] })).toMatchObject({ error: { info: { code: 'UNKNOWN_TOOL' } } })
  })

  it.each([stock, ours])('runs alone, not beside other calls', async plugin => {
    const { ctx } = await mount(plugin)
    const call = { callId: CallId('c'), name: 'ask_user_question', arguments: { questions: [full] } }

    expect(ctx.tools.executionMode({ ...call, signal: new AbortController().signal })).toEqual({ kind: 'exclusive' })
  })
})

describe('where it differs: the descriptions', () => {
  it('are in its own words, each of them', async () => {
    const [theirs, mine] = [await mount(stock), await mount(ours)].map(({ ctx }) => descriptionsIn(ctx.tools.schemas()))

    expect(mine).toHaveLength(theirs?.length ?? 0)
    expect(mine?.filter(text => theirs?.includes(text))).toEqual([])
  })

  it('the model reads that a question is refused in a goal round', async () => {
    const { ctx } = await mount(ours)

    expect(ctx.tools.get('ask_user_question')?.description).toContain(
      'Inside an autonomous goal round the call is refused',
    )
  })
})

describe('where it differs: an answer of the wrong shape is an error with a code', () => {
  it.each<[string, unknown]>([
    ['text', 'yes'],
    ['an object without answers', {}],
    ['an item without a selection', { answers: [{ id: 'a' }] }],
  ])('%s', async (_name, answer) => {
    const { answerWith, run } = await mount(ours)
    answerWith(answer)

    expect(await run({ questions: [full] })).toMatchObject({
      isError: true,
      error: { info: { name: 'ToolOutputError', code: 'INVALID_TOOL_OUTPUT' } },
    })
  })
})

describe('where it differs: an answer that a program throws away', () => {
  afterEach(disposeHarnesses)

  it.each([
    ['published', stock, false],
    ['here', ours, true],
  ])('%s', async (_name, tool, delivered) => {
    const { model, createAgent } = await startHarness({ mode: 'code', tool })
    const agent = await createAgent('s')
    model.script.push(runCode(`${ask()}; return "asked"`))
    await runTurn(agent)

    expect(receipts(agent)).toMatchObject([{ isError: false, text: expect.stringContaining('Blue') as string }])
    expect(results(agent)).toMatchObject([{ text: 'asked' }])
    expect(requestTexts(model.requests[1]).some(text => text.includes('"selected":["Blue"]'))).toBe(delivered)
  })
})
