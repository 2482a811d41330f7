/**
 * The command line of `scripts/install-into-dsh`.
 * @module
 */
import { parseArgs } from 'node:util'
import { Problem } from './problem.ts'

export const USAGE = `Usage: scripts/install-into-dsh [--profile <name>]... [--dsh <path of the CLI>] [--remove]

Puts the packages of this repository into the profiles of an installed dsh, in place of the published ones.

  --profile <name>  a profile that is changed; may be given more than once. Default: every profile that there is
  --dsh <path>      the CLI of the installed dsh. Default: the dsh on the PATH
  --remove          takes the packages out again
  --help            prints this

The profiles are those of $DSH_HOME, by default ~/.dsh.
`

/** What was asked for. */
export interface Options {
  /** Names of profiles; none stands for all that there are. */
  readonly profiles: readonly string[]
  /** Path of the CLI; without one it is looked for on the PATH. */
  readonly dsh: string | undefined
  readonly remove: boolean
  readonly help: boolean
}

/**
 * Read the arguments.
 * @param args - what follows the script's name.
 * @returns what they ask for.
 * @throws Problem for an argument that is not in {@link USAGE}.
 */
export function readOptions(args: readonly string[]): Options {
  const values = parse(args)
  const profiles = values.profile ?? []
  for (const name of profiles)
    if (name === '' || name === 'node_modules' || /^\.\.?$|[/\\]/.test(name))
      throw new Problem(`--profile: ${JSON.stringify(name)} is not the name of a profile`)
  if (values.dsh === '') throw new Problem('--dsh: name the path of the CLI')
  return { profiles, dsh: values.dsh, remove: values.remove === true, help: values.help === true }
}

function parse(args: readonly string[]) {
  const string = { type: 'string' } as const
  const boolean = { type: 'boolean' } as const
  try {
    const options = { profile: { ...string, multiple: true }, dsh: string, remove: boolean, help: boolean } as const
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new Problem(`${(error as Error).message}\n\n${USAGE}`)
  }
}
