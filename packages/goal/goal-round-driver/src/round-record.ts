/**
 * What is recorded of one goal round, from the claim of its message to the end of its turn, and what it comes to.
 *
 * A round is *stuck* when it was admitted, ended `completed`, no human message and no change of its goal came into it, a
 * question was denied in it, and no work was begun after its last denial. Work is a call of any tool but the denied
 * ones and those that a round cannot do without:
 *
 * | the call | counts, if it was begun |
 * | --- | --- |
 * | native | in a later step than the denied one: what stands beside the question was chosen without its denial |
 * | nested | in a later step, or by the same program after it was handed the denial |
 *
 * A call that fails counts. Text does not.
 * @module @deepseek-ai/dsh-goal-round-driver/round-record
 */
import type { GoalRef } from '@deepseek-ai/dsh-goal'
import type { CallId, MessageId } from '@deepseek-ai/dsh-llm'
import type { ToolExecution, ToolExecutionToken } from '@deepseek-ai/dsh-tools'
import { denialText, type GoalOfRound } from './denial-text.ts'
import { DeniedQuestions } from './question-text.ts'
import { ROUND_TOOLS } from './round-settings.ts'

/** What a round came to. */
export interface RoundOutcome {
  /** Whether a question was denied in it, and nobody interfered. */
  readonly denied: boolean
  /** Whether it also ended on that. */
  readonly stuck: boolean
}

/** The last denial, as far as it decides what was begun after it. */
interface Denial {
  readonly step: number
  /** The program's call, if the question was nested. */
  readonly program: CallId | undefined
  /** Whether the program has it. */
  isHandedOver: boolean
}

/** A call as far as the record knows calls. */
type Call = Pick<ToolExecution, 'callId' | 'rootCallId' | 'name' | 'arguments' | 'token' | 'parent'>

/** The record of one round. */
export class RoundRecord {
  /** The goal whose round it is. */
  readonly goalId: GoalRef['id']
  /** The message that was claimed. */
  readonly messageId: MessageId
  /** The message entered a step. */
  isAdmitted = false
  /** A human wrote, or the goal was changed: whatever was asked may be answered by that. */
  isVoid = false
  /** A human wrote. */
  hasHuman = false
  /** The model was told of a denial that its program had swallowed. */
  isRelayed = false
  /** The open step. */
  step = 0
  /** How often a question was denied. */
  denials = 0
  /** The questions that were denied. */
  readonly questions = new DeniedQuestions()
  private readonly deniedTools: ReadonlySet<string>
  /** Calls of denied tools that have no result yet; what has no trace in the log is no call of the model. */
  private readonly asked = new Set<CallId>()
  /** Those of them that got as far as their body: whatever failed then, it was no denial. */
  private readonly begun = new Set<ToolExecutionToken>()
  /** The last program in which a question was denied, and the texts it was denied with. */
  private readonly swallowable = { program: undefined as CallId | undefined, texts: new Set<string>() }
  private isTold = false
  private last: Denial | undefined
  private isWorking = false

  constructor(goalId: GoalRef['id'], messageId: MessageId, deniedTools: ReadonlySet<string>) {
    this.goalId = goalId
    this.messageId = messageId
    this.deniedTools = deniedTools
  }

  /**
   * A call was begun, as the log says.
   * @param name - the tool's name.
   * @param callId - the call.
   * @param program - the call of the program that it was begun by, if it is nested.
   */
  call(name: string, callId: CallId, program?: CallId): void {
    if (this.deniedTools.has(name)) this.asked.add(callId)
    else if (!ROUND_TOOLS.has(name) && this.isAfterDenial(program)) this.isWorking = true
  }

  private isAfterDenial(program: CallId | undefined): boolean {
    if (this.last === undefined) return false
    const isSameProgram = program !== undefined && program === this.last.program
    return this.step > this.last.step || (isSameProgram && this.last.isHandedOver)
  }

  /**
   * A call got as far as its body.
   * @param call - the call.
   */
  begin(call: Call): void {
    if (this.asked.has(call.callId)) this.begun.add(call.token)
  }

  /**
   * Whether a failed call was denied: it is one of a denied tool, and its body never ran.
   * @param call - the call.
   * @returns whether {@link deny} is owed for it.
   */
  isDenied(call: Call): boolean {
    return this.asked.has(call.callId) && !this.begun.has(call.token)
  }

  /**
   * The text that a question is denied with. A call that is not in the log gets the first one, and leaves no trace.
   * @param call - the question.
   * @param goal - what the goal of the round is now.
   * @returns the text.
   */
  denialText(call: Call, goal: GoalOfRound): string {
    const { callId, name } = call
    if (!this.asked.has(callId)) return denialText(name, false, 'active')
    const { isTold } = this
    this.isTold = true
    return denialText(name, isTold, goal)
  }

  /**
   * A question was denied, by whomever.
   * @param call - the question.
   * @param text - what the model, or its program, reads.
   * @returns a function to call once the program has the denial.
   */
  deny(call: Call, text: string): () => void {
    const { callId, rootCallId, name, arguments: args, parent } = call
    this.asked.delete(callId)
    this.denials += 1
    this.questions.add(name, args)
    const program = parent === undefined ? undefined : rootCallId
    const denial = { step: this.step, program, isHandedOver: false }
    this.last = denial
    this.isWorking = false
    if (program !== this.swallowable.program) this.swallowable.texts.clear()
    this.swallowable.program = program
    this.swallowable.texts.add(text)
    return () => {
      denial.isHandedOver = true
    }
  }

  /**
   * The denials of a program.
   * @param program - its call.
   * @returns their texts, each once.
   */
  denialsIn(program: CallId): string[] {
    return this.swallowable.program === program ? [...this.swallowable.texts] : []
  }

  /**
   * The turn is over.
   * @param reason - the kind of its end.
   * @returns what the round came to; nothing, if it was not admitted or did not end by itself.
   */
  settle(reason: string): RoundOutcome | undefined {
    if (!this.isAdmitted || reason !== 'completed') return undefined
    const denied = !this.isVoid && this.denials > 0
    return { denied, stuck: denied && !this.isWorking }
  }
}
