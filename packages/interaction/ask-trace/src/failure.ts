/**
 * Why a question failed. The receipt of a nested call holds no error code, only its text, so the known texts decide.
 * @module @deepseek-ai/dsh-ask-trace/failure
 */
import { isGoalRoundDenial } from '@deepseek-ai/dsh-goal-round-driver'
import type { DenialRule, FailedLayer } from './types.ts'

/** What an approval decided; `allowed-once` is no denial. */
const DENYING_OUTCOMES: ReadonlyMap<string, DenialRule> = new Map([
  ['rejected', 'approval-rejected'],
  ['cancelled', 'approval-cancelled'],
  ['unavailable', 'approval-unavailable'],
])

/** The error code behind each fixed text of the questions seam and of the tool registry. */
const CODES: ReadonlyMap<string, string> = new Map([
  ['ask_user_question was aborted before the user answered', 'ASK_ABORTED'],
  ['ask_user_question requires at least one question', 'EMPTY_QUESTIONS'],
  ['human interaction requires the exact live calling agent when an agent is supplied', 'CALLER_NOT_LIVE'],
  [
    'human interaction is unavailable while the calling agent is owned by another live agent; include the unresolved'
      + " question or decision in the child agent's final result",
    'DELEGATED_CALLER',
  ],
  ['no user-questions provider is registered', 'NO_PROVIDER'],
  ['tool call aborted', 'ABORTED'],
  ['tool call aborted before dispatch', 'ABORTED_BEFORE_DISPATCH'],
])

/** What a receipt says, beside its text. */
export interface FailureHints {
  /** The code in the receipt; only a native call's has one. */
  readonly code?: string | undefined
  /** What the approval for this very call decided, if one was asked. */
  readonly approval?: string | undefined
}

/**
 * @param receipt - the text of a failed receipt.
 * @param hints - what else the log knows of the failure.
 * @returns the rule that denied the question, or else the code of the failure; `UNKNOWN` for a text nobody knows,
 *   which may be a listener's own denial or a fault of whoever asks the human.
 */
export function failureOf(receipt: string, { code, approval }: FailureHints): FailedLayer {
  const message = receipt.startsWith('Error: ') ? receipt.slice('Error: '.length) : receipt
  if (isGoalRoundDenial(message)) return { kind: 'denied', rule: 'goal-round', message }
  const rule = DENYING_OUTCOMES.get(approval ?? '')
  if (rule !== undefined) return { kind: 'denied', rule, message }
  const known = code ?? CODES.get(message) ?? 'UNKNOWN'
  return known === 'DELEGATED_CALLER'
    ? { kind: 'denied', rule: 'delegated-caller', message }
    : { kind: 'failed', code: known, message }
}

/** Codes of a call that was cut off while it ran. */
const ABORTS: ReadonlySet<string> = new Set(['ASK_ABORTED', 'ABORTED'])

/** @returns whether a failure is that of a call that was aborted while it ran. */
export function isAbortCode(code: string): boolean {
  return ABORTS.has(code)
}

/**
 * @param result - the text of a failed result.
 * @param hints - what else the log knows of it.
 * @returns whether the call was aborted, before or while it ran.
 */
export function isAbort(result: string, hints: FailureHints): boolean {
  const failure = failureOf(result, hints)
  return failure.kind === 'failed' && (isAbortCode(failure.code) || failure.code === 'ABORTED_BEFORE_DISPATCH')
}
