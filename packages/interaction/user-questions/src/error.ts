/**
 * The error of the seam, and its way back from another process.
 * @module @deepseek-ai/dsh-user-questions/error
 */
import { HarnessError } from '@deepseek-ai/dsh-llm'

const ERROR_NAME = 'UserQuestionError'

/** Why a question got no answer; route on `code`, the README has the list. */
export class UserQuestionError extends HarnessError {
  /**
   * @param message - what the model or the caller reads.
   * @param code - stable class of the failure.
   * @param options - the cause, if another error led here.
   */
  constructor(message: string, code: string, options?: ErrorOptions) {
    super(message, code, options)
    this.name = ERROR_NAME
  }
}

/**
 * Recognise a question error that a wire, or another copy of this module, stripped of its class.
 * @param error - whatever an answerer threw.
 * @returns the error as a {@link UserQuestionError} with `error` as its cause, `error` itself when it is one already,
 *   or `undefined` when it is no question error.
 */
export function restoreQuestionError(error: unknown): UserQuestionError | undefined {
  if (error instanceof UserQuestionError) return error
  if (typeof error !== 'object' || error === null) return undefined
  const { name, message, code } = error as Partial<Record<'name' | 'message' | 'code', unknown>>
  if (name !== ERROR_NAME || typeof message !== 'string' || typeof code !== 'string') return undefined
  return new UserQuestionError(message, code, { cause: error })
}
