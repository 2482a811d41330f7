/**
 * What is odd about the events of a log, beyond what any question shows.
 * @module @deepseek-ai/dsh-ask-trace/event-notes
 */

/** Collects oddities, and says each of them once. */
export class EventNotes {
  private lastSeq: number | undefined
  private seqFaults = 0
  private firstSeqFault = 0
  private oldResults = 0
  private firstOldResult: number | undefined

  /** An event's sequence number. */
  seq(seq: number): void {
    if (this.lastSeq !== undefined && seq <= this.lastSeq) {
      if (this.seqFaults === 0) this.firstSeqFault = seq
      this.seqFaults += 1
    }
    this.lastSeq = seq
  }

  /** A `tool/result` without a message. */
  oldResult(seq: number | undefined): void {
    if (this.oldResults === 0) this.firstOldResult = seq
    this.oldResults += 1
  }

  /** @returns one sentence for each kind. */
  lines(): string[] {
    const { seqFaults, oldResults, firstOldResult } = this
    const at = firstOldResult === undefined ? '' : `, the first at seq ${firstOldResult}`
    return [
      ...(seqFaults === 0 ? [] : [`seq repeats or goes back ${seqFaults} times, first at seq ${this.firstSeqFault}`]),
      ...(oldResults === 0
        ? []
        : [`${oldResults} tool/result events have no data.message${at}: an older payload shape, which is not read`]),
    ]
  }
}
