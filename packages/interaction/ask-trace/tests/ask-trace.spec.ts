import { describe, expect, it } from 'vitest'
import { createAskTrace, traceAsks } from '../src/index.ts'
import {
  ANSWER,
  answerJson,
  asking,
  call,
  chunk,
  human,
  inserted,
  message,
  question,
  replacing,
  request,
  result,
  round,
  settled,
  started,
  stepStart,
  turnEnd,
  turnStart,
  writeBack,
  type Event,
} from './events.ts'

const verdicts = (events: readonly Event[]) => traceAsks(events).asks.map(({ verdict }) => verdict)
const layers = (events: readonly Event[]) =>
  traceAsks(events).asks.map(({ inner, outer, context, verdict }) => [inner.kind, outer, context, verdict])

describe('what the fold needs', () => {
  it('is neither sequence numbers nor times', () => {
    const [ask] = traceAsks([turnStart(1), ...asking('a', ANSWER), ...request()]).asks
    expect(ask).toMatchObject({ verdict: 'delivered' })
    expect(ask).not.toHaveProperty('seq')
    expect(ask).not.toHaveProperty('time')
    expect(ask).not.toHaveProperty('waitedMs')
  })

  it('is no beginning of the log: a receipt alone opens its question', () => {
    const [ask] = traceAsks([settled('a', answerJson('Blue')), result('a', 'asked'), ...request()]).asks
    expect(ask).toMatchObject({ calls: { root: 'a', sub: 'a:code:1' }, verdict: 'lost-in-program' })
    expect(ask).not.toHaveProperty('turn')
  })

  it('is no well-formed event', () => {
    const junk = [
      null,
      7,
      'x',
      [],
      {},
      { type: 'tool/call' },
      { type: 'tool/result', data: { message: {} } },
      { type: 'tool/code-dispatch' },
    ]
    expect(traceAsks(junk).asks).toEqual([])
    const nameless = ['tool/code-dispatch-start', 'tool/code-dispatch'].map(type => ({
      type,
      data: { name: 'ask_user_question' },
    }))
    const shapeless = [
      { type: 'tool/call', data: { name: 'ask_user_question', arguments: 'not JSON' } },
      { type: 'assistant/message', data: { message: { content: [{ type: 'tool-call', name: 'ask_user_question' }] } } },
      { type: 'approval/asked', data: {} },
      { type: 'approval/decided', data: {} },
      { type: 'user/message', data: { source: { kind: 'goal', round: 2 } } },
    ]
    expect(traceAsks([...nameless, ...shapeless]).asks).toHaveLength(2)
  })

  it('is no call for every result', () => {
    expect(traceAsks([result('a', 'x')]).asks).toEqual([])
  })

  it('is no end: a trace reports what it has, and goes on', () => {
    const trace = createAskTrace()
    for (const event of asking('a', ANSWER)) trace.push(event)
    expect(trace.finish().asks).toMatchObject([{ context: 'no-request-yet', verdict: 'awaiting-request' }])
    for (const event of request()) trace.push(event)
    expect(trace.finish().asks).toMatchObject([{ context: 'carries', verdict: 'delivered' }])
  })

  it('is nothing of other tools', () => {
    const events = [call('a'), started('a', 1, 'bash'), settled('a', 'x', 1, false, 'bash'), result('a', 'x')]
    expect(traceAsks(events).asks).toEqual([])
  })
})

describe('call ids that repeat', () => {
  it('pair in order, across turns', () => {
    const lost = asking('a', 'asked')
    const delivered = asking('a', ANSWER)
    const events = [turnStart(1), ...lost, ...request(), turnEnd(1), turnStart(2), ...delivered, ...request()]
    expect(verdicts(events)).toEqual(['lost-in-program', 'delivered'])
    expect(verdicts([turnStart(1), ...delivered, ...lost, ...request()])).toEqual(['delivered', 'lost-in-program'])
  })

  it('pair in order, side by side', () => {
    const args = JSON.stringify(question())
    const native = call('a', 'ask_user_question', args)
    const events = [
      stepStart(),
      native,
      native,
      result('a', answerJson('Blue')),
      result('a', 'Error: no', { isError: true }),
    ]
    expect(layers([...events, ...request()])).toEqual([
      ['answered', 'carries', 'carries', 'delivered'],
      ['failed', 'carries', 'carries', 'failed'],
    ])
  })

  it('do not reach back into a turn that a crash ended', () => {
    const crashed = [turnStart(1), stepStart(), call('a'), started('a'), turnEnd(1)]
    expect(layers([...crashed, turnStart(2), ...asking('a', ANSWER), ...request()])).toEqual([
      ['pending', 'missing', 'lacks', 'stalled'],
      ['answered', 'carries', 'carries', 'delivered'],
    ])
  })
})

