/**
 * The command's arguments.
 * @module @deepseek-ai/dsh-ask-trace/options
 */
import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import { messageOf } from './log-error.ts'

/** What the arguments say. */
export interface Options {
  /** Files and folders; `-` for standard input. */
  readonly paths: readonly string[]
  readonly json: boolean
  readonly help: boolean
  /** Whether only questions in trouble are shown. */
  readonly lost: boolean
  /** The question that is explained, or all in trouble. */
  readonly explain: number | 'trouble' | undefined
  /** The file that gets everything as a page for a browser. */
  readonly html: string | undefined
}

/** The arguments make no sense; the message says why. */
export class UsageError extends Error {}

/** Each option with its line in the help; a new one is added here and in {@link parseOptions}. */
const OPTIONS = {
  explain: {
    type: 'string',
    usage: '--explain [n]',
    help: 'show the evidence: of question n, or of each question in trouble',
  },
  lost: { type: 'boolean', usage: '--lost', help: 'show only the questions in trouble' },
  html: { type: 'string', usage: '--html FILE', help: 'write everything, evidence included, as a page for a browser' },
  json: { type: 'boolean', usage: '--json', help: 'print everything, evidence included, as one JSON document' },
  help: { type: 'boolean', short: 'h', usage: '-h, --help', help: 'print this text' },
} as const satisfies ParseArgsOptionsConfig & Record<string, { readonly usage: string; readonly help: string }>

const IN_TROUBLE = 'trouble'

/** One line for each option. */
export const OPTION_LINES = Object.values(OPTIONS).map(({ usage, help }) => `  ${usage.padEnd(15)}${help}`)

/**
 * @param args - the arguments after the command's name.
 * @throws {UsageError} when they make no sense.
 */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(withExplained(args))
  const { json = false, help = false, lost = false, html } = values
  if (html === '') throw new UsageError('--html takes the file that is written')
  if (positionals.length === 0 && !help) throw new UsageError('no session log named')
  return { paths: positionals, json, help, lost, explain: explained(values.explain), html }
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true })
  } catch (error) {
    // The rest of Node's message is about its own workings.
    const [first = ''] = messageOf(error).split('. ')
    throw new UsageError(first.charAt(0).toLowerCase() + first.slice(1), { cause: error })
  }
}

/** The number behind `--explain` may be left out, which `parseArgs` does not know. */
function withExplained(args: readonly string[]): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length
  const at = args.slice(0, end).indexOf('--explain')
  if (at === -1) return [...args]
  const number = args[at + 1] ?? ''
  const isNumber = at + 1 < end && /^\d+$/.test(number)
  return [...args.slice(0, at), `--explain=${isNumber ? number : IN_TROUBLE}`, ...args.slice(at + (isNumber ? 2 : 1))]
}

function explained(value: string | undefined): Options['explain'] {
  if (value === undefined || value === IN_TROUBLE) return value
  if (!/^[1-9]\d*$/.test(value)) throw new UsageError(`--explain takes the number of a question, not ${value}`)
  return Number(value)
}
