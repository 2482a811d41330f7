/**
 * The member by which a process of `ctx.shell` tells of its output. An executor without it is served all the same.
 * @module @deepseek-ai/dsh-bash-local/shell-process
 */
import type {} from '@deepseek-ai/dsh-shell'

declare module '@deepseek-ai/dsh-shell' {
  interface ShellProcess {
    /**
     * Listen for output that a read would return.
     * @param listener - called once before `onOutput` returns if output is unread then, and once after each time that
     *   more of it is found. It may read, kill, subscribe and dispose.
     * @returns the disposer, which may be called twice.
     */
    onOutput?: (listener: () => void) => () => void
  }
}
