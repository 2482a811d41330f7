/**
 * What the packages are called in the checkout: a fork may have renamed them all.
 * @module
 */
import { parseJson } from './json.ts'
import { Refusal } from './refusal.ts'

/** The beginning of every package name here. */
const OURS = '@deepseek-ai/dsh-'

/** A package that every generation of the harness has. */
const KNOWN = 'packages/goal/goal-round-driver/package.json'

/** The names of a checkout, made from ours. */
export interface Scope {
  /** What stands in the place of `@deepseek-ai/dsh-`. */
  readonly prefix: string
  /** Rename every package that a text of ours names. */
  rename(text: string): string
}

/**
 * Read a checkout's names from one of its packages.
 * @param read - reads a committed file.
 * @returns the names.
 * @throws Refusal if the checkout is not the harness.
 */
export function readScope(read: (path: string) => string | undefined): Scope {
  const manifest = read(KNOWN)
  const { name } = manifest === undefined ? {} : parseJson(KNOWN, manifest)
  const prefix = /^(.*)goal-round-driver$/.exec(String(name))?.[1]
  if (prefix === undefined)
    throw new Refusal(`not a checkout of DeepSeek Harness: there is no ${KNOWN} that names the package`)
  const ownScope = OURS.split('/')[0] ?? ''
  const theirScope = prefix.split('/')[0] ?? ''
  return {
    prefix,
    rename: text => text.replaceAll(OURS, prefix).replaceAll(`${ownScope}/`, `${theirScope}/`),
  }
}
