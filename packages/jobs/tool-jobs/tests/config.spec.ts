import { describe, expect, it } from 'vitest'
import * as toolJobs from '../src/index.ts'
import { newWorld } from './worlds.ts'

const { Config, apply, inject, name } = toolJobs

describe('the configuration', () => {
  it('has these defaults', () => {
    expect(Config({})).toEqual({
      waitTimeoutMs: 30_000,
      maxWaitTimeoutMs: 600_000,
      completionDelivery: 'wakeup',
      maxConsecutiveWakes: 3,
      wakeOnSteer: true,
      deliver: 'wrap',
      graceMs: 250,
      maxHoldMs: 1_000,
      outputIntervalMs: 10_000,
    })
  })

  it.each([
    ['waitTimeoutMs', 0],
    ['waitTimeoutMs', '30s'],
    ['maxWaitTimeoutMs', 0.5],
    ['completionDelivery', 'loud'],
    ['maxConsecutiveWakes', 0],
    ['wakeOnSteer', 'yes'],
    ['deliver', 'wrapped'],
    ['graceMs', -1],
    ['maxHoldMs', 2_147_483_648],
    ['outputIntervalMs', -0.1],
    ['maxOutputIntervalMs', -1],
    ['maxOutputIntervalMs', '2min'],
    ['resumeTimeoutMs', -5],
    ['pollMs', 'often'],
  ])('refuses %s: %j at load, by name', async (field, value) => {
    expect(() => Config({ [field]: value })).toThrow(field)
    await expect(newWorld({ config: { [field]: value } })).rejects.toThrow(field)
  })

  it.each([
    [{ waitTimeoutMs: 40, maxWaitTimeoutMs: 30 }, 'tool-jobs: waitTimeoutMs (40) exceeds maxWaitTimeoutMs (30)'],
    [{ maxWaitTimeoutMs: 100 }, 'tool-jobs: waitTimeoutMs (30000) exceeds maxWaitTimeoutMs (100)'],
    [{ waitTimeoutMs: NaN }, 'waitTimeoutMs (NaN)'],
    [
      { maxConsecutiveWakes: 2 ** 53 },
      'tool-jobs: maxConsecutiveWakes (9007199254740992) must be a whole number of turns',
    ],
    [{ maxConsecutiveWakes: 1.5 }, 'tool-jobs: maxConsecutiveWakes (1.5) must be a whole number of turns'],
    [{ maxConsecutiveWakes: NaN }, 'maxConsecutiveWakes (NaN)'],
    [{ graceMs: NaN }, 'tool-jobs: graceMs (NaN) must be a number of milliseconds'],
    [{ resumeTimeoutMs: NaN }, 'resumeTimeoutMs (NaN)'],
    [
      { outputIntervalMs: 500, maxOutputIntervalMs: 499 },
      'tool-jobs: maxOutputIntervalMs (499) is less than outputIntervalMs (500)',
    ],
  ])('refuses what no schema sees: %j', async (config, message) => {
    await expect(newWorld({ config })).rejects.toThrow(message)
  })

  it('allows the shortest of everything', async () => {
    const config = { waitTimeoutMs: 1, maxWaitTimeoutMs: 1, maxConsecutiveWakes: 1, graceMs: 0, maxHoldMs: 0 }
    await expect(
      newWorld({ config: { ...config, outputIntervalMs: 0, maxOutputIntervalMs: 0 } }),
    ).resolves.toBeDefined()
  })

  it('has the same defaults for a configuration that no schema has seen', async () => {
    const bare = {
      name,
      inject,
      apply: (ctx: Parameters<typeof apply>[0]) => {
        apply(ctx, {})
      },
    }
    const [seen, unseen] = [await newWorld(), await newWorld({ tools: bare })]
    const describeTools = ({ ctx }: typeof seen) => ctx.tools.schemas()
    expect(describeTools(unseen)).toEqual(describeTools(seen))
    expect(await unseen.ctx.systemPrompt.assemble()).toEqual(await seen.ctx.systemPrompt.assemble())
  })
})

describe('the plugin', () => {
  it('keeps its name, its services and its exports', () => {
    expect(Object.keys(toolJobs).sort()).toEqual(['Config', 'apply', 'inject', 'name', 'statusLine'])
    expect(name).toBe('tool-jobs')
    expect(inject).toEqual(['tools', 'jobs', 'systemPrompt'])
  })

  it('is the controller without which no job starts, and leaves nothing behind', async () => {
    const world = await newWorld()
    const agent = await world.agent()
    await world.job({ owner: agent }).end()

    await world.unloadTools()

    expect(() => world.job({ owner: agent })).toThrow('no job controller serves this agent')
    expect(world.ctx.tools.schemas(agent)).toEqual([])
    const { sections } = await world.ctx.systemPrompt.assemble()
    expect(sections.map(section => section.name)).not.toContain('tool:jobs')
  })

  it('puts its guidance at 106, after the shell', async () => {
    const { ctx } = await newWorld()
    for (const order of [105.9, 106.1]) ctx.systemPrompt.section({ name: `at ${order}`, order, text: 'x' })
    const { sections } = await ctx.systemPrompt.assemble()
    expect(sections.map(section => section.name).slice(-3)).toEqual(['at 105.9', 'tool:jobs', 'at 106.1'])
  })

  it('tells the model to track, not to poll, to wait only when blocked, and to tidy up', async () => {
    const { ctx } = await newWorld()
    const { sections } = await ctx.systemPrompt.assemble()
    const text = sections.find(section => section.name === 'tool:jobs')?.text
    for (const word of ['id', 'told', 'poll', 'sleep', 'wait: true', 'job_output', 'job_kill', 'final answer']) {
      expect(text).toContain(word)
    }
  })
})
