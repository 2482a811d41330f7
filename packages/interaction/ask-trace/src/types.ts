/**
 * What a trace says about one question: its three layers, what they were judged by, and its verdict.
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
  /** A receipt that is neither an answer nor a failure: a policy's text, JSON that was cut, an older harness's shape. */
  | { readonly kind: 'unreadable'; readonly message: string }

/** A receipt that says why there is no answer. */
export type FailedLayer = Extract<InnerLayer, { readonly kind: 'denied' | 'failed' }>

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
  | 'delivered?'
  | 'awaiting-request'
  | 'lost-in-program'
  | 'lost-in-context'
  | 'lost?'
  | 'withdrawn'
  | 'denied'
  | 'failed'
  | 'unknown'
  | 'stalled'

/** How sure it is that a text carries what was said. */
export type MatchStrength = 'strong' | 'weak' | 'none'

/**
 * Why a match is what it is.
 *
 * | reason | strength | |
 * | --- | --- | --- |
 * | `receipt` | strong | the call was the model's own: its receipt is its result |
 * | `user-answer` | strong | the element that the question tool writes back, for this very call |
 * | `withdrawn-notice` | strong | the element that says that the question was withdrawn, for this very call |
 * | `whole-item` | strong | the question's id and what was selected or typed, in one object |
 * | `text` | strong | the text itself, eight characters or more |
 * | `short` | weak | fewer than eight characters, which may stand there for another reason |
 * | `other-option` | weak | an option that was not chosen stands in the same text |
 * | `in-question` | weak | the question's own wording has it too |
 * | `too-few` | weak | it stands there less often than it was answered |
 * | `part-of-other` | weak | it stands there only inside another option or answer |
 * | `inexact` | weak | in another letter case, or in a compatibility form |
 * | `other-text` | weak | in another text of the request, not in the call's result |
 * | `absent` | none | |
 */
export type MatchReason =
  | 'receipt'
  | 'user-answer'
  | 'withdrawn-notice'
  | 'whole-item'
  | 'text'
  | 'short'
  | 'other-option'
  | 'in-question'
  | 'too-few'
  | 'part-of-other'
  | 'inexact'
  | 'other-text'
  | 'absent'

/** At most 80 characters of a text, on one line, without escapes; the three parts in their order. */
export interface Excerpt {
  readonly before: string
  /** What was looked for, as it stands there; empty where nothing was found. */
  readonly match: string
  readonly after: string
}

/** A text of the log. */
export interface TracedPlace {
  /** Sequence number of its event. */
  readonly seq?: number
  /** The event's type, and whose it is: `tool/result of call-1`, `user/message of tool-ask-user`. */
  readonly event: string
  readonly excerpt: Excerpt
}

/** One label, one free text, or the message of a failure, looked for in one layer. */
export interface TracedMatch {
  /** Id of its question; empty for the message of a failure. */
  readonly question: string
  /** What was looked for, at most 80 characters of it. */
  readonly said: string
  readonly strength: MatchStrength
  readonly reason: MatchReason
  /** Where it stands. */
  readonly at?: TracedPlace
}

/** What a layer was judged by. */
export interface LayerEvidence {
  /** One for each thing that was looked for; the weakest 50, if there are more. */
  readonly matches: readonly TracedMatch[]
  /** What stood there, if something was not found. */
  readonly instead?: TracedPlace
}

/** What the three layers were judged by. A layer of which the log says nothing is absent. */
export interface AskEvidence {
  readonly inner?: TracedPlace
  readonly outer?: LayerEvidence
  readonly context?: LayerEvidence
}

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
  readonly evidence: AskEvidence
  /** Whether a message of the question tool's own brought the answer, or the withdrawal, back. */
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
  /** What is odd about the events themselves. */
  readonly notes: readonly string[]
}

/** The asks counted. */
export interface AskSummary {
  readonly asks: number
  readonly verdicts: Readonly<Record<Verdict, number>>
  /** Goal rounds spun after any lost answer, each counted once. */
  readonly roundsSpun: number
}
