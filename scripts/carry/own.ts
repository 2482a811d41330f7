/**
 * Declarations of this repository that are put into a file of the checkout, as they are here.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { interfaceNamed, memberOf } from './find.ts'
import { Source } from './source.ts'

const root = join(import.meta.dirname, '../..')

/**
 * Read a member of an interface, with its comment.
 * @param path - of the file here, from the root.
 * @param owner - the interface.
 * @param name - the member.
 * @returns its lines, without the indentation of their level.
 */
export function ownMember(path: string, owner: string, name: string): string[] {
  const source = new Source(path, readFileSync(join(root, path), 'utf8'))
  const member = memberOf(source, interfaceNamed(source, owner), name)
  const text = source.tree.text.slice(member.getStart(source.tree, true), member.end)
  return text.split('\n').map(line => line.replace(/^ {2}/, ''))
}
