/**
 * Which generations of the harness the changes fit.
 * @module
 */
import ts from 'typescript'
import type { Draft } from './draft.ts'
import { Refusal } from './refusal.ts'
import { Source } from './source.ts'

const REGISTRY = 'packages/jobs/jobs/src/index.ts'

/**
 * Refuse a generation whose job registry keeps the output itself: its waits are other ones.
 * @param files - the checkout's files.
 * @throws Refusal naming what was found.
 */
export function checkGeneration(files: Pick<Draft, 'read'>): void {
  const text = files.read(REGISTRY)
  if (text === undefined) throw new Refusal(`an unknown generation of the harness: there is no ${REGISTRY}`)
  const isEvents = (node: ts.Node): node is ts.ClassElement =>
    ts.isClassElement(node) && node.name?.getText() === 'events' && isRegistry(node.parent)
  if (new Source(REGISTRY, text).all(isEvents).length > 0)
    throw new Refusal('an unknown generation of the job registry: JobRegistry has `events`, as 0.1.6 and later have')
}

function isRegistry(node: ts.Node): boolean {
  return ts.isClassDeclaration(node) && node.name?.text === 'JobRegistry'
}
