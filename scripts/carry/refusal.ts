/**
 * Why nothing was carried: said in one line, and the checkout is as it was.
 * @module
 */

/** Something about the checkout or the call that has to change first; the exit code is 2. */
export class Refusal extends Error {
  readonly exitCode: 1 | 2 = 2
}

/** A place in the checkout's code that is not there exactly once; the exit code is 1. */
export class MissingPlace extends Refusal {
  override readonly exitCode = 1
}
