import { describe, expect, it } from 'vitest'
import { GoalId } from '@deepseek-ai/dsh-goal'
import { CallId, createUserMessage } from '@deepseek-ai/dsh-llm'
import type { ToolExecution, ToolExecutionToken } from '@deepseek-ai/dsh-tools'
import { GOAL_ROUND_ASK_DENIAL } from '../src/denial-text.ts'
import { RoundRecord } from '../src/round-record.ts'

const { id: messageId } = createUserMessage({ content: [], source: { kind: 'user' } })
const PROGRAM = CallId('program')

let calls = 0

/** An admitted round in its first step, with what happens in it by name. */
function admitted() {
  const record = new RoundRecord(GoalId('g'), messageId, new Set(['ask_user_question', 'exit_plan_mode']))
  record.isAdmitted = true
  record.step = 1
  const begin = (name: string, program?: CallId): ToolExecution => {
    const callId = CallId(`call-${++calls}`)
    record.call(name, callId, program)
    return {
      callId,
      rootCallId: program ?? callId,
      name,
      arguments: {},
      token: Symbol(name) as ToolExecutionToken,
      ...(program === undefined ? {} : { parent: Symbol('parent') as ToolExecutionToken }),
      signal: new AbortController().signal,
    }
  }
  const deny = (exec: ToolExecution, text = 'denied') => record.deny(exec, text)
  return {
    record,
    begin,
    deny,
    /** Ask, natively or in a program that is handed the denial. */
    ask: (program?: CallId) => {
      deny(begin('ask_user_question', program))()
    },
    nextStep: () => {
      record.step += 1
    },
  }
}

describe('a round is stuck', () => {
  const stuck = (play: (round: ReturnType<typeof admitted>) => void, reason = 'completed') => {
    const round = admitted()
    play(round)
    return round.record.settle(reason)?.stuck
  }

  it('when it ends on a denied question', () => {
    expect(
      stuck(({ ask }) => {
        ask()
      }),
    ).toBe(true)
  })

  it('when it ends on a denied question of a program', () => {
    expect(
      stuck(({ ask }) => {
        ask(PROGRAM)
      }),
    ).toBe(true)
  })

  it('not when no question was denied in it', () => {
    expect(stuck(({ begin }) => void begin('bash'))).toBe(false)
  })

  it('not when it has not been admitted, or did not end by itself', () => {
    expect(
      stuck(({ record, ask }) => {
        ask()
        record.isAdmitted = false
      }),
    ).toBeUndefined()
    for (const reason of ['aborted', 'blocked', 'error', 'max-tokens', 'interrupted']) {
      expect(
        stuck(({ ask }) => {
          ask()
        }, reason),
      ).toBeUndefined()
    }
  })

  it('not when somebody interfered', () => {
    expect(
      stuck(({ record, ask }) => {
        ask()
        record.isVoid = true
      }),
    ).toBe(false)
  })

  it('not when work was begun in a later step, though that fails, and has no result', () => {
    expect(
      stuck(({ ask, nextStep, begin }) => {
        ask()
        nextStep()
        begin('bash')
      }),
    ).toBe(false)
  })

  it.each(['get_goal', 'update_goal', 'create_goal', 'run_code', 'ask_user_question', 'exit_plan_mode'])(
    'although %s was called in a later step: that is no work',
    (tool: string) => {
      expect(
        stuck(({ ask, nextStep, begin }) => {
          ask()
          nextStep()
          begin(tool)
        }),
      ).toBe(true)
    },
  )

  it('although work was begun before the question, or beside it', () => {
    expect(
      stuck(({ begin, ask }) => {
        begin('bash')
        ask()
        begin('bash')
      }),
    ).toBe(true)
  })

  it('when it asked once more after its work', () => {
    expect(
      stuck(({ ask, nextStep, begin }) => {
        ask()
        nextStep()
        begin('bash')
        nextStep()
        ask()
      }),
    ).toBe(true)
  })

  it('not when the program that asked began work after it was handed the denial', () => {
    expect(
      stuck(({ begin, deny }) => {
        deny(begin('ask_user_question', PROGRAM))()
        begin('bash', PROGRAM)
      }),
    ).toBe(false)
  })

  it('although the program had begun work before it was handed the denial', () => {
    expect(
      stuck(({ begin, deny }) => {
        const handOver = deny(begin('ask_user_question', PROGRAM))
        begin('bash', PROGRAM)
        handOver()
      }),
    ).toBe(true)
  })

  it('although another program of the same message began work: that was chosen beside the question', () => {
    expect(
      stuck(({ ask, begin }) => {
        ask(PROGRAM)
        begin('bash', CallId('other program'))
      }),
    ).toBe(true)
    expect(
      stuck(({ ask, begin }) => {
        ask()
        begin('bash', PROGRAM)
      }),
    ).toBe(true)
  })

  it('not when a program began work in a later step', () => {
    expect(
      stuck(({ ask, nextStep, begin }) => {
        ask(PROGRAM)
        nextStep()
        begin('bash', CallId('other program'))
      }),
    ).toBe(false)
  })
})

