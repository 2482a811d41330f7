import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import * as shellEnv from '@deepseek-ai/dsh-shell-env'
import { renderPrompt } from '@deepseek-ai/dsh-system-prompt'
import * as toolBash from '../src/index.ts'
import { localBash, newWorld, tempFolder, textOf } from './harness.ts'

describe('a command that ends', () => {
  it('gives its output as text, and everything about it as a value', async () => {
    const world = await newWorld()
    const result = await world.call({ command: 'echo hello' })
    expect(textOf(result)).toBe('hello\n')
    expect(result).toMatchObject({ isError: false })
    expect(result.value).toEqual({
      kind: 'foreground',
      exitCode: 0,
      signal: null,
      timedOut: false,
      aborted: false,
      timeoutMs: 120_000,
      stdout: { text: 'hello\n', truncated: false },
      stderr: { text: '', truncated: false },
    })
  })

  it.each([
    ['says so when it printed nothing', 'true', '(no output)'],
    ['has its stderr under a heading', 'echo out; echo err >&2', 'out\n[stderr]\nerr\n'],
    ['shows a nonzero exit', 'echo oops; exit 3', 'oops\n[exit code: 3]'],
    ['shows a nonzero exit without output', 'exit 1', '(no output)\n[exit code: 1]'],
    ['shows the signal that killed it', 'echo bye; kill -KILL $$', 'bye\n[killed by signal: SIGKILL]'],
  ])('%s, and is no error', async (_name, command, text) => {
    const world = await newWorld()
    const result = await world.call({ command })
    expect(result.isError).toBe(false)
    expect(textOf(result)).toBe(text)
  })

  it('reads as the README shows it', async () => {
    const world = await newWorld()
    const text = textOf(await world.call({ command: 'echo compiling; echo "main.c:7: error" >&2; exit 1' }))
    const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
    expect(readme).toContain(`\`\`\`text\n${text}\n\`\`\``)
  })

  it('runs in the folder that the call names', async () => {
    const world = await newWorld()
    const workdir = tempFolder()
    expect(textOf(await world.call({ command: 'pwd -P', workdir }))).toBe(`${workdir}\n`)
  })

  it('keeps the tail of long output, and names a file with all of it', async () => {
    const world = await newWorld({ shell: localBash({ maxOutputBytes: 64 }) })
    const result = await world.call({ command: 'seq 1 200' })
    const [, tail = '', path = ''] = /^([^]*)\n\[output truncated; full output: (.+)\]$/.exec(textOf(result)) ?? []
    expect(tail).toMatch(/\n199\n200\n$/)
    expect(tail).not.toMatch(/^1\n/)
    expect(readFileSync(path, 'utf8')).toMatch(/^1\n2\n[^]*\n200\n$/)
    expect(result.value).toMatchObject({ stdout: { truncated: true, spillPath: path } })
  })
})

describe('a command that does not end', () => {
  it('is killed at its timeout, which the text tells before the signal', async () => {
    const world = await newWorld()
    const result = await world.call({ command: 'sleep 60', timeoutMs: 200 })
    expect(result.isError).toBe(false)
    expect(textOf(result)).toBe('(no output)\n[timed out after 200ms]\n[killed by signal: SIGTERM]')
  })

  it('shows the timeout although it trapped the signal and exited with 0', async () => {
    const world = await newWorld()
    const command = "trap 'exit 0' TERM; echo begun; sleep 60 & wait"
    // Long enough for the shell to set its trap on a busy machine.
    const result = await world.call({ command, timeoutMs: 2_000 })
    expect(textOf(result)).toBe('begun\n[timed out after 2000ms]')
    expect(result.value).toMatchObject({ exitCode: 0, timedOut: true })
  })

  it('is killed with the call, which is then an aborted one', async () => {
    const world = await newWorld()
    const abort = new AbortController()
    const folder = tempFolder()
    const call = world.call({ command: 'touch begun; sleep 60', workdir: folder }, undefined, abort.signal)
    await expect.poll(() => readFileSync(`${folder}/begun`, 'utf8')).toBe('')
    abort.abort()
    expect(await call).toMatchObject({
      isError: true,
      error: { message: 'tool call aborted', info: { name: 'AbortError', code: 'ABORTED' } },
    })
  })
})

it('a command that cannot be spawned is an error', async () => {
  const world = await newWorld()
  const result = await world.call({ command: 'true', workdir: '/nowhere/at/all' })
  expect(result.isError).toBe(true)
  expect(textOf(result)).toMatch(/^Error: .*spawn/)
})