describe('a call that was never started', () => {
  const requested = {
    type: 'assistant/message',
    data: { message: { content: [{ type: 'tool-call', id: 'a', name: 'ask_user_question', arguments: '{}' }] } },
  }
  const unstarted = result('a', 'not started', { isError: true, code: 'TOOL_NOT_STARTED' })

  it('is one question, however often its result is written', () => {
    const [ask, ...others] = traceAsks([requested, unstarted, unstarted]).asks
    expect(ask).toMatchObject({ mode: 'native', inner: { kind: 'pending', reason: 'TOOL_NOT_STARTED' } })
    expect(others).toEqual([])
  })

  it('is none once it has been started', () => {
    const events = [requested, call('a', 'ask_user_question'), result('a', answerJson('Blue')), unstarted]
    expect(traceAsks(events).asks).toMatchObject([{ inner: { kind: 'answered' } }])
  })
})

describe('a result that replaces an older one', () => {
  it('is no result of the open call with the same id', () => {
    const pruned = replacing(result('a', '[cut]'), 1)
    const events = [stepStart(), call('a'), started('a'), pruned, settled('a', answerJson('Blue')), result('a', ANSWER)]
    expect(layers([...events, ...request()])).toEqual([['answered', 'carries', 'carries', 'delivered']])
  })
})

describe('the outer layer', () => {
  it('is missing while the program runs, and then the answer is not lost', () => {
    const events = [turnStart(1), stepStart(), call('a'), started('a'), settled('a', answerJson('Blue'))]
    expect(layers(events)).toEqual([['answered', 'missing', 'no-request-yet', 'awaiting-request']])
    expect(layers([...events, turnEnd(1)])).toEqual([['answered', 'missing', 'no-request-yet', 'lost-in-program']])
  })

  it('is missing when crash repair wrote the result, and then the answer is lost', () => {
    const repaired = result('a', 'outcome unknown', { isError: true, code: 'TOOL_OUTCOME_UNKNOWN' })
    const events = [turnStart(1), stepStart(), call('a'), started('a'), settled('a', answerJson('Blue')), repaired]
    expect(layers([...events, ...request()])).toEqual([['answered', 'missing', 'lacks', 'lost-in-program']])
  })

  it('lacks what the program swallowed, a denial too', () => {
    const denied = settled('a', 'Error: go away', 1, true)
    expect(layers([stepStart(), call('a'), started('a'), denied, result('a', 'fine'), ...request()])).toEqual([
      ['failed', 'lacks', 'lacks', 'failed'],
    ])
  })

  it('lacks an answer that is still pending when the program ends', () => {
    expect(layers([stepStart(), call('a'), started('a'), result('a', 'fine'), ...request()])).toEqual([
      ['pending', 'lacks', 'lacks', 'stalled'],
    ])
  })
})

