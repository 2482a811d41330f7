/** Every row of the table in `output-signal.ts`, on streams that the test prints to and a clock that it moves. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { SubprocessOutputRead, SubprocessOutputReader } from '@deepseek-ai/dsh-subprocess'
import { LookTimer, OutputSignal, ticksAfter } from '../src/output-signal.ts'
import { readWhole } from '../src/whole-text.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** A stream that the test prints to. It keeps the newest bytes, up to its window. */
class Stream implements SubprocessOutputReader {
  window = Infinity
  fault: unknown
  /** Every offset that was asked for. */
  readonly asked: number[] = []
  private bytes = Buffer.alloc(0)

  print(text: string | number[]): void {
    this.bytes = Buffer.concat([this.bytes, Buffer.from(text as string)])
  }

  readFrom(from: number): SubprocessOutputRead {
    this.asked.push(from)
    if (this.fault !== undefined) throw this.fault
    const start = Math.max(0, this.bytes.length - this.window)
    const text = this.bytes.subarray(Math.max(start, from)).toString('utf8')
    return { text, nextOffset: this.bytes.length, lossy: from < start }
  }
}

/** A process as the signal sees it: two streams, a reader of both, and perhaps a note. */
class Process {
  readonly stdout = new Stream()
  readonly stderr = new Stream()
  readonly warnings: string[] = []
  readonly signal: OutputSignal
  note = ''
  private readonly offsets = { stdout: 0, stderr: 0 }

  constructor(timer = new LookTimer()) {
    this.signal = new OutputSignal({
      timer,
      streams: [
        { reader: this.stdout, offset: () => this.offsets.stdout },
        { reader: this.stderr, offset: () => this.offsets.stderr },
      ],
      hasNote: () => this.note !== '',
      warn: fault => this.warnings.push(fault),
    })
  }

  /** What a consumer reads: everything that is new, whole characters only. */
  read(): string {
    const text = (['stdout', 'stderr'] as const).map((name: 'stdout' | 'stderr') => {
      const read = readWhole(this[name], this.offsets[name], this.signal.isSettled)
      this.offsets[name] = read.nextOffset
      return read.text
    })
    const { note } = this
    this.note = ''
    return [...text, note].join('')
  }

  /** Subscribe, and count the calls. */
  listen(also: () => void = () => undefined) {
    const listener = vi.fn(also)
    return { listener, dispose: this.signal.subscribe(listener) }
  }
}

const HEAD = [0xe4, 0xb8]
const REST = [0xad]

describe('while the process lives', () => {
  it('nothing is looked at before somebody listens', () => {
    const proc = new Process()
    proc.stdout.print('out')
    expect(vi.getTimerCount()).toBe(0)
    expect(proc.stdout.asked).toEqual([])
  })

  it('new output is signalled within 100 ms, once, on either stream', () => {
    const proc = new Process()
    const { listener } = proc.listen()
    for (const stream of [proc.stdout, proc.stderr]) {
      stream.print('line\n')
      vi.advanceTimersByTime(100)
      expect(listener).toHaveBeenCalledTimes(1)
      vi.advanceTimersByTime(1_000)
      expect(listener).toHaveBeenCalledTimes(1)
      listener.mockClear()
    }
  })

  it('one look calls a listener once, however much came on both streams', () => {
    const proc = new Process()
    const { listener } = proc.listen()
    for (let line = 0; line < 10; line += 1) {
      proc.stdout.print('out\n')
      proc.stderr.print('err\n')
      vi.advanceTimersByTime(9)
    }
    vi.advanceTimersByTime(10)
    expect(listener).toHaveBeenCalledTimes(1)
  })

  it('more output is signalled again, although the first was not read', () => {
    const proc = new Process()
    const { listener } = proc.listen()
    proc.stdout.print('one\n')
    vi.advanceTimersByTime(100)
    proc.stdout.print('two\n')
    vi.advanceTimersByTime(100)
    expect(listener).toHaveBeenCalledTimes(2)
    expect(proc.read()).toBe('one\ntwo\n')
  })

  it('output that was read before a look is not signalled', () => {
    const proc = new Process()
    const { listener } = proc.listen()
    proc.stdout.print('one\n')
    expect(proc.read()).toBe('one\n')
    vi.advanceTimersByTime(1_000)
    expect(listener).not.toHaveBeenCalled()
  })

  it('looks and subscriptions leave what a read returns as it is', () => {
    const proc = new Process()
    proc.stdout.print([...Buffer.from('out '), ...HEAD])
    proc.stderr.print('err')
    proc.listen().dispose()
    proc.listen()
    vi.advanceTimersByTime(500)
    expect(proc.read()).toBe('out err')
    proc.stdout.print(REST)
    expect(proc.read()).toBe('中')
  })

  it('a part of a character is not signalled, and its completion is, once', () => {
    const proc = new Process()
    const { listener } = proc.listen()
    proc.stdout.print(HEAD)
    vi.advanceTimersByTime(1_000)
    expect(listener).not.toHaveBeenCalled()
    proc.stdout.print(REST)
    vi.advanceTimersByTime(1_000)
    expect(listener).toHaveBeenCalledTimes(1)
  })

  it('output that memory has lost meanwhile is signalled once', () => {
    const proc = new Process()
    proc.stdout.window = 4
    const { listener } = proc.listen()
    proc.stdout.print('0123456789')
    vi.advanceTimersByTime(1_000)
    expect(listener).toHaveBeenCalledTimes(1)
  })

  it('a look asks for what is new only, never for the backlog or for what was read', () => {
    const proc = new Process()
    proc.stdout.print('a long backlog')
    proc.listen()
    proc.stdout.print('!')
    vi.advanceTimersByTime(200)
    expect(proc.stdout.asked).toEqual([0, 14, 15])
    proc.stdout.print(' more')
    proc.read()
    proc.stdout.asked.length = 0
    vi.advanceTimersByTime(100)
    expect(proc.stdout.asked).toEqual([20])
  })
})

