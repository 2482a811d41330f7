/**
 * The command line: traces every log that the arguments name, and prints each as soon as it is traced. Those with a
 * question in trouble come last, where they are still on the screen at the end.
 * @module @deepseek-ai/dsh-ask-trace/cli
 */
import { realpath, writeFile } from 'node:fs/promises'
import { isInTrouble } from './advice.ts'
import { EXIT, type ExitCode } from './exit-code.ts'
import { explainLines } from './explain.ts'
import { findLogs, STDIN } from './find-logs.ts'
import { renderPage, type NumberedLog } from './html-page.ts'
import { messageOf } from './log-error.ts'
import { OPTION_LINES, parseOptions, UsageError, type Options } from './options.ts'
import { addSummaries, hasAny } from './summary.ts'
import { summaryLines, type LogCounts } from './summary-lines.ts'
import { logLines, type NumberedAsk } from './table.ts'
import { traceLog, type LogDefect, type LogTrace } from './trace-log.ts'
import type { AskSummary } from './types.ts'
import { BAD, DOUBTFUL } from './verdict.ts'
import { visible, visibleJson } from './visible.ts'

const USAGE = `Usage: dsh-ask-trace [options] <session.jsonl | session.jsonl.zstd | folder | ->...

Shows for every question that a model put to its user whether the answer reached the model: in the receipt of the
call (inner), in the result of the program or call around it (outer), and in the next model request (context).
A folder is searched for session.jsonl and session.jsonl.zstd at any depth; - reads a log from standard input.

${OPTION_LINES.join('\n')}
  --             what follows are paths, whatever they begin with

Exit code, the first that applies:
  64 the arguments make no sense     69 this version of Node is too old
  70 the command has a fault         74 the output cannot be written
  2  an input was refused, is damaged, or had rows left out
  1  an answer was lost, or a question stalled or was withdrawn
  3  some of it is doubtful
  0  nothing was lost
`

const NAME = 'dsh-ask-trace'

/** The width of a terminal that does not say. */
const USUAL_WIDTH = 80

/** Where the command writes. */
export interface CliOutput {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** How many columns the terminal has, if it is one. */
  readonly columns?: number | undefined
}

type Defect = LogDefect & { readonly path: string }

/**
 * @param args - the arguments after the command's name.
 * @param output - where reports and errors go; both get text from logs only with its control characters made visible.
 * @returns the exit code.
 */
export async function runCli(args: readonly string[], output: CliOutput): Promise<ExitCode> {
  try {
    const options = parseOptions(args)
    if (!options.help) return await new Run(options, output).run()
    output.out(USAGE)
    return EXIT.fine
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    output.err(`${NAME}: ${visible(error.message)}; see ${NAME} --help\n`)
    return EXIT.usage
  }
}

/** One run over all inputs. */
class Run {
  private readonly options: Options
  private readonly output: CliOutput
  private readonly width: number
  private readonly logs: NumberedLog[] = []
  private readonly defects: Defect[] = []
  /** Inputs that were traced, by their real paths. */
  private readonly seen = new Set<string>()
  /** What is printed behind everything else. */
  private readonly held: (readonly string[])[] = []
  private asks = 0

  constructor(options: Options, output: CliOutput) {
    this.options = options
    this.output = output
    this.width = output.columns ?? USUAL_WIDTH
  }

  async run(): Promise<ExitCode> {
    for (const input of this.options.paths) await this.input(input)
    const { explain, json, html } = this.options
    if (typeof explain === 'number' && explain > this.asks) {
      throw new UsageError(`there is no question ${explain}, only ${this.asks}`)
    }
    const summary = addSummaries(this.logs.map(({ trace }) => trace.report.summary))
    const counts = this.counts()
    if (json)
      this.print([
        visibleJson({
          logs: this.logs.map(({ trace }) => trace),
          defects: this.defects,
          summary: { ...summary, logs: counts },
        }),
      ])
    else this.print([...this.held.flat(), ...summaryLines(summary, counts)])
    if (html !== undefined && !(await this.writePage(html, summary, counts))) return EXIT.output
    if (counts.partly + counts.refused > 0) return EXIT.input
    if (hasAny(summary, BAD)) return EXIT.bad
    return hasAny(summary, DOUBTFUL) ? EXIT.doubtful : EXIT.fine
  }

  private async input(input: string): Promise<void> {
    const { logs, defects } = await findLogs(input)
    for (const defect of defects) this.refuse(defect)
    for (const path of logs) {
      const real = path === STDIN ? path : await realpath(path)
      if (this.seen.has(real)) continue
      this.seen.add(real)
      this.log(await traceLog(path))
    }
  }

  private log(trace: LogTrace): void {
    const { path, defect, read, report } = trace
    if (defect !== undefined) this.refuse({ path, ...defect })
    if (read === 'refused') return
    const numbered = report.asks.map(ask => ({ number: (this.asks += 1), ask }))
    this.logs.push({ trace, asks: numbered })
    if (this.options.json) return
    const lines = this.linesOf(trace, numbered)
    if (report.asks.some(isInTrouble)) this.held.push(lines)
    else this.print(lines)
  }

  /** @returns whether the page could be written. */
  private async writePage(file: string, summary: AskSummary, counts: LogCounts): Promise<boolean> {
    try {
      await writeFile(file, renderPage(this.logs, summary, counts))
      return true
    } catch (error) {
      this.output.err(`${NAME}: --html ${visible(file)} cannot be written: ${visible(messageOf(error))}\n`)
      return false
    }
  }

  private linesOf(trace: LogTrace, numbered: readonly NumberedAsk[]): string[] {
    const { explain, lost } = this.options
    const troubled = numbered.filter(({ ask }) => isInTrouble(ask))
    if (explain !== undefined) {
      const wanted = explain === 'trouble' ? troubled : numbered.filter(({ number }) => number === explain)
      return wanted.flatMap(each => [...explainLines(trace, each, this.width), ''])
    }
    if (!lost) return logLines(trace, numbered, this.width)
    return troubled.length === 0 ? [] : logLines(trace, troubled, this.width)
  }

  private refuse(defect: Defect): void {
    const { path, line, message } = defect
    this.defects.push(defect)
    this.output.err(`${NAME}: ${visible(path)}${line === undefined ? '' : `, line ${line}`}: ${visible(message)}\n`)
  }

  private print(lines: readonly string[]): void {
    if (lines.length > 0) this.output.out(`${lines.join('\n')}\n`)
  }

  private counts(): LogCounts {
    const whole = this.logs.filter(({ trace }) => trace.read === 'whole').length
    const partly = this.logs.length - whole
    const inParts = new Set(this.logs.map(({ trace }) => trace.path))
    const refused = this.defects.filter(({ path }) => !inParts.has(path)).length
    return { whole, partly, refused }
  }
}
