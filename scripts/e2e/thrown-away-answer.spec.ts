import { describe, expect, it } from 'vitest'
import { ANSWER, QUESTION, askingOnce } from './support/models.ts'
import { human, runDsh, textsSeenBy, type DshRun, type Side } from './support/run-dsh.ts'
import { messagesFrom, resultsOf, settledAsks, verdictsOf } from './support/session-log.ts'

/** The other half of #6074: an ordinary turn, and a program that throws the human's answer away. */
function runProgram(side: Side): Promise<DshRun> {
  return runDsh({
    side,
    codeMode: true,
    task: 'Set up the database',
    model: askingOnce,
    insert: [{ id: 'tool-ask-user', name: '@deepseek-ai/dsh-tool-ask-user' }, human(ANSWER)],
  })
}

describe('an answer that a program throws away', () => {
  it('stock: it is in the log, and in nothing the model sees', async () => {
    const run = await runProgram('stock')

    expect(run).toMatchObject({ exitCode: 0, stdout: 'Done.\n', asked: [QUESTION] })
    expect(settledAsks(run.events)).toEqual([{ isError: false, text: expect.stringContaining(ANSWER) as string }])
    expect(resultsOf(run.events, 'run_code')).toEqual([{ isError: false, text: 'asked' }])
    expect(textsSeenBy(run).filter(text => text.includes(ANSWER))).toEqual([])
    expect(verdictsOf(run.events)).toEqual(['lost-in-program'])
  })

  it.each(['fork', 'installed'] as const)('%s: it is written back, and in the very next request', async side => {
    const run = await runProgram(side)

    expect(run).toMatchObject({ exitCode: 0, stdout: 'Done.\n', asked: [QUESTION] })
    expect(resultsOf(run.events, 'run_code')).toEqual([{ isError: false, text: 'asked' }])
    const [notice, ...others] = messagesFrom(run.events, 'tool-ask-user')
    expect(others).toEqual([])
    expect(notice).toMatch(/^<user_answer call="[^"]+">\n.*\n<\/user_answer>$/)
    expect(notice).toContain(ANSWER)
    expect(run.requests[1]?.messages.at(-1)).toEqual({ role: 'user', content: notice })
    expect(verdictsOf(run.events)).toEqual(['delivered-by-write-back'])
  })
})
