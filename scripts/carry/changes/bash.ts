/**
 * Background commands tell of their output, in whole characters, and their jobs pass it on (#6030, #6285).
 * @module
 */
import ts from 'typescript'
import type { Change } from '../change.ts'
import {
  addImport,
  assignmentTo,
  bodyOf,
  classNamed,
  interfaceNamed,
  memberOf,
  objectWith,
  statementOf,
  variableNamed,
} from '../find.ts'
import { ownMember } from '../own.ts'
import type { Source } from '../source.ts'
import { addNote, insertIntoReadme } from '../texts.ts'
import { editWithPage } from '../type-blocks.ts'

const LOCAL = 'packages/shell/bash-local'
const TOOL = 'packages/shell/tool-bash'

export const bash: Change = {
  group: 'bash',
  message: [
    'fix(bash-local): tell of output in the background, and read it in whole characters',
    '',
    'A background process has onOutput, which calls its listeners when a read would return something new, and consumes',
    'nothing; tool-bash hands it to the job, so that output can end a wait. A read no longer ends inside a character, which',
    'damaged it twice: at the end of one read and at the start of the next.',
    '',
    'Refs #6030, #6285',
  ].join('\n'),
  files: [
    `${LOCAL}/src/output-signal.ts`,
    `${LOCAL}/src/whole-text.ts`,
    `${LOCAL}/tests/background-output.spec.ts`,
    `${LOCAL}/tests/output-signal.spec.ts`,
    `${LOCAL}/tests/whole-text.spec.ts`,
    `${TOOL}/src/output-hook.ts`,
    `${TOOL}/tests/output-hook.spec.ts`,
  ],
  edit(target) {
    // What the job's hook is typed by comes with the commits on jobs.
    target.source('packages/jobs/jobs/src/types.ts', source => {
      memberOf(source, interfaceNamed(source, 'JobHooks'), 'onOutput')
    })
    editWithPage(target, 'packages/shell/shell/src/types.ts', 'ShellProcess', 'docs/subsystems/shell', source => {
      const member = ownMember(`${LOCAL}/src/shell-process.ts`, 'ShellProcess', 'onOutput')
      source.linesAfter(memberOf(source, interfaceNamed(source, 'ShellProcess'), 'readOutput'), member)
    })
    target.source(`${LOCAL}/src/index.ts`, editExecutor)
    target.source(`${TOOL}/src/index.ts`, source => {
      addImport(source, `import { outputHook } from './output-hook.ts'`)
      const hooks = source.one('the hooks of the job', hasReadOutput, objectWith(source, 'kind', 'bash'))
      variableNamed(source, 'proc', source.tree)
      source.linesAfter(memberOf(source, hooks, 'readOutput'), ['...outputHook(proc),'])
    })
    insertIntoReadme(target, 'packages/shell/shell', [{ text: 'bash/shell', section: 'Service API (`ctx.shell`)' }])
    insertIntoReadme(target, LOCAL, [{ text: 'bash/behavior', section: 'Behavior' }])
    insertIntoReadme(target, TOOL, [{ text: 'bash/tool', section: '`bash`' }])
    addNote(target, 'bash/note', 'bug-fix/2026-08-24-background-output-signal')
  },
}

const hasReadOutput = (node: ts.Node): node is ts.ObjectLiteralExpression =>
  ts.isObjectLiteralExpression(node) && node.properties.some(({ name }) => name?.getText() === 'readOutput')

const isFunction = (node: ts.Node): node is ts.ArrowFunction & { readonly body: ts.Block } =>
  ts.isArrowFunction(node) && ts.isBlock(node.body)

const isRead = (node: ts.Node): node is ts.CallExpression & { readonly expression: ts.PropertyAccessExpression } =>
  ts.isCallExpression(node)
  && ts.isPropertyAccessExpression(node.expression)
  && node.expression.name.text === 'readFrom'
  && node.arguments.length === 1

function editExecutor(source: Source): void {
  addImport(source, `import { LookTimer, OutputSignal } from './output-signal.ts'`)
  addImport(source, `import { readWhole } from './whole-text.ts'`)
  const executor = classNamed(source, 'LocalBashExecutor')
  source.linesAfter(memberOf(source, executor, 'source'), ['private readonly lookTimer = new LookTimer()'])
  const body = bodyOf(source, 'startArgv', executor)
  const note = variableNamed(source, 'spawnFailureNote', body).name.getText()
  const running = variableNamed(source, 'running', body).name.getText()
  const proc = variableNamed(source, 'proc', body)
  const handle = source.one('the object with readOutput', hasReadOutput, proc)
  settleIn(source, memberOf(source, handle, 'done'))
  const readOutput = memberOf(source, handle, 'readOutput')
  const streams = readWholeIn(source, readOutput)
  source.linesBefore(statementOf(proc), [
    'const { logger } = this.ctx',
    'const output = new OutputSignal({',
    '  timer: this.lookTimer,',
    `  streams: [${streams.map(({ reader, offset }) => `{ reader: ${reader}, offset: () => ${offset} }`).join(', ')}],`,
    `  hasNote: () => ${note} !== undefined,`,
    '  warn: (fault) => {',
    `    logger.warn(\`bash-local: process \${${running}.pid} \${fault}\`)`,
    '  },',
    '})',
  ])
  source.linesAfter(readOutput, ['onOutput: listener => output.subscribe(listener),'])
}

/** The end is the first thing that both outcomes of the spawn bring about: the hook of a subclass may read. */
function settleIn(source: Source, done: ts.Node): void {
  const outcomes = source.all(isFunction, done)
  if (outcomes.length !== 2) source.given('the pair of functions that done is made with', undefined)
  for (const { body } of outcomes) {
    source.linesBefore(source.given('a statement in them', body.statements[0]), ['output.settle()'])
  }
}

/** Both streams are read in whole characters. */
function readWholeIn(source: Source, readOutput: ts.Node): { readonly reader: string; readonly offset: string }[] {
  const reads = source.all(isRead, readOutput)
  if (reads.length !== 2) source.given('the pair of reads in readOutput', undefined)
  return reads.map(read => {
    const reader = read.expression.expression.getText()
    const offset = source.given('the offset of a read', read.arguments[0]).getText()
    assignmentTo(source, offset, readOutput)
    source.replace(read, `readWhole(${reader}, ${offset}, output.isSettled)`)
    return { reader, offset }
  })
}
