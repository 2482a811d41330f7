/**
 * What a trace says about one question: its three layers and its verdict.
 * @module @deepseek-ai/dsh-ask-trace/types
 */

/** One question, as the model asked it. Fields the model left out are absent. */
export interface TracedQuestion {
  readonly id: string
  readonly question: string
  readonly header?: string
  readonly options: readonly TracedOption[]
}

/** One choice of a question. */
export interface TracedOption {
  readonly label: string
  readonly description?: string
}

/** What the human said to one question; both empty means skipped. */
export interface TracedAnswer {
  readonly id: string
  readonly selected: readonly string[]
  readonly custom?: string
}

/** Why a question was never put to a human. */
export type DenialRule =
  'goal-round' | 'delegated-caller' | 'approval-rejected' | 'approval-cancelled' | 'approval-unavailable'

/** The receipt of the call itself. */
export type InnerLayer =
  | { readonly kind: 'answered'; readonly answers: readonly TracedAnswer[] }
  | { readonly kind: 'denied'; readonly rule: DenialRule; readonly message: string }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  | { readonly kind: 'pending'; readonly reason: PendingReason }

/** A receipt that is no answer. */
export type FailedLayer = Extract<InnerLayer, { readonly message: string }>

/** Why there is no receipt: none was written, or crash repair wrote one in its place. */
export type PendingReason = 'NO_RECEIPT' | 'TOOL_OUTCOME_UNKNOWN' | 'TOOL_NOT_STARTED'

/** The `tool/result` of the root call. */
export type OuterLayer = 'carries' | 'lacks' | 'missing'

/** What the next model request was built from. */
export type ContextLayer = 'carries' | 'lacks' | 'no-request-yet'

/** What became of the question. */
export type Verdict =
  | 'delivered'
  | 'delivered-by-write-back'
  | 'awaiting-request'
  | 'lost-in-program'
  | 'lost-in-context'
  | 'denied'
  | 'failed'
  | 'stalled'

/** One `ask_user_question` call. */
export interface TracedAsk {
  readonly mode: 'native' | 'nested'
  /** The model's own call; for a nested call also the call that made it, and the call itself. */
  readonly calls: { readonly root: string; readonly parent?: string; readonly sub?: string }
  readonly turn?: number
  /** The goal round that owned the turn. */
  readonly goalRound?: { readonly goalId: string; readonly round: number }
  /** Sequence number and time (Unix ms) of the call's first event. */
  readonly seq?: number
  readonly time?: number
  readonly questions: readonly TracedQuestion[]
  readonly inner: InnerLayer
  readonly outer: OuterLayer
  readonly context: ContextLayer
  /** Whether the answer came back as a context message of its own. */
  readonly writtenBack: boolean
  /** From the call to its receipt; without one, to the end of its turn or of the log. */
  readonly waitedMs?: number
  readonly verdict: Verdict
  /** Goal rounds that began after the answer was lost, up to the human's next message or the next delivered answer. */
  readonly roundsSpun: number
}

/** All asks of a log, in the order in which they were made. */
export interface AskReport {
  readonly asks: readonly TracedAsk[]
  readonly summary: AskSummary
}

/** The asks counted. */
export interface AskSummary {
  readonly asks: number
  readonly verdicts: Readonly<Record<Verdict, number>>
  /** Goal rounds spun after any lost answer, each counted once. */
  readonly roundsSpun: number
}
