import { describe, expect, it } from 'vitest'
import { traceLog } from '../src/index.ts'
import { program, ask, realSession } from './real-session.ts'

describe('logs of the real agent loop', () => {
  it('an answer to a native question is delivered', async () => {
    const session = await realSession({ steps: [ask()] })
    await session.say('paint it')

    const { report, defect } = await traceLog(await session.flush())

    expect(defect).toBeUndefined()
    console.log(JSON.stringify(report, null, 1))
    console.log(session.agent.session.events.map(e => JSON.stringify(e).slice(0, 300)).join('\n'))
  })
  it('code', async () => {
    const session = await realSession({
      mode: 'code',
      steps: [program('await tools.ask_user_question(COLOUR); return "asked"'), { say: 'waiting' }],
    })
    await session.say('paint it')
    await session.goal(3)
    const { report } = await traceLog(await session.flush())
    console.log(JSON.stringify(report, null, 1))
    console.log(session.agent.session.events.map(e => JSON.stringify(e).slice(0, 300)).join('\n'))
  })
})
