/**
 * Lines up the three layers of every question in a session log, and says which of them lost the answer.
 * @module @deepseek-ai/dsh-ask-trace
 */
export { createAskTrace, traceAsks, type AskTrace } from './ask-trace.ts'
export { findLogs, type FoundLogs } from './find-logs.ts'
export { SessionLogError } from './log-error.ts'
export { readSessionLog } from './session-log.ts'
export { traceLog, type LogDefect, type LogTrace } from './trace-log.ts'
export type * from './types.ts'
