/**
 * The plugin's configuration, checked and complete.
 * @module @deepseek-ai/dsh-goal-round-driver/round-settings
 */
import z from '@deepseek-ai/schemastery'

/** What a question in a goal round comes to, and when questions end the rounds. */
export interface Config {
  /** Whether a question in a round is denied; `allow` switches everything off that is configured here (default `deny`). */
  askInRounds?: 'deny' | 'allow'
  /** Names of the tools that wait for a human (default `ask_user_question`). */
  deniedTools?: string[]
  /** Rounds in a row that end on a denied question, after which the goal is blocked; 0 is never (default 3). */
  maxStuckRounds?: number
  /** Rounds in a row with any denied question, after which the goal is blocked; 0 is never (default 10). */
  maxDeniedRounds?: number
  /** Denials in one turn, after which the turn is ended and the goal blocked; 0 is never (default 20). */
  maxDenialsPerTurn?: number
}

/** A configuration under which questions are denied. */
export interface RoundSettings {
  readonly deniedTools: ReadonlySet<string>
  readonly maxStuckRounds: number
  readonly maxDeniedRounds: number
  readonly maxDenialsPerTurn: number
}

/** The tools that a round cannot do without: they are never denied, and a call of them is no work on the goal. */
export const ROUND_TOOLS: ReadonlySet<string> = new Set(['run_code', 'get_goal', 'update_goal', 'create_goal'])

const limit = () => z.number().step(1).min(0).max(Number.MAX_SAFE_INTEGER)

const FIELDS = {
  askInRounds: z.union(['deny', 'allow'] as const).default('deny'),
  deniedTools: z.array(z.string().min(1).required()).default(['ask_user_question']),
  maxStuckRounds: limit().default(3),
  maxDeniedRounds: limit().default(10),
  maxDenialsPerTurn: limit().default(20),
}

const Schema = z.object(FIELDS)

/** The schema of the configuration, with its defaults. */
export const Config: z<Config> = Schema

/**
 * Check a configuration and fill in the defaults.
 * @param config - as the host gave it.
 * @returns the settings, or `undefined` where questions are allowed in rounds.
 * @throws an error that names the field, if there is no such field or its value is out of range.
 */
export function roundSettings(config: Config): RoundSettings | undefined {
  const { askInRounds, deniedTools, ...limits } = Schema(config)
  const unknown = Object.keys(config).find(field => !Object.hasOwn(FIELDS, field))
  if (unknown !== undefined) {
    const known = Object.keys(FIELDS).join(', ')
    throw new Error(`goal-round-driver: there is no field ${JSON.stringify(unknown)}; the fields are ${known}`)
  }
  const needed = deniedTools.find(tool => ROUND_TOOLS.has(tool))
  if (needed !== undefined) {
    throw new Error(`goal-round-driver: deniedTools names ${needed}, without which no goal can go on; take it out`)
  }
  return askInRounds === 'allow' ? undefined : { ...limits, deniedTools: new Set(deniedTools) }
}
