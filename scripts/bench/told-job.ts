/** A job of the bench, which tells of its output as the contract says. The published packages know no such thing and read. */
import type { JobHooks, JobOutcome } from '@deepseek-ai/dsh-jobs'

/** A job driven by hand. */
export class ToldJob implements JobHooks {
  readonly done: Promise<JobOutcome>
  readonly end: (outcome: JobOutcome) => void
  private readonly listeners = new Set<() => void>()
  private unread = ''

  constructor() {
    const { promise, resolve } = Promise.withResolvers<JobOutcome>()
    this.done = promise
    this.end = resolve
  }

  print(text: string): void {
    this.unread += text
    for (const listener of [...this.listeners]) listener()
  }

  cancel(): void {
    this.end({ status: 'killed' })
  }

  readOutput(): string {
    const text = this.unread
    this.unread = ''
    return text
  }

  onOutput(listener: () => void): () => void {
    this.listeners.add(listener)
    if (this.unread !== '') listener()
    return () => this.listeners.delete(listener)
  }
}
