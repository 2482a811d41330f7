#!/usr/bin/env node
/**
 * The command's entry. Writing to a pipe whose reader has gone is no failure: `dsh-ask-trace … | head` ends quietly.
 * @module @deepseek-ai/dsh-ask-trace/bin
 */
import { runCli } from './cli.ts'

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await runCli(process.argv.slice(2), {
  out: text => void process.stdout.write(text),
  err: text => void process.stderr.write(text),
})
