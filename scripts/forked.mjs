/**
 * The packages that stand here in place of published ones, and what their imports look like. One list for the module
 * hooks; its test compares it with the workspace.
 */

/** By what follows `@deepseek-ai/dsh-` in the name, and `stock-` in the npm alias of the published original. */
export const FORKED = [
  'goal-round-driver',
  'jobs',
  'jobs-local',
  'tool-jobs',
  'bash-local',
  'tool-bash',
  'user-questions',
  'tool-ask-user',
]

/**
 * Those that the profile of a stock `dsh` can have, whose other packages stay where they are. Not `user-questions`:
 * packages that stay import its classes too, and would not know the objects of a second copy.
 */
export const FOR_PROFILES = FORKED.filter(name => name !== 'user-questions')

/**
 * By package, the published one that has to stand beside it in a profile, unchanged, because no row names the package
 * itself: this one does, as its subclass, and would go on extending the published original.
 * @type {Readonly<Record<string, string>>}
 */
export const REACHED_THROUGH = { 'bash-local': 'bash-sandbox' }

const SPECIFIER = new RegExp(`^@deepseek-ai/dsh-(${FORKED.join('|')})(/.*)?$`)

/**
 * @param {string} specifier what an import names
 * @returns {{ name: string, entry: string } | undefined} the forked package's short name and the entry below it, such
 *   as `/brand` or nothing; `undefined` for any other import
 */
export function forkedImport(specifier) {
  const match = SPECIFIER.exec(specifier)
  return match === null ? undefined : { name: match[1] ?? '', entry: match[2] ?? '' }
}