describe('a subscription', () => {
  it('is called before onOutput returns if output is unread, told or not, and else not', () => {
    const proc = new Process()
    expect(proc.listen().listener).not.toHaveBeenCalled()
    proc.stdout.print('out')
    expect(proc.listen().listener).toHaveBeenCalledTimes(1)
    expect(proc.listen().listener).toHaveBeenCalledTimes(1)
    proc.read()
    expect(proc.listen().listener).not.toHaveBeenCalled()
  })

  it('is not called for a part of a character', () => {
    const proc = new Process()
    proc.stdout.print(HEAD)
    expect(proc.listen().listener).not.toHaveBeenCalled()
  })

  it('is a look, which also calls those that listen already, for new output', () => {
    const proc = new Process()
    const first = proc.listen()
    proc.stdout.print('out')
    proc.listen()
    expect(first.listener).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(1_000)
    expect(first.listener).toHaveBeenCalledTimes(1)
  })

  it('is not called for what those read that listen already', () => {
    const proc = new Process()
    proc.listen(() => proc.read())
    proc.stdout.print('out')
    expect(proc.listen().listener).not.toHaveBeenCalled()
  })

  it('is its own, also of the same function, and its disposer may be called twice', () => {
    const proc = new Process()
    const listener = vi.fn()
    const dispose = [proc.signal.subscribe(listener), proc.signal.subscribe(listener)]
    proc.stdout.print('one')
    vi.advanceTimersByTime(100)
    expect(listener).toHaveBeenCalledTimes(2)
    dispose[0]?.()
    dispose[0]?.()
    proc.stdout.print('two')
    vi.advanceTimersByTime(100)
    expect(listener).toHaveBeenCalledTimes(3)
  })

  it('is not called after its disposal', () => {
    const proc = new Process()
    const [gone, stays] = [proc.listen(), proc.listen()]
    proc.stdout.print('out')
    gone.dispose()
    vi.advanceTimersByTime(1_000)
    expect(gone.listener).not.toHaveBeenCalled()
    expect(stays.listener).toHaveBeenCalledTimes(1)
  })
})

