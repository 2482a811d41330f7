import { describe, expect, it, vi } from 'vitest'
import { JobId, type JobSnapshot } from '@deepseek-ai/dsh-jobs'
import { bindScopeParent, createScope, scopeOf } from '@deepseek-ai/dsh-scope'
import { byteLength } from '../src/byte-limit.ts'
import * as toolJobs from '../src/index.ts'
import { noticeText } from '../src/notice.ts'
import { noticesOf, ScriptedModel, userMessage } from './world.ts'
import { newWorld } from './worlds.ts'

/** Whether each notice opened a turn of its own. */
const wakesOf = (agent: Parameters<typeof noticesOf>[0]) => noticesOf(agent).map(({ wakes }) => wakes)

describe('the notice', () => {
  const SNAPSHOT: JobSnapshot = {
    id: JobId('bash-4'),
    kind: 'bash',
    label: 'make 世界',
    status: 'completed',
    detail: 'exit code: 0',
    startedAt: 0,
    finishedAt: 1,
    reported: false,
  }

  it.each([
    [
      undefined,
      'background job bash-4 (bash: make 世界) finished [status: completed, exit code: 0]. Read its output with job_output.',
    ],
    [
      118,
      'background job bash-4 (bash: make 世界) finished [status: completed, exit code: 0]. Read its output with job_output.',
    ],
    [99, 'background job bash-4 (bash: make 世界) finished [status: co\n[notice truncated]\nDone; job_output.'],
    [75, 'background job bash-4 (bash: make 世\n[notice truncated]\nDone; job_output.'],
    [64, 'background job bash-4 (bash\n[notice truncated]\nDone; job_output.'],
    [58, 'background job bash-4\n[notice truncated]\nDone; job_output.'],
    [57, 'background job bash-4\nDone; job_output.'],
    [39, 'background job bash-4\nDone; job_output.'],
    [30, 'background j\nDone; job_output.'],
    [18, '\nDone; job_output.'],
    [17, 'Done; job_output.'],
    [4, 'put.'],
  ])('in %j bytes', (outputLimitBytes, text) => {
    const notice = noticeText({ ...SNAPSHOT, ...(outputLimitBytes !== undefined && { outputLimitBytes }) })
    expect(notice).toBe(text)
    expect(byteLength(notice)).toBeLessThanOrEqual(outputLimitBytes ?? Infinity)
  })

  it('comes from this plugin, with a summary of one line', async () => {
    const world = await newWorld({ config: { completionDelivery: 'quiet' } })
    const agent = await world.agent()
    await world.job({ owner: agent, label: 'sleep 1' }).end()
    await world.job({ owner: agent, label: 'x'.repeat(200) }).end()
    const [first, second] = noticesOf(agent).map(({ message }) => message)
    expect(first).toMatchObject({
      content: [
        {
          type: 'text',
          text: 'background job bash-1 (bash: sleep 1) finished [status: completed, exit code: 0]. Read its output with job_output.',
        },
      ],
      source: {
        kind: 'plugin',
        plugin: 'tool-jobs',
        form: 'notice',
        summary: 'bash sleep 1 [status: completed, exit code: 0]',
      },
    })
    expect(second?.source).toMatchObject({ summary: `bash ${'x'.repeat(114)}…` })
  })
})

