/**
 * Random lives of a process: it prints, ends, is read and listened to, in whatever order. After every step each listener
 * must know of all that a read would return, nothing may be consumed or damaged, and no timer may be left.
 */
import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { LookTimer, OutputSignal } from '../src/output-signal.ts'
import { readWhole } from '../src/whole-text.ts'
import { ScriptedOutput } from './harness.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** What a listener does in its call, beside noting what it was told of. */
const reaction = fc.constantFrom('nothing', 'nothing', 'read', 'dispose of itself', 'dispose of another', 'throw')
type Reaction = typeof reaction extends fc.Arbitrary<infer T> ? T : never

const piece = fc.constantFrom('a', '中', '😀', [0xe4, 0xb8], [0xad], [0xf0], [0xff])
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ op: fc.constant('print'), stream: fc.nat({ max: 1 }), piece }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('listen'), reaction }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constantFrom('read', 'look') }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('dispose'), which: fc.nat({ max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constantFrom('end', 'fail', 'tick') }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

interface Listener {
  isDisposed: boolean
  calls: number
  /** How far a read would have come at the last call, and whether it would have shown a note. */
  known: Ends
  dispose: () => void
}

interface Ends {
  readonly streams: readonly number[]
  readonly note: boolean
}

/** A process, its one reader, and everybody who ever listened. */
class Life {
  readonly listeners: Listener[] = []
  readonly faults: string[] = []
  readonly texts = [[''], ['']]
  readonly outputs: readonly ScriptedOutput[]
  private readonly offsets = [0, 0]
  private note = false
  private readonly signal: OutputSignal

  constructor(window: number) {
    this.outputs = [new ScriptedOutput(window), new ScriptedOutput(window)]
    this.signal = new OutputSignal({
      timer: new LookTimer(),
      streams: this.outputs.map((reader, index) => ({ reader, offset: () => this.offsets[index] ?? NaN })),
      hasNote: () => this.note,
      warn: fault => this.faults.push(fault),
    })
  }

  step(step: Step): void {
    switch (step.op) {
      case 'print':
        if (!this.signal.isSettled) this.outputs[step.stream]?.push(step.piece)
        return
      case 'listen':
        this.listen(step.reaction)
        return
      case 'read':
        this.read()
        return
      case 'look':
        vi.advanceTimersByTime(100)
        return
      case 'tick':
        vi.advanceTimersByTime(0)
        return
      case 'dispose':
        this.dispose(this.listeners[step.which])
        return
      default:
        if (this.signal.isSettled) return
        this.signal.settle()
        this.note = step.op === 'fail'
    }
  }

  get isOver(): boolean {
    return this.signal.isSettled
  }

  get listening(): Listener[] {
    return this.listeners.filter(({ isDisposed }) => !isDisposed)
  }

  /** How far a read would come now. */
  private ends(): Ends {
    const streams = this.outputs.map((output, index) => this.peek(output, index).nextOffset)
    return { streams, note: this.note }
  }

  /** Listeners that were not called for something that a read would return now. */
  uninformed(): Listener[] {
    return this.listening.filter(listener => this.hasNewsFor(listener))
  }

  /** Whether a read would return what it would not have returned when this listener was last called. */
  private hasNewsFor({ known }: Listener): boolean {
    const { streams, note } = this.ends()
    const unread = (end: number, index: number) =>
      end > Math.max(known.streams[index] ?? NaN, this.offsets[index] ?? NaN)
    return streams.some(unread) || (note && !known.note)
  }

  read(): void {
    this.outputs.forEach((output, index) => {
      const { text, nextOffset } = this.peek(output, index)
      this.offsets[index] = nextOffset
      this.texts[index]?.push(text)
    })
    this.note = false
  }

  private peek(output: ScriptedOutput, index: number) {
    return readWhole(output, this.offsets[index] ?? NaN, this.signal.isSettled)
  }

  private listen(reaction: Reaction): void {
    const [read, isLate] = [[...this.offsets], this.signal.isSettled]
    const listener: Listener = { isDisposed: false, calls: 0, known: { streams: read, note: false }, dispose: () => {} }
    listener.dispose = this.signal.subscribe(() => {
      expect(listener.isDisposed).toBe(false)
      listener.calls += 1
      listener.known = this.ends()
      this.react(listener, reaction)
    })
    // Nobody has a disposer before this.
    this.listeners.push(listener)
    if (listener.isDisposed) listener.dispose()
    expect(this.hasNewsFor(listener)).toBe(false)
    expect(listener.calls).toBeLessThanOrEqual(1)
    if (isLate) listener.isDisposed = true
  }

  private react(listener: Listener, reaction: Reaction): void {
    if (reaction === 'read') this.read()
    if (reaction === 'dispose of itself') this.dispose(listener)
    if (reaction === 'dispose of another') this.dispose(this.listening.find(other => other !== listener))
    if (reaction === 'throw') throw new Error('no')
  }

  private dispose(listener: Listener | undefined): void {
    if (listener === undefined) return
    listener.isDisposed = true
    listener.dispose()
  }
}

it('every listener knows of everything in time, and nothing is consumed, damaged or left behind', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.constantFrom(3, Infinity), (steps, window) => {
      vi.clearAllTimers()
      const life = new Life(window)
      for (const each of steps) {
        life.step(each)
        const isLook = each.op === 'look' || (each.op === 'tick' && life.isOver)
        if (isLook) expect(life.uninformed()).toEqual([])
        if (!life.isOver) expect(vi.getTimerCount()).toBe(life.listening.length > 0 ? 1 : 0)
        if (isLook && life.isOver) life.listening.forEach(listener => (listener.isDisposed = true))
      }
      if (!life.isOver) life.step({ op: 'end' })
      vi.advanceTimersByTime(0)
      expect(life.uninformed()).toEqual([])
      const calls = life.listeners.map(listener => listener.calls)
      vi.advanceTimersByTime(10_000)
      expect(life.listeners.map(listener => listener.calls)).toEqual(calls)
      expect(vi.getTimerCount()).toBe(0)
      // What a listener asserts is contained like any throw.
      expect(life.faults.filter(fault => !fault.endsWith(': Error: no'))).toEqual([])
      life.read()
      if (window === Infinity)
        expect(life.texts.map(texts => texts.join(''))).toEqual(life.outputs.map(({ bytes }) => bytes.toString('utf8')))
    }),
    { numRuns: Number(process.env.HUNT_RUNS ?? 25) * 10 },
  )
})
