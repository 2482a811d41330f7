/** The harnesses of one suite: our packages unless a test says otherwise, and all gone after each test. */
import { afterEach } from 'vitest'
import { LocalJobRegistry } from '@deepseek-ai/dsh-jobs-local'
import * as toolJobs from '../src/index.ts'
import { World, type WorldOptions } from './world.ts'

const worlds: World[] = []

afterEach(async () => {
  await Promise.all(worlds.splice(0).map(world => world.dispose()))
})

export async function newWorld(options: Partial<WorldOptions> = {}): Promise<World> {
  const world = await World.create({ registry: LocalJobRegistry, tools: toolJobs, ...options })
  worlds.push(world)
  return world
}
