/**
 * `job_output`: the settings of its early ends, and what the model is told (#6030, #6285).
 * @module
 */
import ts from 'typescript'
import type { Change } from '../change.ts'
import {
  addImport,
  bodyOf,
  callOf,
  interfaceNamed,
  memberOf,
  objectWith,
  statementOf,
  valueOf,
  variableNamed,
} from '../find.ts'
import { need } from '../manifest.ts'
import { ownKeys } from '../own.ts'
import type { Source } from '../source.ts'
import { addNote, insertIntoReadme } from '../texts.ts'

const PACKAGE = 'packages/jobs/tool-jobs'
const SPINE = 'packages/examples/agent-spine-demo/tests/agent-core.spec.ts'

export const toolJobs: Change = {
  group: 'jobs',
  message: [
    'fix(tool-jobs): tell the model why a wait of job_output came back early',
    '',
    'A wait ends at a message of the user and at output, as the plugin’s settings and the call say. The result names the',
    'event and suggests the next call; the description and the prompt section say so beforehand. Over a registry whose',
    'waits take no wake options nothing is promised, and the log says what is missing.',
    '',
    'Refs #6030, #6285',
  ].join('\n'),
  files: [`${PACKAGE}/src/wake-result.ts`, `${PACKAGE}/tests/wake-result.spec.ts`],
  edit(target) {
    target.source(`${PACKAGE}/src/index.ts`, source => {
      const names =
        'earlyEndNote, resultEnding, WAKE_FIELDS, WAKE_SCHEMA, waitForJob, wakeOf, wakeParameters, wakeSettings'
      addImport(source, `import { ${names} } from './wake-result.ts'`)
      addImport(source, `import type { EndedWait, JobWake, WakeConfig } from './wake-result.ts'`)
      addSettings(source)
      addGuidance(source)
      addEnding(source)
      editTool(source, objectWith(source, 'name', 'job_output'))
    })
    if (target.has(SPINE)) target.source(SPINE, followInSpine)
    need(target, PACKAGE, { dev: ['packages/core/agent-loop', 'packages/test-support/agent-loop-testkit'] })
    insertIntoReadme(target, PACKAGE, [
      { text: 'tool-jobs/tools', section: 'Tools' },
      { text: 'tool-jobs/config', section: 'Config' },
      { text: 'tool-jobs/guidance', section: 'Background-job guidance' },
      { text: 'tool-jobs/limits', section: 'Known Limitations and Deferred Work' },
    ])
    addNote(target, 'tool-jobs/note', 'bug-fix/2026-08-24-tool-jobs-early-ends')
  },
}

function addSettings(source: Source): void {
  source.after(interfaceNamed(source, 'Config').name, ' extends WakeConfig')
  // The catalog of settings takes plain keys only.
  const fields = ownKeys(`${PACKAGE}/src/wake-result.ts`, 'WAKE_FIELDS')
  const schema = callOf(source, 'object', variableNamed(source, 'Config'))
  source.addProperties(
    source.given('the fields of Config', schema.arguments[0]),
    fields.map(field => `${field}: WAKE_FIELDS.${field},`),
  )
  source.linesAfter(source.given('the beginning of apply', bodyOf(source, 'apply').getFirstToken()), [
    '  const wakes = wakeSettings(config, ctx)',
  ])
}

function addGuidance(source: Source): void {
  source.after(valueOf(source, objectWith(source, 'name', 'tool:jobs'), 'text'), ' + earlyEndNote(wakes)')
}

/** The ending of a result, where its text is made and where it is fitted into a byte limit. */
function addEnding(source: Source): void {
  const fit = variableNamed(source, 'finalizeTaskContent')
  const line = callOf(source, 'statusLine', fit)
  source.before(line, 'resultEnding(value.wake, ')
  source.after(line, ')')
  const isValue = (node: ts.Node): node is ts.TypeLiteralNode => ts.isTypeLiteralNode(node)
  const type = source.one('the type of the value of job_output', isValue, fit)
  source.after(source.given('the members of that type', type.members.at(-1)), '; wake?: JobWake')
  const suffix = source.given('the suffix that is fitted', callOf(source, 'fitWithSuffix', fit).arguments[1])
  source.replace(suffix, `\`\\n\${resultEnding(value.wake, ${line.getText()}, maxBytes - 1)}\``)
}

function editTool(source: Source, tool: ts.ObjectLiteralExpression): void {
  source.continueLine(valueOf(source, tool, 'description'), '+ earlyEndNote(wakes)')
  source.addProperties(valueOf(source, tool, 'parameters'), ['...wakeParameters(wakes),'])
  const output = valueOf(source, tool, 'output')
  source.addProperties(propertiesOf(source, output), ['wake: WAKE_SCHEMA,'])
  const line = callOf(source, 'statusLine', output)
  source.before(line, 'resultEnding(value.wake, ')
  source.after(line, ')')
  editExecute(source, memberOf(source, tool, 'execute'))
}

function propertiesOf(source: Source, output: ts.Node): ts.ObjectLiteralExpression {
  const isSchema = (node: ts.Node): node is ts.ObjectLiteralExpression =>
    ts.isObjectLiteralExpression(node)
    && node.properties.some(({ name }) => name?.getText() === 'text')
    && isProperties(node.parent)
  return source.one('the properties of the value of job_output', isSchema, output)
}

function isProperties(node: ts.Node): boolean {
  return ts.isPropertyAssignment(node) && node.name.getText() === 'properties'
}

function editExecute(source: Source, execute: ts.Node): void {
  for (const name of ['timeout', 'read', 'id']) variableNamed(source, name, execute)
  variableNamed(source, 'waitCap')
  const wait = callOf(source, 'wait', execute)
  const branch = source.given('the branch that waits', enclosingIf(wait, execute))
  source.linesBefore(branch, ['let ended: EndedWait | undefined'])
  source.replaceLine(statementOf(wait), [
    'ended = await waitForJob(ctx.jobs, wakes, {',
    '  id, timeoutMs: timeout, maxTimeoutMs: waitCap, caller: exec.agent, signal: exec.signal, wakeOnOutput: args.wake_on_output,',
    '})',
  ])
  const isResult = (node: ts.Node): node is ts.ReturnStatement => ts.isReturnStatement(node)
  const result = source.one('what job_output returns', isResult, execute)
  source.linesBefore(result, ['const wake = ended && wakeOf(ended, read, wakes)'])
  const isValue = (node: ts.Node): node is ts.ObjectLiteralExpression =>
    node === result.expression && ts.isObjectLiteralExpression(node)
  const value = source.one('the value of job_output', isValue, result)
  source.after(
    source.given('the properties of that value', value.properties.at(-1)),
    ', ...wake !== undefined ? { wake } : {}',
  )
}

function enclosingIf(node: ts.Node, within: ts.Node): ts.IfStatement | undefined {
  if (node === within) return undefined
  return ts.isIfStatement(node) ? node : enclosingIf(node.parent, within)
}

/** The assembled demo pins the arguments of a wait: the settings of its early ends are one more. */
function followInSpine(source: Source): void {
  const isExpectation = (node: ts.Node): node is ts.CallExpression =>
    ts.isCallExpression(node)
    && node.arguments.length === 4
    && /^expect\(wait\)\.toHaveBeenCalledWith$/.test(node.expression.getText())
  const { arguments: given } = source.one('the expectation of the arguments of jobs.wait', isExpectation)
  source.after(source.given('those arguments', given[3]), ', expect.objectContaining({ output: true, steer: true })')
}
