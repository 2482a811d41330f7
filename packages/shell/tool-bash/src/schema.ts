/**
 * What the model is told about the tool: its description and its parameters, by what the composition offers.
 * @module @deepseek-ai/dsh-tool-bash/schema
 */
import { ESCALATION_TARGETS } from '@deepseek-ai/dsh-sandbox'
import type { InferArgs, ParameterSchemaSpec } from '@deepseek-ai/dsh-tools'

/** What a composition offers besides running a command and waiting for it. */
export interface Offer {
  /** Whether a command may become a background job. */
  readonly background: boolean
  /** Whether the executor confines commands, so that a call can ask for a wider mode. */
  readonly escalation: boolean
}

const BASE =
  'Run a command with `bash -c` and get its stdout and stderr back. Every call is a fresh shell: variables, functions'
  + ' and the current folder are gone afterwards, so name the folder in `workdir` instead of using `cd`. A command that'
  + ' exits with anything but zero is no error of the tool: the result shows `[exit code: N]`. Facts about the harness'
  + ' are in managed `$DSH_*` variables; look at them when you need one. Commands may run in a sandbox: a file operation'
  + ' that it refuses is shown as `[sandbox: file access denied under <mode> mode]`. That is a policy and no bug of the'
  + ' command, so do not try to get round it. Of long output you get the tail, and the name of a file with the rest.'

const BACKGROUND =
  ' For a command that takes long, set `run_in_background: true`: you get a job id at once, read the output with'
  + ' `job_output` and stop the command with `job_kill`.'

const NO_BACKGROUND = ' Background execution is not available: a command has to end within its timeout.'

const ESCALATION =
  ' You may run a command that the sandbox might deny: try it and read the marker. If it was really denied, and a wider'
  + ' mode would let it through, retry the same command once, in the same turn, with the narrowest wider mode that'
  + ' suffices as `sandbox_permissions` and one sentence of `justification`. The approval prompt of that call asks the'
  + ' user, so do not ask in chat. Never ask for a wider mode on a guess: only a denial of this command, or of the same'
  + ' access earlier in this session, is a reason. Where approval prompts are disabled, or when the user says no, that is'
  + ' final for this command: say so and do not work around it. Other commands are not affected.'

/**
 * Describe the tool.
 * @param offer - what the composition offers.
 * @returns the description that the model reads.
 */
export function bashDescription({ background, escalation }: Offer): string {
  return BASE + (background ? BACKGROUND : NO_BACKGROUND) + (escalation ? ESCALATION : '')
}

/**
 * Declare the parameters.
 * @param offer - what the composition offers; nothing else is advertised.
 * @returns the parameters, in the order in which the model reads them.
 */
export function bashParameters({ background, escalation }: Offer) {
  return {
    command: { type: 'string', required: true, description: 'The command, as bash source.' },
    description: {
      type: 'string',
      required: true,
      description:
        'What the command does, for the user: five to ten words in the active voice, such as "Show the last ten commits".',
    },
    timeoutMs: {
      type: 'number',
      description: 'After how many milliseconds the command is killed. There is a default, and a longest time.',
    },
    workdir: {
      type: 'string',
      description: 'Folder to run in. Without it, the folder of this session; a relative path starts there, too.',
    },
    ...(background && {
      run_in_background: {
        type: 'boolean',
        description:
          'Start a background job and return its id at once. No timeout applies; `job_kill` stops it before its end.',
      },
    }),
    ...(escalation && {
      sandbox_permissions: {
        type: 'string',
        enum: [...ESCALATION_TARGETS],
        description:
          'The wider sandbox mode that this call needs after a denial, with `justification`. The user decides.',
      },
      justification: {
        type: 'string',
        description: 'With `sandbox_permissions`: one sentence for the user on why this very command needs that mode.',
      },
    }),
  } as const satisfies ParameterSchemaSpec
}

/** The arguments of a call, as they were declared. What is not advertised may be there all the same. */
export type BashArgs = InferArgs<ReturnType<typeof bashParameters>>