describe('the context layer', () => {
  it('is settled by the next request, 100 events later or at once', () => {
    const later = Array.from({ length: 100 }, () => human('Blue'))
    const lost = [...asking('a', 'asked'), ...request()]
    expect(verdicts(lost)).toEqual(['lost-in-program'])
    expect(verdicts([...lost, ...later, ...request()])).toEqual(['lost-in-program'])
  })

  it('is no request of its own: output of the step that asked settles nothing', () => {
    const events = [
      stepStart(),
      call('a'),
      started('a'),
      settled('a', answerJson('Blue')),
      chunk(),
      result('a', ANSWER),
    ]
    expect(layers(events)).toEqual([['answered', 'carries', 'no-request-yet', 'awaiting-request']])
  })

  it('is settled by the next step, even if the call around the question never returned', () => {
    const events = [stepStart(), call('a'), started('a'), settled('a', answerJson('Blue'))]
    expect(layers([...events, ...request()])).toEqual([['answered', 'missing', 'lacks', 'lost-in-program']])
  })

  it('is settled for the questions of earlier steps only', () => {
    const early = [stepStart(), call('b'), started('b'), settled('b', answerJson('Red')), result('b', 'asked')]
    const events = [...asking('a', ANSWER), ...early, chunk()]
    expect(layers(events)).toEqual([
      ['answered', 'carries', 'carries', 'delivered'],
      ['answered', 'lacks', 'no-request-yet', 'lost-in-program'],
    ])
    expect(layers([...events, human('Red'), ...request()])[1]).toEqual(['answered', 'lacks', 'carries', 'delivered?'])
  })

  it('waits for a step that gets an answer of the model', () => {
    const failed = [stepStart(), turnEnd(1), turnStart(2), stepStart()]
    const events = [turnStart(1), ...asking('a', 'asked'), ...failed, human('I said Blue')]
    expect(layers(events)).toEqual([['answered', 'lacks', 'no-request-yet', 'lost-in-program']])
    expect(layers([...events, chunk()])).toEqual([['answered', 'lacks', 'carries', 'delivered?']])
  })

  it('may put an answer together from several texts', () => {
    const two = JSON.stringify({ answers: [{ id: 'q', selected: ['Blue', 'Red'] }] })
    const events = [stepStart(), call('a'), started('a'), settled('a', two), result('a', ANSWER), human('and Red')]
    expect(layers([...events, ...request()])).toEqual([['answered', 'lacks', 'carries', 'delivered?']])
  })

  it('loses a text that is replaced before the request', () => {
    const events = asking('a', ANSWER).map((event, seq) => ({ ...event, seq }))
    const pruned = { ...replacing(result('a', '[cut]'), 4), seq: 5 }
    expect(layers([...events, pruned, ...request()])).toEqual([['answered', 'carries', 'lacks', 'lost-in-context']])
    const kept = { ...replacing(human('Summary: they chose Blue.'), 4), seq: 5 }
    expect(layers([...events, kept, ...request()])).toEqual([['answered', 'carries', 'carries', 'delivered?']])
  })

  it('takes no replaced text of unreadable sequence numbers away', () => {
    const odd = { ...human('Blue'), surfaceOp: { op: 'replace' }, sourceEventSeqs: ['x'] }
    expect(verdicts([...asking('a', ANSWER), odd, ...request()])).toEqual(['delivered'])
  })

  it.each([
    ['a goal prompt', round(1)],
    ['a runtime snapshot', message({ kind: 'plugin', plugin: '@deepseek-ai/dsh-system-prompt' }, 'Blue')],
  ])('does not count the words of %s', (_, event) => {
    const go = JSON.stringify({
      answers: [{ id: 'q', selected: ['Go', 'Blue'].slice(_ === 'a goal prompt' ? 0 : 1, 2) }],
    })
    const events = [
      stepStart(),
      call('a'),
      started('a'),
      settled('a', go),
      result('a', 'asked'),
      stepStart(),
      event,
      chunk(),
    ]
    expect(verdicts(events)).toEqual(['lost-in-program'])
  })

  it('counts a question in which everything was skipped: nothing of it can be lost', () => {
    const skipped = JSON.stringify({ answers: [{ id: 'q', selected: [] }] })
    const events = [stepStart(), call('a'), started('a'), settled('a', skipped), result('a', 'asked'), ...request()]
    expect(layers(events)).toEqual([['answered', 'carries', 'carries', 'delivered']])
  })
})

describe('an answer that stands only in another text', () => {
  const lost = asking('a', 'asked')
  const tool = [call('b', 'bash'), result('b', 'They chose Blue.')]

  it.each([
    ["another tool's result", tool],
    ['a message of the user', [human('I said Blue')]],
    ['a notice', [message({ kind: 'plugin', plugin: 'jobs', form: 'notice' }, 'Blue is done')]],
    ['injected instructions', [message({ kind: 'hook' }, 'Prefer Blue')]],
    ['a whole item in another result', [call('b', 'bash'), result('b', ANSWER)]],
  ])('may have been delivered: %s', (_, events) => {
    const [ask] = traceAsks([...lost, ...events, ...request()]).asks
    expect(ask).toMatchObject({ outer: 'lacks', context: 'carries', verdict: 'delivered?' })
    expect(ask?.evidence.context?.matches).toMatchObject([{ strength: 'weak', reason: 'other-text' }])
  })

  it('was lost if that text is older than the answer, or younger than the request', () => {
    const [start, ask, begin, ...rest] = lost
    const early = [start, ask, begin, human('Blue?'), ...rest].filter(event => event !== undefined)
    expect(verdicts([...early, ...request()])).toEqual(['lost-in-program'])
    expect(verdicts([...lost, ...request(), human('Blue'), ...request()])).toEqual(['lost-in-program'])
  })

  it('was lost if that text was replaced, and not if another one was', () => {
    const texts = Array.from({ length: 9 }, (_, n) => ({ ...human('Blue'), seq: 100 + n }))
    expect(verdicts([...lost, ...texts, ...request()])).toEqual(['delivered?'])
    const gone = (seq: number) => ({ ...replacing(human('…'), seq), seq: 200 + seq })
    const all = [...lost, ...texts]
    expect(verdicts([...all, gone(108), ...request()])).toEqual(['delivered?'])
    expect(verdicts([...all, ...texts.map(({ seq }) => gone(seq)), ...request()])).toEqual(['lost-in-program'])
  })

  it('is found in the first of many texts, if all later ones were replaced', () => {
    const texts = Array.from({ length: 10 }, (_, n) => ({ ...human('Blue'), seq: 100 + n }))
    const gone = texts.slice(1).map(({ seq }) => ({ ...replacing(human('…'), seq), seq: 100 + seq }))
    expect(verdicts([...lost, ...texts, ...gone, ...request()])).toEqual(['delivered?'])
  })

  it('was lost if the text was replaced after it had been searched', () => {
    const long = human('word '.repeat(300_000))
    const events = [...lost, { ...human('Blue'), seq: 100 }, long, { ...replacing(human('…'), 100), seq: 200 }]
    expect(verdicts([...events, ...request()])).toEqual(['lost-in-program'])
  })

  it('is found among more texts than are held at once', () => {
    const long = 'word '.repeat(100_000)
    const texts = [long, 'They chose Blue.', long, long, long].map(human)
    expect(verdicts([...lost, ...texts, ...request()])).toEqual(['delivered?'])
    expect(verdicts([...lost, ...texts])).toEqual(['lost-in-program'])
  })

  it('is looked for by each question for itself', () => {
    const both = [stepStart(), call('a'), started('a', 1), started('a', 2)]
    const receipts = [settled('a', answerJson('Blue'), 1), settled('a', answerJson('Red'), 2)]
    const events = [...both, ...receipts, result('a', 'asked'), human('Red'), ...request()]
    expect(verdicts(events)).toEqual(['lost-in-program', 'delivered?'])
  })
})

