/** Prints how the process was started, as JSON, and ends it with exit code 7, for a test. */
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-cmdline'

export const name = 'e2e-show-launch'
export const inject = ['cmdlineArgs']

export function apply(ctx: Context): void {
  console.log(JSON.stringify({ cwd: process.cwd(), args: ctx.get('cmdlineArgs')?.get() }))
  ctx.get('appExit')?.(7)
}