describe('arguments', () => {
  it.each([
    ['nothing', {}],
    ['no command', { description: 'Do it' }],
    ['no description', { command: 'true' }],
    ['a command that is a number', { command: 7, description: 'Do it' }],
    ['a description that is a list', { command: 'true', description: ['Do it'] }],
    ['a timeout that is a string', { command: 'true', description: 'Do it', timeoutMs: '5s' }],
    ['a folder that is null', { command: 'true', description: 'Do it', workdir: null }],
    ['a background flag that is a string', { command: 'true', description: 'Do it', run_in_background: 'yes' }],
  ])('are refused by the schema: %s', async (_what, args) => {
    const world = await newWorld()
    const result = await world.callTool('bash', args)
    expect(result).toMatchObject({ isError: true, error: { info: { name: 'ToolArgsError' } } })
  })

  it.each([
    [{ command: ' \n' }, 'invalid command: expected a non-empty string'],
    [{ command: 'true', description: '\t' }, 'invalid description: expected a non-empty string'],
    [{ command: 'true', timeoutMs: 0 }, 'invalid timeoutMs: expected a positive number, got 0'],
    [{ command: 'true', timeoutMs: -1.5 }, 'invalid timeoutMs: expected a positive number, got -1.5'],
    [{ command: '', description: '', timeoutMs: 0 }, 'invalid command: expected a non-empty string'],
  ])('are refused by their value: %j', async (args, message) => {
    const world = await newWorld()
    expect(await world.call(args)).toMatchObject({ isError: true, error: { message } })
  })

  it.each([NaN, Infinity])('with the timeout %d do not get as far as the tool', async timeoutMs => {
    const world = await newWorld()
    const result = await world.call({ command: 'true', timeoutMs })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain('losslessly JSON')
  })
})

describe('registration', () => {
  it('advertises background jobs, and says how to read them', async () => {
    const { tool, parameters } = await newWorld()
    expect(tool.parameters).toMatchObject({ type: 'object', required: ['command', 'description'] })
    expect(parameters).toEqual(['command', 'description', 'timeoutMs', 'workdir', 'run_in_background'])
    expect(tool.description).toContain('job_output')
    expect(tool.description).toContain('job_kill')
  })

  it('stays out of the timeouts that a policy sets for tools', async () => {
    const { tool } = await newWorld()
    expect(tool).not.toHaveProperty('timeoutMs')
  })

  it('puts its guidance between the orders 104 and 106, with the marker to look for', async () => {
    const { ctx } = await newWorld()
    ctx.systemPrompt.section({ name: 'before', order: 104, text: 'BEFORE' })
    ctx.systemPrompt.section({ name: 'after', order: 106, text: 'AFTER' })
    const prompt = renderPrompt(await ctx.systemPrompt.assemble())
    expect(prompt).toMatch(/BEFORE[^]*\[exit code: N\][^]*AFTER/)
  })

  it('goes with the plugin', async () => {
    const world = await newWorld()
    const sections = async () => (await world.ctx.systemPrompt.assemble()).sections.map(({ name }) => name)
    expect(await sections()).toContain('tool:bash')
    await world.unloadTool()
    expect(world.ctx.tools.get('bash')).toBeUndefined()
    expect(await sections()).not.toContain('tool:bash')
  })

  async function bareContext(): Promise<Context> {
    const ctx = new Context()
    onTestFinished(() => ctx.fiber.dispose())
    await mountAgentLoopTestDependencies(ctx)
    return ctx
  }

  it('waits for an executor', async () => {
    const ctx = await bareContext()
    await ctx.plugin(shellEnv, { dshHome: tempFolder() })
    void ctx.plugin(toolBash, {})
    await Promise.resolve()
    expect(ctx.tools.get('bash')).toBeUndefined()
    await localBash()(ctx)
    await expect.poll(() => ctx.tools.get('bash')).toBeDefined()
  })

  it('needs no configuration, and no environment registry before the first call', async () => {
    const ctx = await bareContext()
    await localBash()(ctx)
    await ctx.plugin({
      name: 'bare',
      inject: ['tools', 'shell', 'systemPrompt'],
      apply: (scope: Context) => {
        toolBash.apply(scope)
      },
    })
    expect(ctx.tools.get('bash')?.parameters).toHaveProperty('properties.run_in_background')
  })

  it('is a plugin with these exports and no others', () => {
    expect(Object.keys(toolBash).sort()).toEqual(['Config', 'apply', 'inject', 'name'])
    expect(toolBash.name).toBe('tool-bash')
    expect(toolBash.inject).toEqual(['tools', 'shell', 'systemPrompt', 'shellEnv'])
    expect(toolBash.Config({})).toEqual({ enableRunInBackground: true })
    expect(() => toolBash.Config({ enableRunInBackground: 'no' as never })).toThrow('enableRunInBackground')
  })
})