describe('a write-back', () => {
  const twice = (first: string, second: string) => [
    stepStart(),
    call('a'),
    started('a', 1),
    started('a', 2),
    settled('a', answerJson(first), 1),
    settled('a', answerJson(second), 2),
    result('a', 'asked'),
  ]

  it('belongs to the question with its answer', () => {
    const events = [...twice('Blue', 'Red'), stepStart(), writeBack(answerJson('Red')), chunk()]
    expect(verdicts(events)).toEqual(['lost-in-program', 'delivered-by-write-back'])
  })

  it('belongs to the oldest question that waits, if their answers are the same', () => {
    const back = writeBack(ANSWER)
    const one = [...twice('Blue', 'Blue'), stepStart(), back]
    expect(verdicts([...one, chunk()])).toEqual(['delivered-by-write-back', 'lost-in-program'])
    expect(verdicts([...one, back, chunk()])).toEqual(['delivered-by-write-back', 'delivered-by-write-back'])
  })

  it.each([
    ['that is no JSON', '<user_answer>Blue</user_answer>'],
    ['without an element', 'Blue'],
    ['with more than an element', `so: <user_answer>${ANSWER}</user_answer>`],
    ['whose call is no JSON string', `<user_answer call="\\x">\n${ANSWER}\n</user_answer>`],
    ['whose content is no JSON', '<user_answer call="a:code:1">\nBlue\n</user_answer>'],
  ])('%s is a message like any other', (_, content) => {
    const back = message({ kind: 'plugin', plugin: 'tool-ask-user' }, content)
    expect(verdicts([...asking('a', 'asked'), stepStart(), back, chunk()])).toEqual(['delivered?'])
  })

  it('counts outright, also for an answer whose receipt was cut', () => {
    const events = [stepStart(), call('a'), started('a'), settled('a', '{"answers":[{"i…'), result('a', 'asked')]
    expect(verdicts([...events, stepStart(), writeBack(answerJson('Blue')), chunk()])).toEqual([
      'delivered-by-write-back',
    ])
  })

  it('of another question is nobody of these', () => {
    const other = JSON.stringify({ answers: [{ id: 'other', selected: ['Blue'] }] })
    expect(verdicts([...asking('a', 'asked'), stepStart(), writeBack(other.replace('Blue', 'Red')), chunk()])).toEqual([
      'lost-in-program',
    ])
  })

  it('is known by its message from the inbox on', () => {
    const back = writeBack(answerJson('Blue'), 'm7')
    const queued = [turnStart(1), ...asking('a', 'asked'), inserted(human('hm')), inserted(back), turnEnd(1)]
    expect(verdicts(queued)).toEqual(['awaiting-request'])
    expect(verdicts([...queued, stepStart(), back])).toEqual(['awaiting-request'])
    expect(verdicts([...queued, stepStart(), back, chunk()])).toEqual(['delivered-by-write-back'])
    expect(verdicts([...queued, ...request()])).toEqual(['lost-in-program'])
  })

  it('is known by its message also beside another with the same answer', () => {
    const backs = [writeBack(answerJson('Blue'), 'm1'), writeBack(answerJson('Blue'), 'm2')]
    const queued = [turnStart(1), ...twice('Blue', 'Blue'), ...backs.map(inserted), turnEnd(1)]
    expect(verdicts(queued)).toEqual(['awaiting-request', 'awaiting-request'])
    expect(verdicts([...queued, stepStart(), ...backs, chunk()])).toEqual([
      'delivered-by-write-back',
      'delivered-by-write-back',
    ])
    expect(verdicts([...queued, stepStart(), ...backs.slice(0, 1), chunk()])).toEqual([
      'delivered-by-write-back',
      'lost-in-program',
    ])
    expect(verdicts([...queued, stepStart(), ...backs.slice(1), chunk()])).toEqual([
      'lost-in-program',
      'delivered-by-write-back',
    ])
  })

  it('in the inbox without a question changes nothing', () => {
    expect(traceAsks([inserted(writeBack(answerJson('Blue')))]).asks).toEqual([])
  })

  it('that is replaced before the request is gone', () => {
    const back = { ...writeBack(answerJson('Blue')), seq: 9 }
    const events = [...asking('a', 'asked'), stepStart(), back, { ...replacing(human('Summary'), 9), seq: 10 }, chunk()]
    expect(layers(events)).toEqual([['answered', 'lacks', 'lacks', 'lost-in-program']])
  })

  it('is no business of a native question', () => {
    const native = call('a', 'ask_user_question', JSON.stringify(question()))
    const events = [
      stepStart(),
      native,
      result('a', answerJson('Blue')),
      stepStart(),
      writeBack(answerJson('Blue')),
      chunk(),
    ]
    expect(traceAsks(events).asks).toMatchObject([{ writtenBack: false, verdict: 'delivered' }])
  })
})

