/**
 * The command's exit codes. Those from 64 on are the usual ones of `sysexits.h`: the command itself could not do its work.
 * @module @deepseek-ai/dsh-ask-trace/exit-code
 */

/** What the command ends with; the first of these that applies. */
export const EXIT = {
  /** The arguments make no sense. */
  usage: 64,
  /** This version of Node cannot run the command. */
  nodeVersion: 69,
  /** The command has a fault. */
  crash: 70,
  /** The output cannot be written. */
  output: 74,
  /** An input was refused, is damaged, or had rows left out. */
  input: 2,
  /** An answer was lost, or a question stalled or was withdrawn. */
  bad: 1,
  /** Something is doubtful, and nothing worse. */
  doubtful: 3,
  /** Everything was read, and nothing was lost. */
  fine: 0,
} as const

/** One of them. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