describe('a round with a denied question', () => {
  it('is one whatever follows, unless somebody interfered', () => {
    const { record, ask, nextStep, begin } = admitted()
    expect(record.settle('completed')?.denied).toBe(false)
    ask()
    nextStep()
    begin('bash')
    expect(record.settle('completed')).toEqual({ denied: true, stuck: false })
    record.isVoid = true
    expect(record.settle('completed')).toEqual({ denied: false, stuck: false })
  })

  it('keeps what was asked', () => {
    const { record, begin, deny } = admitted()
    deny({ ...begin('ask_user_question'), arguments: { questions: [{ question: 'A?' }] } })
    deny(begin('exit_plan_mode'))
    expect(record.questions.toString()).toBe('"A?"; a call of exit_plan_mode')
    expect(record.denials).toBe(2)
  })
})

describe('a failed call is a denial', () => {
  it('if it is one of a denied tool and never got as far as its body', () => {
    const { record, begin } = admitted()
    expect(record.isDenied(begin('ask_user_question'))).toBe(true)
    expect(record.isDenied(begin('exit_plan_mode'))).toBe(true)
    expect(record.isDenied(begin('bash'))).toBe(false)
    const answered = begin('ask_user_question')
    record.begin(answered)
    expect(record.isDenied(answered)).toBe(false)
    record.begin(begin('bash'))
  })

  it('once', () => {
    const { record, begin, deny } = admitted()
    const question = begin('ask_user_question')
    deny(question)
    expect(record.isDenied(question)).toBe(false)
  })

  it('only if it is a call of the model, which the log knows', () => {
    const { record, begin } = admitted()
    expect(record.isDenied({ ...begin('ask_user_question'), callId: CallId('elsewhere') })).toBe(false)
  })
})

describe('the text of a denial', () => {
  it('is the advice once, then short', () => {
    const { record, begin } = admitted()
    expect(record.denialText(begin('ask_user_question'), 'active')).toBe(GOAL_ROUND_ASK_DENIAL)
    expect(record.denialText(begin('ask_user_question'), 'active')).toContain('denied again')
    expect(record.denialText(begin('exit_plan_mode'), 'active')).toContain('exit_plan_mode is denied again')
    expect(record.denialText(begin('ask_user_question'), 'decided')).toContain('no longer active')
  })

  it('is the advice for a call that the log does not know, and counts as nothing', () => {
    const { record, begin } = admitted()
    const elsewhere = { ...begin('ask_user_question'), callId: CallId('elsewhere') }
    for (const goal of ['active', 'active', 'decided'] as const) {
      expect(record.denialText(elsewhere, goal)).toBe(GOAL_ROUND_ASK_DENIAL)
    }
    expect(record.denialText(begin('ask_user_question'), 'active')).toBe(GOAL_ROUND_ASK_DENIAL)
  })
})

describe('the denials of a program', () => {
  it('are its own, each text once', () => {
    const { record, begin, deny } = admitted()
    const [first, second] = [CallId('first'), CallId('second')]
    deny(begin('ask_user_question'), 'native')
    expect(record.denialsIn(first)).toEqual([])
    deny(begin('ask_user_question', first), 'long')
    deny(begin('ask_user_question', first), 'short')
    deny(begin('ask_user_question', first), 'short')
    expect(record.denialsIn(first)).toEqual(['long', 'short'])
    deny(begin('ask_user_question', second), 'short')
    expect(record.denialsIn(second)).toEqual(['short'])
    expect(record.denialsIn(first)).toEqual([])
  })
})