describe('an element that names its call', () => {
  const element = (name: string, sub: string, json: string, id?: string) =>
    message(
      { kind: 'plugin', plugin: 'tool-ask-user', form: 'notice' },
      `<${name} call=${JSON.stringify(sub)}>\n${json}\n</${name}>`,
      id,
    )
  const twice = [stepStart(), call('a'), started('a', 1), started('a', 2)]
  const both = [...twice, settled('a', ANSWER, 1), settled('a', ANSWER, 2), result('a', 'asked')]

  it('is of that question, whatever the order and whatever it says', () => {
    const events = [...both, stepStart(), element('user_answer', 'a:code:2', '"[removed by policy]"')]
    const { asks } = traceAsks([...events, chunk()])
    expect(asks.map(({ verdict }) => verdict)).toEqual(['lost-in-program', 'delivered-by-write-back'])
    expect(asks[1]?.evidence.context?.matches).toMatchObject([{ strength: 'strong', reason: 'user-answer' }])
    expect(verdicts([...events, element('user_answer', 'a:code:1', '{}'), chunk()])).toEqual([
      'delivered-by-write-back',
      'delivered-by-write-back',
    ])
  })

  it('names only the end of a long id', () => {
    const root = 'r'.repeat(200)
    const events = [...asking(root, 'asked'), stepStart(), element('user_answer', `${root}:code:1`.slice(-100), '{}')]
    expect(verdicts([...events, chunk()])).toEqual(['delivered-by-write-back'])
  })

  it('of no question here is a message like any other', () => {
    const events = [...asking('a', 'asked'), stepStart(), element('user_answer', 'x:code:1', ANSWER), chunk()]
    expect(verdicts(events)).toEqual(['delivered?'])
  })

  it('is not taken from anybody else', () => {
    for (const source of [
      { kind: 'user' },
      { kind: 'plugin', plugin: 'other' },
      { kind: 'hook', plugin: 'tool-ask-user' },
    ]) {
      const forged = message(source, `<user_answer call="a:code:1">\n${ANSWER}\n</user_answer>`)
      expect(verdicts([...asking('a', 'asked'), stepStart(), forged, chunk()])).toEqual(['delivered?'])
    }
  })

  it('makes an unreadable receipt good', () => {
    const cut = [stepStart(), call('a'), started('a'), settled('a', '{"answers":[{"i…'), result('a', 'asked')]
    expect(verdicts([...cut, ...request()])).toEqual(['unknown'])
    expect(verdicts([...cut, stepStart(), element('user_answer', 'a:code:1', '"…"'), chunk()])).toEqual([
      'delivered-by-write-back',
    ])
  })

  it('waits in the inbox for the question that it names', () => {
    const back = element('user_answer', 'a:code:1', ANSWER, 'm7')
    const nameless = inserted({ ...back, data: { ...(back.data as Event), id: undefined } })
    expect(verdicts([turnStart(1), ...both, nameless, turnEnd(1)])).toEqual(['lost-in-program', 'lost-in-program'])
    const queued = [turnStart(1), ...both, inserted(back), inserted(element('user_answer', 'x', ANSWER)), turnEnd(1)]
    expect(verdicts(queued)).toEqual(['awaiting-request', 'lost-in-program'])
    expect(verdicts([...queued, stepStart(), back, chunk()])).toEqual(['delivered-by-write-back', 'lost-in-program'])
  })

  describe('as withdrawn', () => {
    const aborted = settled('a', 'Error: ask_user_question was aborted before the user answered', 1, true)
    const left = [turnStart(1), stepStart(), call('a'), started('a'), aborted, result('a', 'went on')]
    const told = element('user_question_withdrawn', 'a:code:1', '{"questions":[]}', 'm8')

    it('tells the model, which otherwise is not told', () => {
      expect(layers([...left, ...request()])).toEqual([['failed', 'lacks', 'lacks', 'withdrawn']])
      expect(layers([...left, stepStart(), told, chunk()])).toEqual([['failed', 'lacks', 'carries', 'withdrawn']])
    })

    it('may wait in the inbox', () => {
      const queued = [...left, inserted(told), turnEnd(1), stepStart(), told, chunk()]
      expect(layers(queued)).toEqual([['failed', 'lacks', 'carries', 'withdrawn']])
    })
  })
})

