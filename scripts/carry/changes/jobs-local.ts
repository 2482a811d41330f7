/**
 * The registry in the process: output and steers end its waits (#6030, #6285).
 * @module
 */
import ts from 'typescript'
import type { Change } from '../change.ts'
import {
  addImport,
  addImportedTypes,
  assignmentTo,
  bodyOf,
  callOf,
  classNamed,
  memberOf,
  statementOf,
  variableNamed,
} from '../find.ts'
import { need } from '../manifest.ts'
import type { Source } from '../source.ts'
import { addNote, insertIntoReadme } from '../texts.ts'
import { addWakeParameter } from './jobs.ts'

const PACKAGE = 'packages/jobs/jobs-local'

export const jobsLocal: Change = {
  group: 'jobs',
  message: [
    'fix(jobs-local): end a wait at output or at a steer',
    '',
    'A message of the user stayed unread for as long as a wait lasted, and a wait showed nothing of what the job printed',
    'until it ended. Nothing is read to see whether there is output: the registry subscribes to the producer while a wait',
    'lasts. How often output ends waits is paced, and a steer ends every wait of its agent until it is read.',
    '',
    'Refs #6030, #6285',
  ].join('\n'),
  files: [
    ...['wait-wake', 'output-pace', 'steer-watch', 'wake-settings'].flatMap(name => [
      `${PACKAGE}/src/${name}.ts`,
      `${PACKAGE}/tests/${name}.spec.ts`,
    ]),
  ],
  edit(target) {
    target.source(`${PACKAGE}/src/index.ts`, source => {
      addImportedTypes(source, target.scope.rename('@deepseek-ai/dsh-jobs'), 'JobWaitResult, JobWakeOptions')
      addImport(source, `import { SteerWatch } from './steer-watch.ts'`)
      addImport(source, `import { JobWakes } from './wait-wake.ts'`)
      addImport(source, `import { wakeSettings } from './wake-settings.ts'`)
      const registry = classNamed(source, 'LocalJobRegistry')
      keepSteers(source, registry)
      keepWakes(source, registry)
      editRead(source, registry)
      editWait(source, registry)
      const ended = statementOf(assignmentTo(source, '.finishedAt', bodyOf(source, 'settle', registry)))
      source.linesAfter(ended, ['job.wakes.close()'])
    })
    need(target, PACKAGE, {
      dev: ['packages/core/agent-loop', 'packages/llm/llm', 'packages/test-support/agent-loop-testkit'],
    })
    insertIntoReadme(target, PACKAGE, [{ text: 'jobs-local/waits', section: 'Lifecycle' }])
    addNote(target, 'jobs-local/note', 'bug-fix/2026-08-24-jobs-local-wait-wakes')
  },
}

function keepSteers(source: Source, registry: ts.ClassDeclaration): void {
  source.linesAfter(memberOf(source, registry, 'selfCtx'), ['private readonly steers: SteerWatch'])
  const setUp = bodyOf(source, 'constructor', registry)
  const isOwnContext = (node: ts.Node): node is ts.Statement =>
    node.parent === setUp && node.getText() === 'this.selfCtx = ctx'
  source.linesAfter(source.one('the assignment of selfCtx', isOwnContext, setUp), [
    'this.steers = new SteerWatch(ctx, (fault) => {',
    '  ctx.logger.warn(`jobs: ${fault}`)',
    '})',
  ])
}

/** The record keeps the wakes in the place of `readOutput`, which only they call. */
function keepWakes(source: Source, registry: ts.ClassDeclaration): void {
  const isRecord = (node: ts.Node): node is ts.InterfaceDeclaration =>
    ts.isInterfaceDeclaration(node) && node.members.some(({ name }) => name?.getText() === 'waitResolvers')
  const record = source.one('the interface of the record, which has waitResolvers', isRecord)
  source.replace(memberOf(source, record, 'readOutput'), 'wakes: JobWakes')
  const isReader = (node: ts.Node): node is ts.PropertyAssignment =>
    ts.isPropertyAssignment(node) && node.name.getText() === 'readOutput'
  const reader = source.one('the property readOutput of the record', isReader, registry)
  const hooks = source.one('the hooks that readOutput is taken from', isFirstName, reader.initializer).text
  source.one('the property id of the record', isId, reader.parent)
  source.replaceLine(reader, [
    `wakes: new JobWakes(${hooks}, this.steers, (fault) => {`,
    '  this.selfCtx.logger.warn(`jobs: job ${id} ${fault}`)',
    '}),',
  ])
}

const isId = (node: ts.Node): node is ts.ShorthandPropertyAssignment =>
  ts.isShorthandPropertyAssignment(node) && node.name.text === 'id'

/** `hooks` in `hooks.readOutput?.bind(hooks)`. */
const isFirstName = (node: ts.Node): node is ts.Identifier =>
  ts.isIdentifier(node) && ts.isPropertyAccessExpression(node.parent) && node.parent.expression === node

function editRead(source: Source, registry: ts.ClassDeclaration): void {
  const isChoice = (node: ts.Node): node is ts.ConditionalExpression =>
    ts.isConditionalExpression(node) && node.condition.getText().includes('.readOutput')
  const choice = source.one('the choice by readOutput', isChoice, bodyOf(source, 'read', registry))
  variableNamed(source, 'job', bodyOf(source, 'read', registry))
  source.replace(choice, `job.wakes.read() ?? (${choice.whenFalse.getText()})`)
}

function editWait(source: Source, registry: ts.ClassDeclaration): void {
  addWakeParameter(source, memberOf(source, registry, 'wait'))
  const body = bodyOf(source, 'wait', registry)
  for (const name of ['job', 'd', 'onSettled', 'uncount']) variableNamed(source, name, body)
  const isNew = (node: ts.Node): node is ts.NewExpression =>
    ts.isNewExpression(node) && node.expression.getText() === 'Promise' && ts.isAwaitExpression(node.parent)
  const promise = source.one('the promise that wait awaits', isNew, body)
  const isOuter = (node: ts.Node): node is ts.IfStatement =>
    ts.isIfStatement(node) && node.parent === body && node.pos < promise.pos && promise.end <= node.end
  source.linesBefore(source.one('the branch for a live job', isOuter, body), [
    'const settings = wake && wakeSettings(wake)',
  ])
  source.before(promise.parent, 'const woken = ')
  source.replace(source.given('the type of the promise', promise.typeArguments?.[0]), 'JobWaitResult | void')
  const abort = statementOf(callOf(source, 'addEventListener', promise))
  source.linesAfter(abort, [
    'if (settings) {',
    '  const unwatch = job.wakes.watch({ wake: settings, caller, timeoutMs, signal: d.signal, end: (by) => {',
    '    uncount()',
    '    resolve({ ...this.snapshot(job), ...by })',
    '    onSettled()',
    '  } })',
    "  d.signal.addEventListener('abort', unwatch, { once: true })",
    '}',
  ])
  source.linesAfter(statementOf(promise), ['if (woken) return woken'])
}
