/**
 * The command line: traces every log that the arguments name.
 * @module @deepseek-ai/dsh-ask-trace/cli
 */
import { findLogs } from './find-logs.ts'
import { addSummaries, hasAny } from './summary.ts'
import { logLines, summaryLine } from './table.ts'
import { traceLog, type LogDefect, type LogTrace } from './trace-log.ts'
import { BAD, DOUBTFUL } from './verdict.ts'
import { visible, visibleJson } from './visible.ts'

const USAGE = `Usage: dsh-ask-trace <session.jsonl | session.jsonl.zstd | folder>... [--json]

Shows for every question that a model put to its user whether the answer reached the model: in the receipt of the
call (inner), in the result of the program or call around it (outer), and in the next model request (context).
A folder is searched for session.jsonl and session.jsonl.zstd at any depth.

  --json      the whole trace as one JSON document
  -h, --help  this text

Exit code: 0 nothing was lost, 1 an answer was lost or a question stalled, 2 an input is no session log.
`

const NAME = 'dsh-ask-trace'

/** Where the command writes. */
export interface CliOutput {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** What one argument came to: logs, or a defect of its own. */
interface Input {
  readonly logs: readonly LogTrace[]
  readonly defects: readonly Defect[]
}

type Defect = LogDefect & { readonly path: string }

/**
 * @param args - the arguments after the command's name.
 * @param output - where reports and errors go; both get text from logs only with its control characters made visible.
 * @returns the exit code.
 */
export async function runCli(args: readonly string[], { out, err }: CliOutput): Promise<0 | 1 | 2 | 3> {
  const options = parse(args)
  if (typeof options === 'string') {
    err(`${NAME}: ${visible(options)}; see ${NAME} --help\n`)
    return 2
  }
  if (options.help) {
    out(USAGE)
    return 0
  }
  const inputs: Input[] = []
  for (const path of new Set(options.paths)) inputs.push(await traceInput(path))
  const logs = inputs.flatMap(input => input.logs)
  const defects = inputs.flatMap(input => input.defects)
  const summary = addSummaries(logs.map(({ report }) => report.summary))

  if (options.json) out(`${visibleJson({ logs, defects, summary })}\n`)
  else if (logs.length > 0) out(`${[...logs.flatMap(logLines), summaryLine(summary, logs.length)].join('\n')}\n`)
  for (const { path, line, message } of defects) {
    err(`${NAME}: ${visible(path)}${line === undefined ? '' : `, line ${line}`}: ${visible(message)}\n`)
  }
  if (defects.length > 0 || logs.some(({ read }) => read === 'partly')) return 2
  if (hasAny(summary, BAD)) return 1
  return hasAny(summary, DOUBTFUL) ? 3 : 0
}

/** @returns the options, or what is wrong with them. */
function parse(args: readonly string[]): { paths: string[]; json: boolean; help: boolean } | string {
  const options = new Set(args.filter(arg => arg.startsWith('-')))
  const paths = args.filter(arg => !arg.startsWith('-'))
  const json = options.delete('--json')
  const help = [options.delete('--help'), options.delete('-h')].includes(true)
  const [unknown] = options
  if (unknown !== undefined) return `unknown option ${unknown}`
  return paths.length === 0 && !help ? 'no session log named' : { paths, json, help }
}

async function traceInput(input: string): Promise<Input> {
  const found = await findLogs(input)
  const traces: LogTrace[] = []
  for (const path of found.logs) traces.push(await traceLog(path))
  // A file that fails on its first line is no log at all; one that fails later is traced up to there.
  const logs = traces.filter(({ defect, report }) => defect === undefined || report.summary.asks > 0)
  const defects = traces.flatMap(({ path, defect }) => (defect === undefined ? [] : [{ path, ...defect }]))
  return { logs, defects: [...found.defects, ...defects] }
}
