/**
 * What the tool prints of the commits that it made.
 * @module
 */
import type { MadeCommit } from './write.ts'

/**
 * Print a commit.
 * @param commit - as it was made.
 * @param inFull - file by file, instead of the sums alone.
 * @returns lines.
 */
export function renderCommit({ id, subject, files }: MadeCommit, inFull: boolean): string {
  const edited = files.filter(({ isNew }) => !isNew)
  const sum = (count: (file: (typeof files)[number]) => number) =>
    edited.reduce((total, file) => total + count(file), 0)
  const head = [
    `${id.slice(0, 10)} ${subject}`,
    `  ${files.length - edited.length} files added; in ${edited.length} others`
      + ` ${sum(({ added }) => added)} lines added, ${sum(({ removed }) => removed)} taken away`,
  ]
  const each = files.map(({ path, added, removed, isNew }) => `    ${isNew ? 'new ' : ''}${path} +${added} -${removed}`)
  return [...head, ...(inFull ? each : [])].join('\n')
}

/** The scripts of a checkout that a person runs before a change is handed in. */
const GATES = /^(build|check|coverage|constraints|docs?|format|gen|generate|knip|lint|test|typecheck|verify)\b/

/**
 * Say what is left to do by hand.
 * @param manifest - the checkout's `package.json`.
 * @returns lines.
 */
export function renderRest(manifest: string | undefined): string {
  const { scripts = {} } = manifest === undefined ? {} : (JSON.parse(manifest) as { scripts?: Record<string, string> })
  const gates = Object.keys(scripts).filter(name => GATES.test(name))
  return [
    'Left to you, on that branch: install, then the gates and generators of the checkout itself'
      + (gates.length === 0 ? '.' : ':'),
    ...gates.map(name => `  pnpm ${name}`),
  ].join('\n')
}
