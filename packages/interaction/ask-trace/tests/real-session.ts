/**
 * Real session logs for a test: the real agent loop, tools, Code Mode worker, goals, questions and JSONL persistence.
 * Only the model and the human are scripted.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread'
import { GoalService } from '@deepseek-ai/dsh-goal'
import * as goalRoundDriver from '@deepseek-ai/dsh-goal-round-driver'
import * as stockGoalRoundDriver from 'stock-goal-round-driver'
import * as stockToolAskUser from 'stock-tool-ask-user'
import { CallId, createUserMessage, LlmAdapter, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import { JsonlSessionPersistence } from '@deepseek-ai/dsh-session-persistence-jsonl'
import * as toolAskUser from '@deepseek-ai/dsh-tool-ask-user'
import * as toolGoal from '@deepseek-ai/dsh-tool-goal'
import { ApprovalService } from '@deepseek-ai/dsh-user-approval'
import {
  UserQuestionService,
  type AskUserQuestionAnswer,
  type AskUserQuestionRequest,
} from '@deepseek-ai/dsh-user-questions'

/** What the model does in one step. */
export type Step = { readonly say: string } | { readonly call: string; readonly args: unknown; readonly id?: string }

/** A model that plays its steps in order and then says `done`. */
export class ScriptedModel extends LlmAdapter {
  readonly steps: Step[]

  constructor(steps: readonly Step[]) {
    super()
    this.steps = [...steps]
  }

  async *stream(): AsyncIterable<StreamChunk> {
    await Promise.resolve()
    const step = this.steps.shift() ?? { say: 'done' }
    if ('say' in step) {
      for (const [index, text] of step.say.split(' ').entries()) {
        yield { type: 'text-delta', index: 0, text: index === 0 ? text : ` ${text}` }
      }
      yield { type: 'finish', reason: { kind: 'stop' } }
      return
    }
    const id = CallId(step.id ?? `call-${this.steps.length}`)
    yield { type: 'tool-call-delta', index: 0, id, name: step.call, argumentsDelta: JSON.stringify(step.args) }
    yield { type: 'finish', reason: { kind: 'tool-calls' } }
  }
}

/** The question that the scripted model puts. */
export const COLOUR = {
  questions: [{ id: 'colour', question: 'Which colour?', options: [{ label: 'Blue' }, { label: 'Red' }] }],
}

/** The human's answer to it. */
export const BLUE: AskUserQuestionAnswer = { answers: [{ id: 'colour', selected: ['Blue'] }] }

/** A native question. */
export const ask = (args: unknown = COLOUR, id?: string): Step => ({
  call: 'ask_user_question',
  args,
  ...(id === undefined ? {} : { id }),
})

/** A Code Mode program; in it `COLOUR` is the question. */
export const program = (code: string): Step => ({
  call: 'run_code',
  args: { description: 'ask', code: `const COLOUR = ${JSON.stringify(COLOUR)}\n${code}` },
})

export interface RealSession {
  readonly ctx: Context
  readonly agent: Agent
  readonly model: ScriptedModel
  /** A message from the human; settles when the agent is idle again. */
  readonly say: (text: string) => Promise<void>
  /** Starts a goal from outside a turn and lets its rounds run out. */
  readonly goal: (rounds: number) => Promise<void>
  /** Writes everything out. @returns the log's path. */
  readonly flush: () => Promise<string>
  /** The folder that holds the log. */
  readonly root: string
}

export interface SessionOptions {
  readonly steps: readonly Step[]
  readonly mode?: 'native' | 'code'
  /** Which goal round driver: ours guards the question tool, the published one does not. */
  readonly driver?: 'stock'
  /** Which question tool: ours writes answers back, the published one lets a program throw them away. */
  readonly tool?: 'ours'
  readonly compression?: 'zstd' | 'none'
  readonly root?: string
  readonly resume?: string
  /** Mounts or registers what the scenario needs, before the agent is there. */
  readonly setup?: (ctx: Context) => unknown
  /** Who answers: by default somebody who says blue; undefined for nobody. */
  readonly human?: ((request: AskUserQuestionRequest) => Promise<AskUserQuestionAnswer>) | undefined
}

const cleanups: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** @returns a folder that goes with the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ask-trace-'))
  cleanups.push(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

/** Mounts everything and creates one agent, or resumes one. */
export async function realSession(options: SessionOptions): Promise<RealSession> {
  const root = options.root ?? temporaryFolder()
  const ctx = new Context()
  cleanups.push(() => ctx.fiber.dispose())
  await mountAgentLoopTestDependencies(ctx, { tools: { mode: options.mode ?? 'native' } })
  await ctx.plugin(JsonlSessionPersistence, { root, compression: options.compression ?? 'zstd' })
  await ctx.plugin(WorkerThreadCodeRuntime, {})
  await ctx.plugin(ApprovalService, {})
  await ctx.plugin(UserQuestionService)
  await ctx.plugin(options.tool === 'ours' ? toolAskUser : stockToolAskUser)
  await ctx.plugin(GoalService)
  await ctx.plugin(options.driver === 'stock' ? stockGoalRoundDriver : goalRoundDriver)
  await ctx.plugin(toolGoal, {})
  const model = new ScriptedModel(options.steps)
  ctx.llm.registerAdapter(['scripted'], model)
  const human = 'human' in options ? options.human : () => Promise.resolve(BLUE)
  if (human !== undefined) ctx.userQuestions.registerProvider({ ask: human })
  await options.setup?.(ctx)
  await ctx.plugin(AgentLoop, { agents: [] })
  const agentOptions = { provider: 'scripted', model: 'm' }
  const { agent } =
    options.resume === undefined
      ? await ctx.agents.create({ sessionId: SessionId('s1'), agentOptions })
      : await ctx.agents.resume({ resumeSessionId: SessionId(options.resume), agentOptions })
  return {
    ctx,
    agent,
    model,
    root,
    say: async text => {
      agent.followup(createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }))
      await agent.whenIdle()
    },
    goal: async rounds => {
      ctx.goals.create(agent, { objective: 'paint it', maxGoalRounds: rounds })
      await waitUntil(() => ctx.goals.get(agent)?.phase === 'blocked')
      await agent.whenIdle()
    },
    flush: async () => {
      await ctx.sessions.flush(agent.session)
      return logUnder(root)
    },
  }
}

/** @returns the one log under a folder. */
export function logUnder(root: string): string {
  const logs = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(name => /session\.jsonl/.test(name))
  return join(root, logs[0] ?? 'no log')
}

/** Settles when the condition holds; the test's own time limit ends it otherwise. */
export async function waitUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setImmediate(resolve))
}
