/**
 * The importers of `pnpm-lock.yaml`: which packages of the workspace a package links.
 * @module
 */
import { posix } from 'node:path'
import type { Target } from './change.ts'
import { MissingPlace } from './refusal.ts'

const LOCK = 'pnpm-lock.yaml'

/** A section of an importer; peers are not listed there. */
export type LockSection = 'dependencies' | 'devDependencies'

/**
 * Add a package of the workspace to an importer, unless it is there.
 * @param target - the checkout's files.
 * @param folder - the importer's folder.
 * @param section - where it is listed.
 * @param needed - the package's name and folder.
 * @throws MissingPlace without a lock file that has the importer.
 */
export function lockDependency(
  target: Target,
  folder: string,
  section: LockSection,
  { name, path }: { readonly name: string; readonly path: string },
): void {
  const text = target.read(LOCK)
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const lines = text.split(eol)
  const key = name.startsWith('@') ? `'${name}'` : name
  const link = `link:${posix.relative(folder, path)}`
  // Where the workspace replaces a name, the lock file has the link in place of the range.
  const isReplaced = lines.some(
    (line, i) => line === `      ${key}:` && lines[i + 1]?.startsWith('        specifier: link:') === true,
  )
  const entry = [`      ${key}:`, `        specifier: ${isReplaced ? link : 'workspace:^'}`, `        version: ${link}`]

  const start = lines.indexOf(`  ${folder}:`)
  if (start < 0) throw new MissingPlace(`${LOCK}: there is no importer ${folder}`)
  const end = lines.indexOf('', start)
  const head = lines.indexOf(`    ${section}:`, start)
  if (head < 0 || head > end) {
    // `dependencies` stands in front of `devDependencies`.
    lines.splice(section === 'dependencies' ? start + 1 : end, 0, `    ${section}:`, ...entry)
  } else {
    const next = lines.findIndex(
      (line, i) => i > head && (i === end || !line.startsWith('      ') || line.slice(6) >= `${key}:`),
    )
    if (lines[next] === `      ${key}:`) return
    lines.splice(next, 0, ...entry)
  }
  target.write(LOCK, lines.join(eol))
}
