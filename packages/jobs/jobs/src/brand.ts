/**
 * The branded id of a background job. It stands in a module of its own, free of agent types, so that a program that
 * cannot resolve `dsh-agent` (a browser client, say) can import it.
 * @module @deepseek-ai/dsh-jobs/brand
 */
import type { Branded } from '@deepseek-ai/dsh-brand'

/** Identifies a background job, as `<kind>-<n>`. Ids can be guessed: ownership guards access, not secrecy. */
export type JobId = Branded<'JobId'>

/**
 * Brand a string as a job id.
 * @param id - the raw id.
 * @returns the same string; nothing is validated.
 */
export function JobId(id: string): JobId {
  return id as JobId
}