describe('a question that was aborted', () => {
  const ABORTS = ['Error: ask_user_question was aborted before the user answered', 'Error: tool call aborted']
  const aborted = (text: string) => [turnStart(1), stepStart(), call('a'), started('a'), settled('a', text, 1, true)]
  const end = (kind: string): Event => ({ type: 'turn/end', data: { turn: 1, reason: { kind } } })

  it.each(ABORTS)('was withdrawn if its program went on: %s', text => {
    const events = [...aborted(text), result('a', 'went on'), ...request()]
    expect(verdicts(events)).toEqual(['withdrawn'])
    expect(verdicts([...events, end('completed')])).toEqual(['withdrawn'])
    expect(verdicts([...aborted(text), result('a', 'code run failed', { isError: true, code: 'X' })])).toEqual([
      'withdrawn',
    ])
  })

  it.each(ABORTS)('has failed if its turn or its program was aborted: %s', text => {
    expect(verdicts(aborted(text))).toEqual(['failed'])
    expect(verdicts([...aborted(text), result('a', 'went on'), ...request(), end('aborted')])).toEqual(['failed'])
    for (const code of ['ABORTED', 'ABORTED_BEFORE_DISPATCH', undefined]) {
      const result_ = result('a', 'Error: tool call aborted', {
        isError: true,
        ...(code === undefined ? {} : { code }),
      })
      expect(verdicts([...aborted(text), result_, ...request()])).toEqual(['failed'])
    }
  })

  it('is not made withdrawn by the next turn', () => {
    const events = [...aborted('Error: tool call aborted'), result('a', 'went on'), turnStart(2), end('aborted')]
    expect(verdicts(events)).toEqual(['withdrawn'])
  })

  it('before it was shown has failed', () => {
    const unseen = [...aborted('Error: tool call aborted before dispatch'), result('a', 'went on'), ...request()]
    expect(verdicts(unseen)).toEqual(['failed'])
  })

  it('is not written back in the first form, if it failed in another way', () => {
    const failed = [stepStart(), call('a'), started('a'), settled('a', 'Error: boom', 1, true), result('a', 'x')]
    expect(verdicts([...failed, stepStart(), writeBack(ANSWER), chunk()])).toEqual(['failed'])
  })

  it('after its answer had come may have been written back, in the first form', () => {
    const events = [...aborted('Error: tool call aborted'), turnEnd(1), stepStart(), writeBack(ANSWER), chunk()]
    expect(verdicts(events)).toEqual(['delivered-by-write-back'])
  })
})

describe('an older payload shape', () => {
  const old = (data: Event): Event => ({ type: 'tool/result', data })
  const NOTE = expect.stringContaining('have no data.message') as string

  it('leaves the end of a native question unknown, and is named', () => {
    const native = call('a', 'ask_user_question', JSON.stringify(question()))
    const { asks, notes } = traceAsks([
      turnStart(1),
      native,
      { ...old({ callId: 'a', content: [] }), seq: 9 },
      turnEnd(1),
    ])
    expect(asks).toMatchObject([{ inner: { kind: 'unreadable' }, outer: 'missing', verdict: 'unknown' }])
    expect(notes).toEqual([
      '1 tool/result events have no data.message, the first at seq 9: an older payload shape, which is not read',
    ])
  })

  it('leaves the end of an answer in a program unknown, and may name no call', () => {
    const events = [
      turnStart(1),
      stepStart(),
      call('a'),
      started('a'),
      settled('a', ANSWER),
      old({}),
      old({}),
      ...request(),
    ]
    expect(traceAsks(events)).toMatchObject({
      asks: [{ inner: { kind: 'answered' }, verdict: 'unknown' }],
      notes: [NOTE],
    })
  })

  it('does not touch what was settled before, or is of another call', () => {
    const fine = [turnStart(1), ...asking('a', ANSWER)]
    expect(layers([...fine, old({}), ...request()])).toEqual([['answered', 'carries', 'carries', 'delivered']])
    const other = [turnStart(1), call('b'), ...asking('a', ANSWER).slice(0, -1), old({ callId: 'b' })]
    expect(verdicts([...other, result('a', ANSWER), ...request()])).toEqual(['delivered'])
  })
})

