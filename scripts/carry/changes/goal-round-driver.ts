/**
 * No question in a goal round, and an end to the rounds of a model that asks all the same (#6074).
 * @module
 */
import ts from 'typescript'
import type { Change } from '../change.ts'
import { need } from '../manifest.ts'
import {
  bodyOf,
  callOf,
  exportFrom,
  functionNamed,
  ifOn,
  importFrom,
  interfaceNamed,
  variableNamed,
} from '../places.ts'
import { propertyNamed } from '../places.ts'
import type { Source } from '../source.ts'
import { addNote, insertIntoReadme } from '../texts.ts'

const FOLDER = 'packages/goal/goal-round-driver'
const SOURCES = [
  'ask-guard',
  'denial-text',
  'denial-watch',
  'question-text',
  'round-counts',
  'round-record',
  'round-settings',
  'stuck-rounds',
]
const SPECS = SOURCES.filter(name => name !== 'denial-watch')

export const goalRoundDriver: Change = {
  group: 'guard',
  message: `fix(goal-round-driver): deny questions in goal rounds, and end rounds that only ask

During an autonomous goal round nobody waits to answer, and yet the agent may call ask_user_question: the turn stalls until
somebody answers, and a model that goes on asking spends every round of the goal on it (#6074).

While a goal round owns an agent's turn, a guard in that agent's tool scope denies its own question with a text that says
what to do instead. The driver records each round, and blocks the goal with code question-unanswered, and the questions in
the reason, after three rounds in a row that ended on a denied question, ten with any denied question, or twenty denials in
one turn. All of it is configured by the plugin, and switched off by askInRounds: allow.`,
  files: [...SOURCES.map(name => `${FOLDER}/src/${name}.ts`), ...SPECS.map(name => `${FOLDER}/tests/${name}.spec.ts`)],
  edit(target) {
    target.source(`${FOLDER}/src/index.ts`, source => {
      editModule(source)
      editState(source)
      editApply(source)
      editFence(source)
    })
    need(target, FOLDER, {
      dependencies: ['vendor/schemastery'],
      peers: ['packages/core/system-prompt', 'packages/core/tools'],
      dev: [
        'packages/code-runtime/code-runtime-worker-thread',
        'packages/goal/tool-goal',
        'packages/interaction/tool-ask-user',
        'packages/interaction/user-questions',
      ],
    })
    insertIntoReadme(target, FOLDER, [
      { text: 'goal-round-driver/config', section: 'Composition', at: { insteadOf: 1 } },
      { text: 'goal-round-driver/questions', section: 'Idle checkpoint' },
      { text: 'goal-round-driver/model', section: 'Model Experience' },
      { text: 'goal-round-driver/limits', section: 'Known Limitations and Deferred Work' },
    ])
    addNote(target, 'goal-round-driver/note', 'bug-fix/2026-08-24-questions-in-goal-rounds')
  },
}

function editModule(source: Source): void {
  const own = source.one('the import of the prompt', importFrom('./prompt.ts'))
  source.linesBefore(own, ["import { clearAskGuard } from './ask-guard.ts'"])
  source.linesAfter(own, [
    "import { type Config, roundSettings } from './round-settings.ts'",
    "import { blockOverrun, blockUnanswered, type RoundsState, watchRounds } from './stuck-rounds.ts'",
  ])
  const exported = source.one('the export of the prompt', exportFrom('./prompt.ts'))
  source.linesBefore(exported, [
    "export { GOAL_ROUND_ASK_DENIAL, GOAL_ROUND_DENIAL_PREFIX, isGoalRoundDenial } from './denial-text.ts'",
  ])
  source.linesAfter(exported, ["export { Config } from './round-settings.ts'"])
}

function editState(source: Source): void {
  const state = source.one('the interface DriverState', interfaceNamed('DriverState'))
  source.after(state.name, ' extends RoundsState')
  const made = source.one('the function stateFor', functionNamed('stateFor'))
  const last = source.one('the property stopping', propertyNamed('stopping'), made)
  source.linesAfter(last, ['askGuardDispose: undefined,', 'roundCounts: undefined,'])
}

function editApply(source: Source): void {
  const apply = source.one('the function apply', functionNamed('apply'))
  const [parameter] = apply.parameters
  if (parameter !== undefined) source.after(parameter, ', config: Config = {}')
  source.linesBefore(source.one('the variable states', variableNamed('states'), apply), [
    'const settings = roundSettings(config)',
  ])

  const drive = source.one('the function drive', functionNamed('drive'), apply)
  source.linesBefore(source.one('the check of maxGoalRounds', ifOn('maxGoalRounds'), drive), [
    'if (blockUnanswered(ctx, state, goal)) return',
  ])
  const status = source.one('the listener of agent/status', callOf('ctx.on', 'agent/status'), apply)
  source.linesBefore(source.one('the variable attempt', variableNamed('attempt'), status), [
    'blockOverrun(ctx, state, currentGoal, disarm)',
  ])

  const effect = source.one('the composite effect', callOf('ctx.effect'), apply)
  const [first] = bodyOf(source, 'the composite effect', effect).statements
  if (first !== undefined)
    source.linesBefore(first, [
      '// First: the listeners below start the next round from inside an idle event.',
      'yield* watchRounds(ctx, {',
      '  of: stateFor,',
      '  peek: agent => states.get(agent),',
      '  isDriving: agent => ctx.fiber.state === FiberState.ACTIVE && !stateFor(agent).stopping,',
      '}, settings)',
    ])
  const waits = source.one('the wait of the teardown', callOf('Promise.allSettled'), effect)
  source.linesAfter(waits, ['for (const state of states.values()) clearAskGuard(state)'])
}

/** The guard goes wherever the fence does not let the round in. */
function editFence(source: Source): void {
  const fence = source.one('the listener of agent/pre-step', callOf('ctx.on', 'agent/pre-step'))
  const body = bodyOf(source, 'the listener of agent/pre-step', fence)
  const isDownstream = (node: ts.Node): node is ts.TryStatement =>
    ts.isTryStatement(node) && node.tryBlock.getText().includes('next()')
  const downstream = source.one('the try around next()', isDownstream, body)
  const refusals = body.statements.filter(ifOn('!valid'))
  const aborted = source.one(
    'the check of signal.aborted behind next()',
    (node): node is ts.IfStatement => ifOn('signal.aborted')(node) && node.parent === body,
    body,
  )
  const rejected = source.one(
    'the check of a rejecting decision',
    (node): node is ts.IfStatement => ifOn('decision.kind')(node) && node.parent === body,
    body,
  )
  for (const { thenStatement } of [...refusals, aborted, rejected]) clearIn(thenStatement)
  clearIn(downstream.catchClause?.block)

  function clearIn(block: ts.Statement | undefined): void {
    const [first] = block !== undefined && ts.isBlock(block) ? block.statements : []
    if (first !== undefined) source.linesBefore(first, ['clearAskGuard(state)'])
  }
}
