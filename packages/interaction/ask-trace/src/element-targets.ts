/**
 * Which question an element that the question tool wrote past a program belongs to (`write-back.ts`). It names its call;
 * of a first form that did not, it is the oldest question with these very answers, else the oldest with these ids.
 * @module @deepseek-ai/dsh-ask-trace/element-targets
 */
import type { OpenAsk } from './open-ask.ts'
import { QueueMap } from './queue-map.ts'
import { writtenCallOf, type WriteBack } from './write-back.ts'

/** The questions of the coming request that an element may be about. */
export class ElementTargets {
  private readonly byCall = new QueueMap<OpenAsk>()
  /** Not yet among the two that follow: only an element of the first form needs them. */
  private unsorted: OpenAsk[] = []
  private readonly byAnswers = new QueueMap<OpenAsk>()
  private readonly byIds = new QueueMap<OpenAsk>()
  /** The question whose element waits in the inbox, by the message's id. */
  private readonly queued = new Map<string, OpenAsk>()

  /** A nested question has its receipt. */
  add(ask: OpenAsk): void {
    this.byCall.add(writtenCallOf(ask.start.calls.sub as string), ask)
    this.unsorted.push(ask)
  }

  /**
   * An element waits in the inbox.
   * @param element - what it says.
   * @param message - its message's id.
   */
  queue(element: WriteBack, message: string): void {
    const ask = this.find(element, awaits)
    if (ask === undefined) return
    if (element.kind !== 'withdrawn') ask.isQueued = true
    this.queued.set(message, ask)
  }

  /**
   * An element is a message of the request.
   * @param element - what it says.
   * @param message - its message's id.
   * @returns its question.
   */
  take(element: WriteBack, message: string): OpenAsk | undefined {
    const queued = this.queued.get(message)
    return queued?.awaitsElement === true ? queued : this.find(element, ({ awaitsElement }) => awaitsElement)
  }

  /** The request was made. */
  clear(): void {
    for (const queue of [this.byCall, this.byAnswers, this.byIds, this.queued]) queue.clear()
    this.unsorted = []
  }

  private sort(ask: OpenAsk): void {
    const { inner, start } = ask
    if (inner.kind === 'answered') this.byAnswers.add(JSON.stringify(inner.answers), ask)
    if (inner.kind === 'answered' || inner.kind === 'unreadable' || isAborted(ask)) {
      this.byIds.add(idsOf(start.questions), ask)
    }
  }

  private find(element: WriteBack, waits: (ask: OpenAsk) => boolean): OpenAsk | undefined {
    if (element.kind !== 'answers') return this.byCall.first(element.call, waits)
    for (const ask of this.unsorted.splice(0)) this.sort(ask)
    return (
      this.byAnswers.first(JSON.stringify(element.answers), waits) ?? this.byIds.first(idsOf(element.answers), waits)
    )
  }
}

function awaits({ awaitsElement, isQueued }: OpenAsk): boolean {
  return awaitsElement && !isQueued
}

function isAborted({ inner }: OpenAsk): boolean {
  return inner.kind === 'failed' && inner.code === 'ABORTED'
}

function idsOf(items: readonly { readonly id: string }[]): string {
  return JSON.stringify(items.map(({ id }) => id).sort())
}
