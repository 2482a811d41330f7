/** One scenario in a process of its own: prints its result as one line of JSON. */
import { runGoalRoundQuestion } from './goal-round-question.ts'
import { runIgnoredDenial } from './ignored-denial.ts'
import { runOutputDuringWait, runSteerDuringWait } from './job-waits.ts'
import { runThrownAwayAnswer } from './thrown-away-answer.ts'

const scenarios: Record<string, (() => Promise<unknown>) | undefined> = {
  'goal-round-question': runGoalRoundQuestion,
  'ignored-denial': runIgnoredDenial,
  'output-during-wait': runOutputDuringWait,
  'steer-during-wait': runSteerDuringWait,
  'thrown-away-answer': runThrownAwayAnswer,
}

const name = process.argv[2] ?? ''
const scenario = scenarios[name]
if (scenario === undefined) throw new Error(`no scenario "${name}": one of ${Object.keys(scenarios).join(', ')}`)
process.stdout.write(`${JSON.stringify(await scenario())}\n`)