describe('sequence numbers', () => {
  it('that repeat or go back are noted', () => {
    const seqs = [1, 2, 2, 5, 3, 4].map(seq => ({ type: 'step/end', seq }))
    expect(traceAsks(seqs).notes).toEqual(['seq repeats or goes back 2 times, first at seq 2'])
    expect(traceAsks([1, 2, 9].map(seq => ({ type: 'step/end', seq }))).notes).toEqual([])
  })
})

describe('what a trace holds', () => {
  const held = (events: readonly Event[]) => {
    const trace = createAskTrace()
    for (const event of events) trace.push(event)
    return trace.heldBytes
  }
  const long = { ...human('word '.repeat(100_000)), seq: 9 }
  const lost = asking('a', 'asked')

  it('is some of the texts that an answer may still be looked for in', () => {
    expect(held([...lost, long])).toBeGreaterThan(900_000)
    expect(held([...lost, long, long, long, long, long])).toBeLessThan(2_000_000)
  })

  it('is none of them once the request was made, and no more than before', () => {
    const before = held([...lost, ...request()])
    expect(held([...lost, long, ...request()])).toBe(before)
    expect(before).toBeLessThan(held(lost))
  })

  it('is little of a long answer once the request was made', () => {
    const answered = [stepStart(), call('a'), started('a'), settled('a', answerJson('word '.repeat(10_000)))]
    expect(held(answered)).toBeGreaterThan(5_000_000)
    expect(held([...answered, result('a', 'asked'), ...request()])).toBeLessThan(200_000)
  })

  it('is the calls that have no result yet', () => {
    expect(held([call('a'), call('b')])).toBeGreaterThan(held([call('a'), call('b'), result('b', '')]))
  })
})

it('a wait is never negative', () => {
  const [start, ...rest] = asking('a', ANSWER).map((event, index) => ({ ...event, time: 5_000 - 1_000 * index }))
  expect(traceAsks([start, ...rest]).asks).toMatchObject([{ waitedMs: 0 }])
})

it('of more than fifty things that were looked for, the weakest are shown', () => {
  const labels = Array.from({ length: 80 }, (_, n) => `option number ${n}`)
  const receipt = JSON.stringify({ answers: [{ id: 'q', selected: labels }] })
  const events = [stepStart(), call('a'), started('a'), settled('a', receipt), result('a', labels.slice(5).join(', '))]
  const [ask] = traceAsks([...events, ...request()]).asks
  expect(ask?.evidence.outer?.matches).toHaveLength(50)
  expect(ask?.evidence.outer?.matches.slice(0, 6).map(({ strength }) => strength)).toEqual([
    ...Array.from({ length: 5 }, () => 'none'),
    'strong',
  ])
  expect(ask).toMatchObject({ outer: 'lacks', verdict: 'lost-in-program' })
})

describe('an approval', () => {
  const asked = { type: 'approval/asked', data: { id: 'p', callId: 'a:code:1' } }
  const decided = (outcome: string) => ({ type: 'approval/decided', data: { id: 'p', outcome } })

  it('explains the failure of its very call', () => {
    const denied = settled('a', 'Error: no', 1, true)
    const events = [call('a'), started('a'), asked, decided('rejected'), denied]
    expect(traceAsks(events).asks).toMatchObject([{ inner: { kind: 'denied', rule: 'approval-rejected' } }])
  })

  it('without an id still explains it', () => {
    const nameless = [
      { ...asked, data: { callId: 'a:code:1' } },
      { ...decided(''), data: { outcome: 'unavailable' } },
    ]
    const events = [call('a'), started('a'), ...nameless, settled('a', 'Error: no', 1, true)]
    expect(traceAsks(events).asks).toMatchObject([{ inner: { kind: 'denied', rule: 'approval-unavailable' } }])
  })

  it('that was granted, or belongs to another call, explains nothing', () => {
    const failed = settled('a', 'Error: no', 1, true)
    const granted = [call('a'), started('a'), asked, decided('allowed-once'), failed]
    const late = [call('a'), started('a'), failed, asked, decided('rejected')]
    for (const events of [granted, late]) {
      expect(traceAsks(events).asks).toMatchObject([{ inner: { kind: 'failed', code: 'UNKNOWN' } }])
    }
  })
})

