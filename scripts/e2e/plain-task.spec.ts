import { describe, expect, it } from 'vitest'
import { runDsh, type DshRun, type Side } from './support/run-dsh.ts'
import { eventsOf } from './support/session-log.ts'

function runTask(side: Side): Promise<DshRun> {
  return runDsh({
    side,
    task: 'Say hello',
    model: () => ({ text: 'Hello.' }),
    insert: [{ id: 'tool-ask-user', name: '@deepseek-ai/dsh-tool-ask-user' }],
  })
}

describe('a plain task', () => {
  it.each(['fork', 'stock', 'installed'] as const)('%s: is answered, printed and logged', async side => {
    const run = await runTask(side)

    expect(run).toMatchObject({ exitCode: 0, stdout: 'Hello.\n', stderr: '' })
    expect(run.requests).toHaveLength(1)
    expect(run.requests[0]?.messages).toContainEqual({ role: 'user', content: 'Say hello' })
    expect(eventsOf(run.events, 'turn/end').map(({ data }) => data.reason)).toEqual([{ kind: 'completed' }])
    expect(eventsOf(run.events, 'assistant/message').map(({ data }) => data.message.content)).toEqual([
      [{ type: 'text', text: 'Hello.' }],
    ])
  })

  it.each([
    ['fork', /\/packages\/(goal|jobs|shell|interaction)\/[a-z-]+\/lib\//],
    ['stock', /\/node_modules\/stock-[a-z-]+\/lib\//],
    ['installed', /\/dsh\/profiles\/headless\/node_modules\/@deepseek-ai\/dsh-|\/stock-dsh-.*\/dsh-user-questions\//],
  ] as const)('%s: every forked package is loaded from the right place', async (side, place) => {
    const { loaded } = await runTask(side)

    expect(Object.keys(loaded)).toEqual(
      expect.arrayContaining([
        '@deepseek-ai/dsh-goal-round-driver',
        '@deepseek-ai/dsh-jobs',
        '@deepseek-ai/dsh-jobs-local',
        '@deepseek-ai/dsh-tool-jobs',
        '@deepseek-ai/dsh-bash-local',
        '@deepseek-ai/dsh-tool-bash',
        '@deepseek-ai/dsh-user-questions',
        '@deepseek-ai/dsh-tool-ask-user',
      ]),
    )
    expect(Object.values(loaded).filter(path => !place.test(path))).toEqual([])
  })
})
