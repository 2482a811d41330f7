/** Whether this machine has a sandbox that works, for tests that need one. */
import { Context } from '@deepseek-ai/cordis'
import { LocalSandboxProvider } from '@deepseek-ai/dsh-sandbox-local'

/** @returns whether bubblewrap, Landlock or Seatbelt confines commands here. */
export async function canConfine(): Promise<boolean> {
  const ctx = new Context()
  try {
    await ctx.plugin(LocalSandboxProvider, {})
    ctx.sandbox.confine(['true'], { mode: 'read-only', workspaceRoot: '/' })
    return true
  } catch {
    return false
  } finally {
    await ctx.fiber.dispose()
  }
}
