/**
 * Whether something is on its way out. A fiber that is disposed takes what stands in it along only some ticks later: in
 * between, the inner ones still call themselves active.
 * @module @deepseek-ai/dsh-goal-round-driver/lifetime
 */
import type { Fiber } from '@deepseek-ai/cordis'

/** `FiberState.UNLOADING`: Cordis declares the enum for types only. */
const FIBER_UNLOADING = 5

/**
 * Look at a fiber and at every one that it stands in.
 * @param fiber - the fiber of a plugin or of a scope.
 * @returns whether one of them is being unloaded, or is disposed.
 */
export function isLeaving(fiber: Fiber): boolean {
  const state: number = fiber.state
  if (fiber.uid === null || state === FIBER_UNLOADING) return true
  const parent = fiber.parent.fiber
  return parent !== fiber && isLeaving(parent)
}