describe('its delivery', () => {
  it('opens a turn for an idle owner, which then reads it', async () => {
    const world = await newWorld()
    const agent = await world.agent()
    await world.job({ owner: agent }).end()
    await agent.whenIdle()
    expect(wakesOf(agent)).toEqual([true])
    expect(JSON.stringify(world.model.requests[0]?.messages)).toContain('background job bash-1')
  })

  it('joins the next step of a busy owner', async () => {
    const held = Promise.withResolvers<string>()
    const world = await newWorld({ model: new ScriptedModel(held.promise) })
    const agent = await world.agent()
    agent.followup(userMessage('go'))
    await world.job({ owner: agent }).end()
    held.resolve('ok')
    await agent.whenIdle()
    expect(wakesOf(agent)).toEqual([false])
    expect(world.model.requests).toHaveLength(2)
  })

  it('leaves an idle owner asleep under quiet', async () => {
    const world = await newWorld({ config: { completionDelivery: 'quiet' } })
    const agent = await world.agent()
    await world.job({ owner: agent }).end()
    expect(wakesOf(agent)).toEqual([false])
    expect(agent.status).toBe('idle')
    expect(agent.inbox.nextStep).toHaveLength(1)
  })

  it('goes to that very owner, and to nobody for an unowned job', async () => {
    const world = await newWorld()
    const [owner, other] = [await world.agent('s1'), await world.agent('s2')]
    await world.job({ owner }).end()
    await world.job().end()
    expect(noticesOf(owner)).toHaveLength(1)
    expect(noticesOf(other)).toEqual([])
  })

  it('comes once, from the tools of the composition that the owner belongs to', async () => {
    const world = await newWorld({ tools: { name: 'none', apply: () => undefined } })
    const compositions = ['p1', 'p2'].map(preset => ({ preset, scope: createScope(world.ctx, { preset }) }))
    const owners = []
    for (const { preset, scope } of compositions) {
      await scope.ctx.plugin(toolJobs, {})
      const owner = await world.agent(preset)
      bindScopeParent(owner, scopeOf(scope.ctx) ?? {})
      owners.push(owner)
    }
    for (const owner of owners) await world.job({ owner }).end()
    expect(owners.map(owner => noticesOf(owner).length)).toEqual([1, 1])
  })

  it('is left out where a kill, a read or a wait has told already', async () => {
    const world = await newWorld()
    const owner = await world.agent()
    const [killed, waited] = [world.job({ owner }), world.job({ owner })]
    await world.call('job_kill', { job_id: killed.id }, owner)
    await killed.end()
    const waiting = world.call('job_output', { job_id: waited.id, wait: true }, owner)
    await world.waitedFor(waited)
    await waited.end()
    await waiting
    expect(noticesOf(owner)).toEqual([])
  })

  it('wakes so many times in a row, and again once its user has spoken', async () => {
    const world = await newWorld({ config: { maxConsecutiveWakes: 2 } })
    const [agent, other] = [await world.agent('s1'), await world.agent('s2')]
    const settleOne = async () => {
      await world.job({ owner: agent }).end()
      await agent.whenIdle()
    }
    for (let n = 0; n < 4; n++) await settleOne()
    expect(wakesOf(agent)).toEqual([true, true, false, false])

    other.followup(userMessage("another agent's user"))
    await other.whenIdle()
    await settleOne()
    expect(wakesOf(agent).slice(4)).toEqual([false])

    agent.followup(userMessage('well?'))
    await agent.whenIdle()
    for (let n = 0; n < 3; n++) await settleOne()
    expect(wakesOf(agent).slice(5)).toEqual([true, true, false])
  })

  it.each([
    ['followup', 'idle', [false]],
    ['inject', 'running', []],
  ] as const)('a failing %s is visible, and spends the wake it was', async (method, status, wakes) => {
    const held = Promise.withResolvers<string>()
    const model = new ScriptedModel(...(status === 'running' ? [held.promise] : []))
    const world = await newWorld({ model, config: { maxConsecutiveWakes: 1 } })
    const warnings: unknown[] = []
    world.ctx.logger.exporter({ levels: { default: 2 }, export: message => warnings.push(message.args) })
    const agent = await world.agent()
    if (status === 'running') agent.followup(userMessage('go'))
    vi.spyOn(agent, method).mockImplementation(() => {
      throw new Error('no message today')
    })
    await world.job({ owner: agent }).end()
    await world.job({ owner: agent }).end()
    expect(JSON.stringify(warnings)).toContain('no message today')
    expect(wakesOf(agent)).toEqual(wakes)
    held.resolve('ok')
  })
})
