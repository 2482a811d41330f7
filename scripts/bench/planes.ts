/** What is measured beside each other, each in a process of its own. */
import type { Context } from '@deepseek-ai/cordis'
import { LocalJobRegistry } from '@deepseek-ai/dsh-jobs-local'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import * as toolJobs from '@deepseek-ai/dsh-tool-jobs'
import * as pollBaseline from './poll-baseline.ts'

/**
 * - `stock`: the published packages.
 * - `community`: the published packages with a model of the community plugin.
 * - `ours`: the packages of this repository, as they come.
 * - `limit`: the same without any deliberate delay, or whatever else a row names as its bound.
 */
export type Plane = 'stock' | 'community' | 'ours' | 'limit'

/** The planes of a full row. */
export const PLANES = ['stock', 'community', 'ours', 'limit'] as const

/** Whether a plane's process is to be made of the published packages. */
export function isStock(plane: Plane): boolean {
  return plane === 'stock' || plane === 'community'
}

/**
 * Mount the registry and the job tools of a plane.
 * @param ctx - the runtime's context.
 * @param plane - the plane of this process.
 */
export async function mountJobTools(ctx: Context, plane: Plane): Promise<void> {
  await ctx.plugin(LocalJobRegistry, {})
  await ctx.plugin(toolJobs, plane === 'limit' ? { graceMs: 0, outputIntervalMs: 0 } : {})
  if (plane === 'community') await ctx.plugin(pollBaseline)
}

/**
 * Make a message as the user sends it.
 * @param text - its text.
 * @returns the message.
 */
export function userMessage(text: string) {
  return createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })
}

/**
 * The middle of some figures.
 * @param values - at least one.
 * @returns their median.
 */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2
}