it('sees the next request also by a whole assistant message, in a log without chunks', () => {
  const answered = { type: 'assistant/message', data: { turn: 1, step: 2, message: { content: [] } } }
  const [ask] = traceAsks([turnStart(1), ...asking('a', ANSWER), stepStart(), answered]).asks
  expect(ask).toMatchObject({ context: 'carries', verdict: 'delivered' })
})

describe('the time a question waited', () => {
  const timed = (events: readonly Event[]) =>
    events.map((event, index) => ({ ...event, seq: index, time: index * 1000 }))

  it('is that to its receipt', () => {
    expect(traceAsks(timed([...asking('a', ANSWER), ...request()])).asks).toMatchObject([
      { time: 2000, waitedMs: 1000 },
    ])
  })

  it('without a receipt is that to the end of the log, or of the turn', () => {
    const open = [turnStart(1), stepStart(), call('a'), started('a'), human('?'), human('?')]
    expect(traceAsks(timed(open)).asks).toMatchObject([{ verdict: 'stalled', waitedMs: 2000 }])
    expect(traceAsks(timed([...open, turnEnd(1), turnStart(2), turnEnd(2)])).asks).toMatchObject([{ waitedMs: 3000 }])
  })

  it('ends with its turn also where the log lost the end of that, with the start of the next', () => {
    const open = [turnStart(1), stepStart(), call('a'), started('a')]
    const cut = timed([...open, turnStart(2), human('?'), turnEnd(2)])
    expect(traceAsks(cut).asks).toMatchObject([{ turn: 1, verdict: 'stalled', waitedMs: 1000 }])
  })
})

describe('rounds spun', () => {
  const lost = (root: string) => [...asking(root, 'asked'), ...request()]
  const spun = (events: readonly Event[]) => {
    const { asks, summary } = traceAsks(events)
    return [asks.map(({ roundsSpun }) => roundsSpun), summary.roundsSpun]
  }

  it('are the goal rounds after the loss', () => {
    expect(spun([round(1), ...lost('a'), round(2), round(3)])).toEqual([[2], 2])
  })

  it('end with the next word of the human', () => {
    expect(spun([...lost('a'), round(1), human('hello?'), round(2), round(3)])).toEqual([[1], 1])
  })

  it('end with the next word of the human, even before the request that shows the loss', () => {
    const cancelled = [...asking('a', 'asked'), round(1), human('go on'), ...request(), round(2)]
    expect(spun(cancelled)).toEqual([[1], 1])
  })

  it('do not end with an answer that arrives while another is lost', () => {
    const both = [call('b'), started('b'), settled('b', answerJson('Red')), result('b', 'Red')]
    expect(spun([...asking('a', 'asked'), ...both, ...request(), round(1)])).toEqual([[1, 0], 1])
  })

  it('end with the next word of the human, also where another answer arrived meanwhile', () => {
    const both = [call('b'), started('b'), settled('b', answerJson('Red')), result('b', 'Red')]
    const events = [...asking('a', 'asked'), ...both, ...request(), round(1), human('?'), round(2)]
    expect(spun(events)).toEqual([[1, 0], 1])
  })

  it('end with the next answer that arrives', () => {
    expect(spun([...lost('a'), round(1), ...asking('b', ANSWER), ...request(), round(2)])).toEqual([[1, 0], 1])
  })

  it('are counted once where two answers are lost', () => {
    expect(spun([...lost('a'), round(1), ...lost('b'), round(2), round(3)])).toEqual([[3, 2], 3])
    expect(spun([...lost('a'), round(1), human('?'), round(2), ...lost('b'), round(3)])).toEqual([[1, 1], 2])
  })

  it('are none where nothing was lost, and round 0 is none', () => {
    expect(spun([...asking('a', ANSWER), ...request(), round(1)])).toEqual([[0], 0])
    expect(spun([...lost('a'), round(0)])).toEqual([[0], 0])
  })
})

it('names the goal round that owns the turn', () => {
  const events = [
    turnStart(4),
    stepStart(),
    round(3),
    ...asking('a', ANSWER),
    turnEnd(4),
    turnStart(5),
    ...asking('b', ANSWER),
  ]
  const [first, second] = traceAsks(events).asks
  expect(first).toMatchObject({ turn: 4, goalRound: { goalId: 'g', round: 3 } })
  expect(second).not.toHaveProperty('goalRound')
})
