/**
 * Values that wait under a key, oldest first. Ids in a log may repeat, so one key may have several.
 * @module @deepseek-ai/dsh-ask-trace/queue-map
 */

/** A queue for each key. Taking from one is as cheap for thousands of values as for one. */
export class QueueMap<Value> {
  private readonly queues = new Map<string, { readonly values: Value[]; from: number }>()
  private count = 0

  /** How many values wait. */
  get size(): number {
    return this.count
  }

  /** Adds a value behind the others of its key. */
  add(key: string, value: Value): void {
    const queue = this.queues.get(key)
    if (queue === undefined) this.queues.set(key, { values: [value], from: 0 })
    else queue.values.push(value)
    this.count += 1
  }

  /**
   * @param key - the key.
   * @param waits - whether a value still waits; one that does not is dropped for good.
   * @returns the oldest value of the key that waits; it stays.
   */
  first(key: string, waits: (value: Value) => boolean = () => true): Value | undefined {
    const queue = this.queues.get(key)
    if (queue === undefined) return undefined
    for (; queue.from < queue.values.length; queue.from += 1, this.count -= 1) {
      const value = queue.values[queue.from] as Value
      if (waits(value)) return value
    }
    this.queues.delete(key)
    return undefined
  }

  /** @returns the oldest value of the key, which is then gone. */
  take(key: string): Value | undefined {
    const value = this.first(key)
    const queue = this.queues.get(key)
    if (queue !== undefined) {
      queue.from += 1
      this.count -= 1
    }
    return value
  }

  /** Drops everything. */
  clear(): void {
    this.queues.clear()
    this.count = 0
  }
}
