/**
 * Whether a version of Node can run the command. This module imports nothing, so that it runs on any.
 * @module @deepseek-ai/dsh-ask-trace/node-version
 */

/**
 * @param version - as `process.versions.node` has it.
 * @returns what is wrong with it, in a sentence; undefined if nothing is.
 */
export function nodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major >= 24 || (major === 22 && minor >= 19)) return undefined
  return `needs Node 22.19 or newer of 22, or 24 and newer, which can read zstd; this is Node ${version}`
}
