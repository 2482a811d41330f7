/** One measurement of one plane in a process of its own: prints its result as one line of JSON. */
import { runGoalRoundQuestion } from '../demo/goal-round-question.ts'
import { runThrownAwayAnswer } from '../demo/thrown-away-answer.ts'
import { measureAskingModels } from './asking-models.ts'
import { measureBashWaits } from './bash-waits.ts'
import { measureCharacters } from './characters.ts'
import { measureChattyJobs } from './chatty-job.ts'
import { measureGuardCost } from './guard-cost.ts'
import { measureOutputLooks } from './output-looks.ts'
import type { Plane } from './planes.ts'
import { measureTenWaits } from './ten-waits.ts'
import { measureHostile, measureTrace } from './trace.ts'
import { measureManyWaits, measureOneWait } from './waits.ts'
import { measureWakes } from './wakes.ts'

const measurements = {
  'asking-models': measureAskingModels,
  'bash-waits': measureBashWaits,
  characters: measureCharacters,
  'chatty-jobs': measureChattyJobs,
  'guard-cost': measureGuardCost,
  incident: runGoalRoundQuestion,
  'many-waits': measureManyWaits,
  'one-wait': measureOneWait,
  'output-looks': measureOutputLooks,
  'ten-waits': measureTenWaits,
  'thrown-away-answer': runThrownAwayAnswer,
  trace: measureTrace,
  'trace-hostile': measureHostile,
  wakes: measureWakes,
}

/** The measurements by name. */
export type Measurements = typeof measurements

const [name, plane] = process.argv.slice(2) as [keyof Measurements, Plane]
process.stdout.write(`${JSON.stringify(await measurements[name](plane))}\n`)
