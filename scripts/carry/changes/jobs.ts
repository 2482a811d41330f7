/**
 * The contract of the job registry: a wait may end before the job does.
 * @module
 */
import ts from 'typescript'
import type { Change } from '../change.ts'
import { addImport, addParameterTag, classNamed, interfaceNamed, memberOf } from '../find.ts'
import { ownMember } from '../own.ts'
import type { Source } from '../source.ts'
import { addNote, insertIntoReadme } from '../texts.ts'
import { editWithPage } from '../type-blocks.ts'

const SRC = 'packages/jobs/jobs/src'
const CATALOG = 'scripts/gen-cordis-catalog.ts'

export const jobs: Change = {
  group: 'jobs',
  message: [
    'feat(jobs): let output and steers end a wait',
    '',
    'A wait takes wake options: unread output of the job, or a message of the calling agent’s user, ends it while the job',
    'goes on. A producer that can tell of its output says so by onOutput. Without the options a wait is what it was.',
    '',
    'Refs #6030, #6285',
  ].join('\n'),
  files: [`${SRC}/wake-types.ts`],
  edit(target) {
    editWithPage(target, `${SRC}/types.ts`, 'JobHooks', 'docs/subsystems/jobs', source => {
      const readOutput = memberOf(source, interfaceNamed(source, 'JobHooks'), 'readOutput')
      source.linesAfter(readOutput, ownMember(`${SRC}/types.ts`, 'JobHooks', 'onOutput'))
    })
    target.source(`${SRC}/index.ts`, source => {
      addImport(source, `import type { JobWaitResult, JobWakeOptions } from './wake-types.ts'`)
      source.linesAfter(exportOfTypes(source), [`export type { JobWaitResult, JobWakeOptions } from './wake-types.ts'`])
      const wait = memberOf(source, classNamed(source, 'JobRegistry'), 'wait')
      addWakeParameter(source, wait)
      addParameterTag(source, wait, '@param wake - what else ends the wait; nothing does if it is left out.')
    })
    if (target.has(CATALOG)) target.source(CATALOG, linkTypes)
    insertIntoReadme(target, 'packages/jobs/jobs', [{ text: 'jobs/contract', section: 'Service contract' }])
    addNote(target, 'jobs/note', 'feature/2026-08-24-job-waits-end-early')
  },
}

/**
 * Give a registry's `wait` its fifth parameter, and the result that goes with it.
 * @param source - the file.
 * @param wait - the method.
 */
export function addWakeParameter(source: Source, wait: ts.Node): void {
  const isMethod = (node: ts.Node): node is ts.MethodDeclaration =>
    node === wait && ts.isMethodDeclaration(node) && node.parameters.length === 4
  const { parameters, type } = source.one('the method wait with four parameters', isMethod)
  source.after(source.given('the parameters of wait', parameters[3]), ', wake?: JobWakeOptions')
  const isSnapshot = (node: ts.Node): node is ts.TypeReferenceNode =>
    ts.isTypeReferenceNode(node) && node.getText() === 'JobSnapshot'
  source.replace(source.one('JobSnapshot as what wait returns', isSnapshot, type), 'JobWaitResult')
}

/** The catalog of services has to know the page of each type in a signature. */
function linkTypes(source: Source): void {
  const isSnapshot = (node: ts.Node): node is ts.PropertyAssignment =>
    ts.isPropertyAssignment(node) && node.name.getText() === 'JobSnapshot'
  const page = source.one('the page of JobSnapshot', isSnapshot)
  const text = page.initializer.getText()
  source.linesAfter(page, [`JobWaitResult: ${text},`, `JobWakeOptions: ${text},`])
}

function exportOfTypes(source: Source): ts.ExportDeclaration {
  const isExport = (node: ts.Node): node is ts.ExportDeclaration =>
    ts.isExportDeclaration(node)
    && node.isTypeOnly
    && node.moduleSpecifier !== undefined
    && ts.isStringLiteral(node.moduleSpecifier)
    && node.moduleSpecifier.text === './types.ts'
  return source.one('the export of types from ./types.ts', isExport)
}
