/** The scripted model: at random it talks, starts, reads and kills jobs, asks, lists, and works on goals. */
import type { GenerateOptions } from '@deepseek-ai/dsh-llm'
import type { ToolPresentationMode } from '@deepseek-ai/dsh-tools'
import { runCode } from '../demo/questions.ts'
import { lastText, textOf, type Call, type Reply } from '../demo/runtime.ts'
import type { Random } from './random.ts'

/** A user message, or a goal, that makes the model ask at once: whether it may is what the result shows. */
export const CHECK_ASK = 'Ask me now.'

/** A goal in each of whose rounds the model asks, and does nothing else, whatever it is told. */
export const KEEP_ASKING = 'Keep asking me.'

const COMMANDS = [
  'sleep 0.2; echo done',
  'for i in 1 2 3 4 5 6 7 8 9 10; do echo line $i; echo error $i >&2; sleep 0.1; done',
  'seq 1 500',
  'sleep 60',
  'exit 3',
]

const QUESTIONS = { questions: [{ id: 'q', question: 'Which one?', options: [{ label: 'this' }, { label: 'that' }] }] }

function randomCall(random: Random, context: string): Call {
  const job = random.pick(context.match(/bash-\d+/g)?.slice(-5) ?? ['bash-1'])
  switch (random.weighted({ bash: 3, wait: 6, read: 2, kill: 1, list: 1, ask: 3, goal: 1 })) {
    case 'bash':
      return {
        name: 'bash',
        args: { command: random.pick(COMMANDS), description: 'Run a job', run_in_background: true },
      }
    case 'wait': {
      // A timer that outlives a long wait is still there at the end.
      const timeoutMs = random.chance(0.5) ? 600_000 : random.int(1, 3_000)
      return {
        name: 'job_output',
        args: { job_id: job, wait: true, timeout_ms: timeoutMs, wake_on_output: random.chance(0.8) },
      }
    }
    case 'read':
      return { name: 'job_output', args: { job_id: job } }
    case 'kill':
      return { name: 'job_kill', args: { job_id: job, reason: 'no longer needed' } }
    case 'list':
      return { name: 'job_list', args: {} }
    case 'ask':
      return { name: 'ask_user_question', args: QUESTIONS }
    case 'goal':
      return { name: 'get_goal', args: {} }
  }
}

/** The same call in a program, which throws the result away half of the time. */
function asProgram({ name, args }: Call, keep: boolean): Reply {
  const call = `await tools.${name}(${JSON.stringify(args)})`
  return runCode(keep ? `return JSON.stringify(${call})` : `${call}\nreturn "done"`, 'call a tool')
}

/**
 * Make the model's script.
 * @param random - its choices.
 * @param mode - whether it calls tools or writes programs.
 * @param isResting - whether it is to end every turn, so that its agents come to rest.
 * @returns what it answers to a request.
 */
export function randomModel(random: Random, mode: ToolPresentationMode, isResting: () => boolean) {
  const present = (call: Call, keep: boolean): Reply => (mode === 'code' ? asProgram(call, keep) : call)
  return (request: GenerateOptions): Reply => {
    const last = lastText(request)
    const isFor = (objective: string) => last.includes(`Objective: ${JSON.stringify(objective)}`)
    if (last === CHECK_ASK || isFor(CHECK_ASK)) return present({ name: 'ask_user_question', args: QUESTIONS }, true)
    if (isFor(KEEP_ASKING)) return present({ name: 'ask_user_question', args: QUESTIONS }, random.chance(0.5))
    if (isResting() || random.chance(0.35)) return 'That is all.'
    const context = request.messages.slice(-8).map(message => textOf(message.content))
    return present(randomCall(random, context.join('\n')), random.chance(0.5))
  }
}
