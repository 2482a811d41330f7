/**
 * What a question and its answer look like on the wire. Types only, so that a browser bundle can import this entry
 * without pulling in the service or its context declarations.
 * @module @deepseek-ai/dsh-user-questions/types
 */

/** One choice that a person can pick. */
export interface AskUserQuestionOption {
  /** What is shown, and what an answer names when this choice was picked. */
  label: string
  /** More about the choice, for a UI that has room for it. */
  description?: string
}

/**
 * What kind of decision a question is, for a UI that has a better form for that kind than a list of options. It changes
 * the presentation only: the answer holds the same labels, whether the UI knew the kind or not.
 */
export type AskUserQuestionIntent = {
  /** A plan is submitted for review: the question's `detail` is the plan's text. */
  kind: 'plan-review'
  /** Label of the option that approves the plan. It must be one of this question's own options; the others decline. */
  approve: string
}

/** One question. */
export interface AskUserQuestionItem {
  /** Chosen by the caller; the answer names it. */
  id: string
  /** The question itself. */
  question: string
  /** Text shown beside the question, such as a plan or a diff, that is too long for the question or a label. */
  detail?: string
  /** Short heading. */
  header?: string
  /** Choices to pick from; without them the answer is free text. */
  options?: AskUserQuestionOption[]
  /** Whether several options may be picked; a single choice by default. */
  multiSelect?: boolean
  /** What kind of decision this is; without it, an ordinary list of options. */
  intent?: AskUserQuestionIntent
}

/** The answer to one question. With nothing selected and no text, the question was skipped. */
export interface AskUserQuestionAnswerItem {
  /** Id of the question. */
  id: string
  /** Labels of the picked options. */
  selected: string[]
  /** Free text: replaces the choice of a single-choice question, and adds to the choices of a multiple-choice one. */
  custom?: string
}

/** What a person answered: one item per question. */
export interface AskUserQuestionAnswer {
  /** The items, each naming its question. */
  answers: AskUserQuestionAnswerItem[]
}
