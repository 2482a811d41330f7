/** A nested question whose enclosing call never ends leaves nothing behind. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, it, vi } from 'vitest'
import { CallId } from '@deepseek-ai/dsh-llm'
import type { ToolExecutionToken } from '@deepseek-ai/dsh-tools'
import { disposeHarnesses, select, startHarness } from './harness.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const { stackTraceLimit } = Error

afterEach(async () => {
  Error.stackTraceLimit = stackTraceLimit
  await disposeHarnesses()
})

it('keeps no hold on 1,000 calls that never end, nor on what was asked and answered in them', async () => {
  // Cordis keeps the stack of every registration. The whole of it must not hold a call either.
  Error.stackTraceLimit = 100
  const { ctx, human } = await startHarness()
  const gone: WeakRef<WeakKey>[] = []
  ctx.on('tools/result', ({ token }) => void gone.push(new WeakRef<WeakKey>(token)))
  const running = new AsyncLocalStorage<WeakKey>()
  const askWithin = async (n: number) => {
    const parent = Symbol(`call ${n}`) as ToolExecutionToken
    human.replies.push(select('x'.repeat(1_000)))
    const result = await ctx.tools.execute({
      callId: CallId(`call-${n}`),
      name: 'ask_user_question',
      arguments: { questions: [{ id: 'q', question: '?' }] },
      signal: new AbortController().signal,
      parent,
    })
    expect(result.isError).toBe(false)
    gone.push(new WeakRef<WeakKey>(parent), new WeakRef<WeakKey>(result))
  }
  // As the harness does: what an agent calls runs in the agent's asynchronous context.
  const runFor = (agent: WeakKey, n: number) => {
    gone.push(new WeakRef(agent))
    return running.run(agent, askWithin, n)
  }
  await Promise.all(Array.from({ length: 1_000 }, (_, n) => runFor({ agent: n }, n)))
  human.requests.length = 0

  await vi.waitFor(
    () => {
      collectGarbage()
      expect(gone.filter(each => each.deref() !== undefined)).toHaveLength(0)
    },
    { timeout: 10_000 },
  )
  expect(gone).toHaveLength(4_000)
  expect(ctx.tools.get('ask_user_question')).toBeDefined()
})
