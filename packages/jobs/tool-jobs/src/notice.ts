/**
 * The text of a completion notice, whole and under a byte limit.
 * @module @deepseek-ai/dsh-tool-jobs/notice
 */
import type { JobSnapshot } from '@deepseek-ai/dsh-jobs'
import { byteLength, cut } from './byte-limit.ts'
import { statusLine } from './snapshot.ts'

const ACTION = '\nDone; job_output.'
const MARKER = '\n[notice truncated]'

/**
 * Tell how a job ended and where its output is. Under a limit the job's id and the action come first, then a marker,
 * then as much of the rest as fits between them; if even id and action are too long, the action is kept longest.
 * @param snapshot - the ended job, with its limit.
 * @returns the text of the notice.
 */
export function noticeText(snapshot: JobSnapshot): string {
  const { id, kind, label, outputLimitBytes: limit = Infinity } = snapshot
  const head = `background job ${id}`
  const rest = ` (${kind}: ${label}) finished ${statusLine(snapshot)}. Read its output with job_output.`
  if (byteLength(head + rest) <= limit) return head + rest

  const room = limit - byteLength(ACTION)
  if (room < 0) return cut('tail', ACTION, limit)
  const roomForRest = room - byteLength(head + MARKER)
  if (roomForRest < 0) return cut('head', head, room) + ACTION
  return head + cut('head', rest, roomForRest) + MARKER + ACTION
}
