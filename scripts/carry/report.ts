/**
 * What the tool prints of the commits that it made.
 * @module
 */
import { parseJson } from './json.ts'
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

/** What a change has to pass, and what is generated from its sources, by the names of the harness. */
const LEFT = [
  'typecheck',
  'lint',
  'test:coverage',
  'gen-tool-catalog',
  'gen-config-catalog',
  'gen-cordis-catalog',
  'gen-cordis-api',
  'gen-module-graph',
  'gen-doc-graphs',
  'doc-sync',
  'hygiene',
  'test:snapshot',
]

/**
 * Say what is left to do by hand.
 * @param manifest - the checkout's `package.json`.
 * @returns lines.
 */
export function renderRest(manifest: string | undefined): string {
  const { scripts = {} } = parseJson('package.json', manifest ?? '{}') as { scripts?: Record<string, string> }
  const left = LEFT.filter(name => Object.hasOwn(scripts, name))
  return [
    'Left to you, in a checkout of these commits: install, then the gates and generators of the checkout itself.',
    ...left.map(name => `  pnpm run ${name}`),
  ].join('\n')
}
