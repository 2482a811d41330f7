/**
 * Declarations of this repository that are put into a file of the checkout, as they are here.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { interfaceNamed, memberOf, variableNamed } from './find.ts'
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
  const source = ownSource(path)
  const member = memberOf(source, interfaceNamed(source, owner), name)
  const start = member.getStart(source.tree, true)
  const { character } = source.tree.getLineAndCharacterOfPosition(start)
  return source.tree.text
    .slice(start, member.end)
    .split('\n')
    .map((line, index) => (index === 0 ? line : line.slice(character)))
}

/**
 * Read which properties an object has.
 * @param path - of the file here, from the root.
 * @param name - the constant that is the object.
 * @returns their names.
 */
export function ownKeys(path: string, name: string): string[] {
  const { initializer } = variableNamed(ownSource(path), name)
  const properties =
    initializer !== undefined && ts.isObjectLiteralExpression(initializer) ? initializer.properties : []
  return properties.flatMap(property => property.name?.getText() ?? [])
}

function ownSource(path: string): Source {
  return new Source(path, readFileSync(join(root, path), 'utf8'))
}
