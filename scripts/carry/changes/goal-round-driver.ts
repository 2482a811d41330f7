/**
 * No question in a goal round, and an end to the rounds of a model that asks all the same (#6074).
 * @module
 */
import ts from 'typescript'
import type { Change } from '../change.ts'
import {
  addParameter,
  bodyOf,
  bodyOfArgument,
  callOf,
  declarationFrom,
  firstOf,
  ifsOn,
  interfaceNamed,
  listenerOf,
  statementOf,
  variableNamed,
} from '../find.ts'
import { need } from '../manifest.ts'
import { MissingPlace } from '../refusal.ts'
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
  const own = declarationFrom(source, './prompt.ts', ts.isImportDeclaration)
  source.linesBefore(own, ["import { clearAskGuard } from './ask-guard.ts'"])
  source.linesAfter(own, [
    "import { type Config, roundSettings } from './round-settings.ts'",
    "import { blockOverrun, blockUnanswered, type RoundsState, watchRounds } from './stuck-rounds.ts'",
  ])
  const exported = declarationFrom(source, './prompt.ts', ts.isExportDeclaration)
  source.linesBefore(exported, [
    "export { GOAL_ROUND_ASK_DENIAL, GOAL_ROUND_DENIAL_PREFIX, isGoalRoundDenial } from './denial-text.ts'",
  ])
  source.linesAfter(exported, ["export { Config } from './round-settings.ts'"])
}

function editState(source: Source): void {
  source.after(interfaceNamed(source, 'DriverState').name, ' extends RoundsState')
  const { initializer } = variableNamed(source, 'state', bodyOf(source, 'stateFor'))
  source.addProperties(source.given('the new state', initializer), [
    'askGuardDispose: undefined,',
    'roundCounts: undefined,',
  ])
}

function editApply(source: Source): void {
  const { body } = addParameter(source, 'apply', 'config: Config = {}')
  source.linesBefore(firstOf(source, 'the first statement of apply', body), ['const settings = roundSettings(config)'])

  const drive = bodyOf(source, 'drive')
  const [cap] = ifsOn(source, 'maxGoalRounds', drive)
  source.linesBefore(source.given('the check of maxGoalRounds', cap), ['if (blockUnanswered(ctx, state, goal)) return'])
  const attempt = statementOf(variableNamed(source, 'attempt', listenerOf(source, 'agent/status')))
  source.linesBefore(attempt, ['blockOverrun(ctx, state, currentGoal, disarm)'])

  const effect = bodyOfArgument(source, 'the composite effect', callOf(source, 'effect'))
  source.linesBefore(firstOf(source, 'the first statement of the composite effect', effect), [
    '// First: the listeners below start the next round from inside an idle event.',
    'const isDriving = (agent: Agent): boolean => ctx.fiber.state === FiberState.ACTIVE && !stateFor(agent).stopping',
    'yield* watchRounds(ctx, { of: stateFor, peek: agent => states.get(agent), isDriving }, settings)',
  ])
  const waits = statementOf(callOf(source, 'allSettled', effect))
  source.linesAfter(waits, ['for (const state of states.values()) clearAskGuard(state)'])
}

/** The guard goes wherever the fence does not let the round in. */
function editFence(source: Source): void {
  const body = listenerOf(source, 'agent/pre-step')
  const isDownstream = (node: ts.Node): node is ts.TryStatement =>
    ts.isTryStatement(node) && node.parent === body && node.tryBlock.getText().includes('next()')
  const downstream = source.one('the try around next()', isDownstream, body)
  const refusals = [
    ...ifsOn(source, '!valid', body),
    ...ifsOn(source, '.aborted', body),
    ...ifsOn(source, '.kind', body),
  ]
  if (refusals.length !== 4)
    throw new MissingPlace(
      `${FOLDER}/src/index.ts: the listener of agent/pre-step has ${refusals.length} refusals and not 4`,
    )
  for (const block of [...refusals.map(({ thenStatement }) => thenStatement), downstream.catchClause?.block])
    source.linesBefore(firstOf(source, 'the first statement of a refusal', block), ['clearAskGuard(state)'])
}
