/** The reported incident: the same stubborn model and the same cap, on the published driver and on this one. */
import { afterEach, expect, it } from 'vitest'
import type { Plugin } from '@deepseek-ai/cordis'
import type { ContentBlock, GenerateOptions } from '@deepseek-ai/dsh-llm'
import * as stock from 'stock-goal-round-driver'
import * as fork from '../src/index.ts'
import { askCall, createRuntime, disposeRuntimes, eventually, type Reply } from './harness.ts'

afterEach(disposeRuntimes)

function lastText(request: GenerateOptions): string {
  const text = (blocks: readonly ContentBlock[]): string =>
    blocks.map(block => ('content' in block ? text(block.content) : 'text' in block ? block.text : '')).join('\n')
  return text(request.messages.at(-1)?.content ?? [])
}

/** Asks again in each round, until a tool result tells it better; then it reports the blocker. */
function stubbornModel(request: GenerateOptions): Reply {
  const text = lastText(request)
  if (text.includes('<goal_round>')) return [askCall]
  if (text.includes('nobody is waiting')) return [{ name: 'get_goal', args: {} }]
  const goal = /"id":"([^"]+)","revision":(\d+).*"phase":"active"/.exec(text)
  if (goal === null) return 'Awaiting your decisions.'
  const args = { goal_id: goal[1], revision: Number(goal[2]), action: 'blocked', blocked_reason: 'which database?' }
  return [{ name: 'update_goal', args }]
}

async function play(driver: Plugin) {
  const { ctx, asked, model, createAgent } = await createRuntime({ driver, script: stubbornModel })
  const { agent } = await createAgent()
  ctx.goals.create(agent, { objective: 'set up the service', maxGoalRounds: 256 })
  await eventually(() => {
    expect(ctx.goals.get(agent)?.phase).toBe('blocked')
  })
  await agent.whenIdle()
  const goal = ctx.goals.get(agent)
  return {
    rounds: goal?.roundsStarted,
    code: goal?.blockedReason?.code,
    questions: asked.length,
    requests: model.requests.length,
  }
}

it(
  'spins to the cap on the published driver, and is blocked in the third round on this one',
  { timeout: 60_000 },
  async () => {
    expect(await play(stock)).toEqual({ rounds: 256, code: 'round-limit', questions: 256, requests: 512 })
    // Three rounds: asked, denied, looked, refused twice by the goal tools; the last one adds the closing message.
    expect(await play(fork)).toEqual({ rounds: 3, code: 'model-reported', questions: 0, requests: 12 })
  },
)
