/**
 * How a user interface shows a call and its result. Both are told from what a session log keeps, so they are the same in
 * a replay.
 * @module @deepseek-ai/dsh-tool-bash/cards
 */
import type { ToolCallView, ToolResult, ToolResultView } from '@deepseek-ai/dsh-tools'
import { parseExitStatus } from './render.ts'
import type { BashArgs } from './schema.ts'

/**
 * Show a call that has been made: a terminal, or for a background job a plain card, since it has no output of its own.
 * @param args - the arguments of the call.
 * @returns the card.
 */
export function callCard({ command, description, workdir, run_in_background: background }: BashArgs): ToolCallView {
  return background === true
    ? {
        card: 'generic',
        title: command,
        kind: 'execute',
        rawInput: command,
        content: [{ type: 'text', text: description }],
      }
    : { card: 'terminal', title: command, description, ...(workdir !== undefined && { cwd: workdir }) }
}

/**
 * Show a result: the terminal's output and how the command exited, or as plain text what no command printed.
 * @param args - the arguments of the call.
 * @param result - the result that the model got.
 * @returns the card; `undefined` if a policy has put something other than one text in its place.
 */
export function resultCard(
  { run_in_background: background }: BashArgs,
  result: ToolResult,
): ToolResultView | undefined {
  const [block, ...others] = result.content
  if (block?.type !== 'text' || others.length > 0) return undefined
  if (background === true || result.isError) {
    const text = `\`\`\`console\n${block.text.replace(/\n+$/, '')}\n\`\`\``
    return { card: 'generic', content: [{ type: 'text', text }] }
  }
  const { body, ...exit } = parseExitStatus(block.text)
  return { card: 'terminal', output: body, ...exit }
}
