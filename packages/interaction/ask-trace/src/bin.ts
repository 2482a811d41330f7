#!/usr/bin/env node
/**
 * The command's entry. It looks at Node's version before anything else is imported, since an old one cannot even do that.
 * Writing to a pipe whose reader has gone is no failure: `dsh-ask-trace … | head` ends quietly.
 * @module @deepseek-ai/dsh-ask-trace/bin
 */
import { EXIT } from './exit-code.ts'
import { nodeProblem } from './node-version.ts'

/** Ends with this code; says why only once, since a full disk fails every write. */
function fail(code: number, message: string): void {
  if (process.exitCode === code) return
  process.stderr.write(`dsh-ask-trace: ${message}\n`)
  process.exitCode = code
}

async function main(): Promise<void> {
  const { runCli } = await import('./cli.ts')
  const code = await runCli(process.argv.slice(2), {
    out: text => void process.stdout.write(text),
    err: text => void process.stderr.write(text),
    columns: process.stdout.columns,
  })
  process.exitCode ??= code
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') fail(EXIT.output, `the output cannot be written: ${error.message}`)
})

const problem = nodeProblem(process.versions.node)
if (problem === undefined) {
  await main().catch((error: unknown) => {
    fail(
      EXIT.crash,
      `a fault of this command, please report it: ${String(error instanceof Error ? error.stack : error)}`,
    )
  })
} else {
  fail(EXIT.nodeVersion, problem)
}
