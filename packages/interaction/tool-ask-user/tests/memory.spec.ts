/** A nested question whose enclosing call never ends leaves nothing behind. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, it, vi } from 'vitest'
import { CallId } from '@deepseek-ai/dsh-llm'
import type { ToolExecutionToken } from '@deepseek-ai/dsh-tools'
import { disposeHarnesses, select, startHarness } from './harness.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

afterEach(disposeHarnesses)

it('keeps no hold on the tokens of 1,000 calls that never end, nor on what was answered in them', async () => {
  const { ctx, human } = await startHarness()
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
    return [new WeakRef<WeakKey>(parent), new WeakRef<WeakKey>(result)]
  }
  const gone = (await Promise.all(Array.from({ length: 1_000 }, (_, n) => askWithin(n)))).flat()
  human.requests.length = 0

  await vi.waitFor(
    () => {
      collectGarbage()
      expect(gone.filter(each => each.deref() !== undefined)).toHaveLength(0)
    },
    { timeout: 10_000 },
  )
  expect(ctx.tools.get('ask_user_question')).toBeDefined()
})
