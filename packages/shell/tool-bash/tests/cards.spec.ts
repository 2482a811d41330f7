import { describe, expect, it } from 'vitest'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { newWorld, type World } from './harness.ts'

const ARGS = { command: 'make test', description: 'Run the tests' }
const JOB = { ...ARGS, run_in_background: true }

const text = (said: string): ContentBlock[] => [{ type: 'text', text: said }]

/** The card of a result with these contents. */
async function resultCard(content: ContentBlock[], args: unknown = ARGS, isError = false) {
  const { tool } = await newWorld()
  return tool.presentResult?.(args, { content, isError })
}

describe('the card of a call', () => {
  let world: World

  const card = async (args: unknown) => {
    world = await newWorld()
    return world.tool.presentCall?.(args)
  }

  it('is a terminal with the command, and with the folder exactly as it was given', async () => {
    const terminal = { card: 'terminal', title: 'make test', description: 'Run the tests' }
    expect(await card(ARGS)).toStrictEqual(terminal)
    expect(await card({ ...ARGS, workdir: '/repo' })).toStrictEqual({ ...terminal, cwd: '/repo' })
    expect(await card({ ...ARGS, workdir: './sub' })).toStrictEqual({ ...terminal, cwd: './sub' })
  })

  it('of a background job is a plain one', async () => {
    expect(await card({ ...JOB, workdir: '/repo' })).toStrictEqual({
      card: 'generic',
      title: 'make test',
      kind: 'execute',
      rawInput: 'make test',
      content: [{ type: 'text', text: 'Run the tests' }],
    })
  })

  it.each([undefined, {}, { command: 'make' }, { ...ARGS, workdir: 7 }])(
    'is not drawn from the malformed arguments %j of an old log',
    async args => {
      expect(await card(args)).toBeUndefined()
      expect(world.tool.presentResult?.(args, { content: text('hello'), isError: false })).toBeUndefined()
    },
  )
})

describe('the card of a result', () => {
  it.each([
    ['hello\n', { output: 'hello\n', exitCode: 0 }],
    ['\n\n  hello\n\n', { output: '\n\n  hello\n\n', exitCode: 0 }],
    ['oops\n[exit code: 3]', { output: 'oops', exitCode: 3 }],
    ['bye\n[killed by signal: SIGKILL]', { output: 'bye', signal: 'SIGKILL' }],
    [
      'a\n[timed out after 5ms]\n[killed by signal: SIGTERM]',
      { output: 'a\n[timed out after 5ms]', signal: 'SIGTERM' },
    ],
    [
      'a\n[sandbox: file access denied under read-only mode]\n[exit code: 1]',
      { output: 'a\n[sandbox: file access denied under read-only mode]', exitCode: 1 },
    ],
    ['it printed [exit code: 3] and went on\n', { output: 'it printed [exit code: 3] and went on\n', exitCode: 0 }],
    ['[exit code: 3]', { output: '[exit code: 3]', exitCode: 0 }],
    ['(no output)\n[exit code: 3]', { output: '(no output)', exitCode: 3 }],
  ])('is a terminal with the output and the exit: %j', async (said, shown) => {
    expect(await resultCard(text(said))).toStrictEqual({ card: 'terminal', ...shown })
  })

  it('of a background job is its acknowledgement', async () => {
    expect(await resultCard(text('started background job bash-1'), JOB)).toStrictEqual({
      card: 'generic',
      content: text('```console\nstarted background job bash-1\n```'),
    })
  })

  it('of an error is its text, without the lines at its end', async () => {
    expect(await resultCard(text('Error: no\n[exit code: 3]\n\n'), ARGS, true)).toStrictEqual({
      card: 'generic',
      content: text('```console\nError: no\n[exit code: 3]\n```'),
    })
  })

  it('is left to the interface if the result is not one text', async () => {
    const image: ContentBlock = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: '' } } as never
    for (const content of [[], [...text('a'), ...text('b')], [image]]) {
      expect(await resultCard(content)).toBeUndefined()
      expect(await resultCard(content, JOB)).toBeUndefined()
      expect(await resultCard(content, ARGS, true)).toBeUndefined()
    }
  })

  it('shows what a real command left behind', async () => {
    const world = await newWorld()
    const args = { command: 'echo oops; exit 3', description: 'Fail' }
    const { content, isError } = await world.call(args)
    expect(world.tool.presentResult?.(args, { content, isError })).toStrictEqual({
      card: 'terminal',
      output: 'oops',
      exitCode: 3,
    })
  })
})