describe('a listener', () => {
  it('may read', () => {
    const proc = new Process()
    const reads: string[] = []
    proc.listen(() => reads.push(proc.read()))
    for (const text of ['one', 'two']) {
      proc.stdout.print(text)
      vi.advanceTimersByTime(100)
    }
    expect(reads).toEqual(['one', 'two'])
  })

  it('may dispose of others, which are then not called any more, and of itself', () => {
    const proc = new Process()
    const first = proc.listen(() => {
      second.dispose()
      first.dispose()
    })
    const second = proc.listen()
    const third = proc.listen()
    proc.stdout.print('out')
    vi.advanceTimersByTime(100)
    expect([first, second, third].map(({ listener }) => listener.mock.calls.length)).toEqual([1, 0, 1])
    third.dispose()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('may subscribe another, which is called for what is unread', () => {
    const proc = new Process()
    const later = vi.fn()
    proc.listen(() => proc.signal.subscribe(later))
    proc.stdout.print('out')
    vi.advanceTimersByTime(100)
    expect(later).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(1)
  })

  it('may throw: that is logged, and the others are called', () => {
    const proc = new Process()
    const fails = proc.listen(() => {
      throw new Error('no')
    })
    const { listener } = proc.listen()
    proc.stdout.print('out')
    vi.advanceTimersByTime(100)
    expect(listener).toHaveBeenCalledTimes(1)
    expect(proc.warnings).toEqual(['has a listener for output that threw: Error: no'])
    proc.stdout.print('more')
    vi.advanceTimersByTime(100)
    expect(fails.listener).toHaveBeenCalledTimes(2)
  })

  it('may throw in its first call: it is subscribed all the same', () => {
    const proc = new Process()
    proc.stdout.print('out')
    const { listener, dispose } = proc.listen(() => {
      throw new Error('no')
    })
    proc.stdout.print('more')
    vi.advanceTimersByTime(100)
    expect(listener).toHaveBeenCalledTimes(2)
    dispose()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('the timer', () => {
  it('is one for all listeners, and goes with the last', () => {
    const proc = new Process()
    const [first, second] = [proc.listen(), proc.listen()]
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(250)
    first.dispose()
    expect(vi.getTimerCount()).toBe(1)
    second.dispose()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('goes with the last in its call, too', () => {
    const proc = new Process()
    const { dispose } = proc.listen(() => {
      dispose()
    })
    proc.stdout.print('out')
    vi.advanceTimersByTime(100)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is there again for the next listener', () => {
    const proc = new Process()
    proc.listen().dispose()
    const { listener } = proc.listen()
    expect(vi.getTimerCount()).toBe(1)
    proc.stdout.print('out')
    vi.advanceTimersByTime(100)
    expect(listener).toHaveBeenCalledTimes(1)
  })

  it('does not keep the harness alive', () => {
    vi.useRealTimers()
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const { dispose } = new Process().listen()
    const timer = timers.mock.results[0]?.value as NodeJS.Timeout | undefined
    expect(timer?.hasRef()).toBe(false)
    dispose()
  })

  it.each([
    [0, 1],
    [2, 1],
    [2.5, 2],
    [4, 2],
    [20, 10],
    [500, 10],
  ])('after a look of %d ms looks at the tick %d from then', (lookMs, ticks) => {
    expect(ticksAfter(lookMs)).toBe(ticks)
  })

  it('is one for all processes of an executor, and goes with the last listener of them', () => {
    const timer = new LookTimer()
    const [one, other] = [new Process(timer), new Process(timer)]
    const first = one.listen()
    vi.advanceTimersByTime(70)
    const second = other.listen()
    expect(vi.getTimerCount()).toBe(1)
    other.stdout.print('out')
    vi.advanceTimersByTime(30)
    expect([first.listener.mock.calls.length, second.listener.mock.calls.length]).toEqual([0, 1])
    first.dispose()
    one.stdout.asked.length = 0
    other.stdout.print('more')
    vi.advanceTimersByTime(100)
    expect(one.stdout.asked).toEqual([])
    expect(second.listener).toHaveBeenCalledTimes(2)
    second.dispose()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('does not look for those of whom another process disposes at the same tick', () => {
    const timer = new LookTimer()
    const [one, other] = [new Process(timer), new Process(timer)]
    one.listen(() => {
      second.dispose()
    })
    const second = other.listen()
    other.stdout.asked.length = 0
    one.stdout.print('out')
    other.stdout.print('out')
    vi.advanceTimersByTime(100)
    expect(other.stdout.asked).toEqual([])
    expect(vi.getTimerCount()).toBe(1)
  })

  it('looks once a tick, also for somebody who disposes and subscribes again in the call', () => {
    const proc = new Process()
    const { dispose } = proc.listen(() => {
      proc.read()
      dispose()
      proc.listen()
    })
    proc.stdout.print('out')
    proc.stdout.asked.length = 0
    vi.advanceTimersByTime(100)
    const [look, read, subscription] = [0, 0, 3]
    expect(proc.stdout.asked).toEqual([look, read, subscription])
  })

  it('waits longer after a slow look, a subscription being one, too', () => {
    const proc = new Process()
    let now = 0
    let lookMs = 10
    vi.spyOn(performance, 'now').mockImplementation(() => (now += lookMs))
    const { listener } = proc.listen()
    proc.stdout.print('out')
    vi.advanceTimersByTime(499)
    expect(listener).not.toHaveBeenCalled()
    lookMs = 0
    vi.advanceTimersByTime(1)
    expect(listener).toHaveBeenCalledTimes(1)
    proc.stdout.print('more')
    vi.advanceTimersByTime(100)
    expect(listener).toHaveBeenCalledTimes(2)
  })
})

describe('at the end of the process', () => {
  it('the timer goes at once, and what was not told is told in a later macrotask, once', async () => {
    const proc = new Process()
    const { listener } = proc.listen()
    proc.stdout.print('out')
    proc.signal.settle()
    await Promise.resolve()
    expect(listener).not.toHaveBeenCalled()
    vi.advanceTimersByTime(0)
    expect(listener).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(10_000)
    expect(listener).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('half a character counts, which nothing can complete any more', () => {
    const proc = new Process()
    const { listener } = proc.listen()
    proc.stdout.print(HEAD)
    vi.advanceTimersByTime(100)
    proc.signal.settle()
    vi.advanceTimersByTime(0)
    expect(listener).toHaveBeenCalledTimes(1)
    expect(proc.read()).toBe('\uFFFD')
  })

  it('a note counts', () => {
    const proc = new Process()
    const { listener } = proc.listen()
    proc.signal.settle()
    proc.note = 'spawn failed'
    vi.advanceTimersByTime(0)
    expect(listener).toHaveBeenCalledTimes(1)
  })

  it.each([
    ['was told', (proc: Process) => void (proc.stdout.print('out'), vi.advanceTimersByTime(100))],
    ['was read', (proc: Process) => void (proc.stdout.print('out'), proc.read())],
  ])('output that %s is not told again', (_case, before) => {
    const proc = new Process()
    const { listener } = proc.listen()
    before(proc)
    listener.mockClear()
    proc.signal.settle()
    vi.advanceTimersByTime(0)
    expect(listener).not.toHaveBeenCalled()
  })

  it('output that is read before the last look is not told', () => {
    const proc = new Process()
    const { listener } = proc.listen()
    proc.stdout.print('out')
    proc.signal.settle()
    const late = proc.listen()
    expect(late.listener).toHaveBeenCalledTimes(1)
    proc.read()
    vi.advanceTimersByTime(0)
    expect(listener).not.toHaveBeenCalled()
  })

  it('a subscription before the last look is told at once, leaves the others theirs, and is told nothing more', () => {
    const proc = new Process()
    const { listener } = proc.listen()
    proc.stdout.print('out')
    proc.signal.settle()
    const late = proc.listen()
    expect([late.listener.mock.calls.length, listener.mock.calls.length]).toEqual([1, 0])
    vi.advanceTimersByTime(0)
    expect([late.listener.mock.calls.length, listener.mock.calls.length]).toEqual([1, 1])
    late.dispose()
  })

  it('nothing is due when nobody listens', () => {
    const proc = new Process()
    proc.listen().dispose()
    proc.signal.settle()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('the last look goes with the last disposer', () => {
    const proc = new Process()
    const [first, second] = [proc.listen(), proc.listen()]
    proc.stdout.print('out')
    proc.signal.settle()
    first.dispose()
    expect(vi.getTimerCount()).toBe(1)
    second.dispose()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('a listener of the last look may dispose of others and subscribe', () => {
    const proc = new Process()
    const later = vi.fn()
    proc.listen(() => {
      second.dispose()
      proc.signal.subscribe(later)
    })
    const second = proc.listen()
    proc.stdout.print('out')
    proc.signal.settle()
    vi.advanceTimersByTime(0)
    expect(second.listener).not.toHaveBeenCalled()
    expect(later).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('a subscription afterwards is called at once if something is unread, and never again', () => {
    const proc = new Process()
    proc.stdout.print(HEAD)
    proc.signal.settle()
    const first = proc.listen()
    expect(first.listener).toHaveBeenCalledTimes(1)
    proc.note = 'spawn failed'
    const second = proc.listen()
    expect(second.listener).toHaveBeenCalledTimes(1)
    proc.read()
    expect(proc.listen().listener).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
    expect(first.listener).toHaveBeenCalledTimes(1)
  })
})

describe('a reader that throws in a look', () => {
  it('ends the looks, logged once; what was found until then is told', () => {
    const proc = new Process()
    const { listener } = proc.listen()
    proc.stdout.print('out')
    proc.stderr.fault = new Error('gone')
    vi.advanceTimersByTime(100)
    expect(listener).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
    proc.stderr.fault = undefined
    proc.stdout.print('more')
    expect(proc.listen().listener).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(10_000)
    expect(listener).toHaveBeenCalledTimes(1)
    expect(proc.warnings).toEqual([
      'has output that throws when it is looked at, and signals it no longer: Error: gone',
    ])
    expect(proc.read()).toBe('outmore')
  })

  it('ends them in a subscription, too, and the end of the process still comes', () => {
    const proc = new Process()
    const { listener } = proc.listen()
    proc.stdout.fault = new Error('gone')
    proc.listen()
    expect(vi.getTimerCount()).toBe(0)
    proc.signal.settle()
    proc.note = 'spawn failed'
    vi.advanceTimersByTime(0)
    expect(listener).toHaveBeenCalledTimes(1)
    expect(proc.warnings).toHaveLength(1)
  })
  it('leaves the last look to those that listen, if it throws between the end and that', () => {
    const proc = new Process()
    const { listener } = proc.listen()
    proc.signal.settle()
    proc.stdout.fault = new Error('gone')
    proc.listen()
    proc.note = 'spawn failed'
    vi.advanceTimersByTime(0)
    expect(listener).toHaveBeenCalledTimes(1)
  })
})
