/**
 * The denied questions of a goal, as the human who comes back reads them in its blocked reason.
 * @module @deepseek-ai/dsh-goal-round-driver/question-text
 */

/** At so many characters a question is cut, and so are its options. */
const MAX_CHARACTERS = 200

/** So many questions are named. */
const MAX_QUESTIONS = 5

/** Questions that were asked and not answered, each once, in the order in which they were asked. */
export class DeniedQuestions {
  private readonly texts: string[] = []
  private hasMore = false

  /**
   * Take over what a call asks.
   * @param tool - the tool that was called.
   * @param args - the call's arguments, as the model wrote them.
   */
  add(tool: string, args: unknown): void {
    for (const text of renderQuestions(tool, args)) {
      if (this.texts.includes(text)) continue
      if (this.texts.length < MAX_QUESTIONS) this.texts.push(text)
      else this.hasMore = true
    }
  }

  /**
   * Name the questions.
   * @returns one line.
   */
  toString(): string {
    return [...this.texts, ...(this.hasMore ? ['and more'] : [])].join('; ')
  }
}

/** One text a question; a call that holds none is told by its tool's name alone. */
function renderQuestions(tool: string, args: unknown): string[] {
  const questions = isRecord(args) && Array.isArray(args.questions) ? args.questions : []
  const texts = questions.flatMap(question =>
    isRecord(question) && typeof question.question === 'string'
      ? [renderQuestion(question.question, question.options)]
      : [],
  )
  return texts.length > 0 ? texts : [`a call of ${clean(tool)}`]
}

function renderQuestion(question: string, options: unknown): string {
  const labels = Array.isArray(options)
    ? options.flatMap(option => (isRecord(option) && typeof option.label === 'string' ? [option.label] : []))
    : []
  const quoted = `"${clean(question)}"`
  return labels.length === 0 ? quoted : `${quoted} (${clean(labels.join(' / '))})`
}

/** Cut a text, and make visible what a terminal would obey or not show: controls, separators, half characters. */
function clean(text: string): string {
  const characters = Array.from(text)
  const kept = characters.slice(0, MAX_CHARACTERS).join('')
  const visible = kept.replaceAll(
    /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    character => `\\u{${Number(character.codePointAt(0)).toString(16)}}`,
  )
  return characters.length > MAX_CHARACTERS ? `${visible}…` : visible
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
