/** What it costs to listen to a background command: a look at all that memory holds of its output, again and again. */
import { setTimeout as delay } from 'node:timers/promises'
import { Context } from '@deepseek-ai/cordis'
import { LocalBashExecutor } from '@deepseek-ai/dsh-bash-local'
import type { ShellProcess } from '@deepseek-ai/dsh-shell'
import { LocalSubprocessRuntime } from '@deepseek-ai/dsh-subprocess-local'
import { Bench } from 'tinybench'
import { medianUs } from './guard-cost.ts'
import type { Plane } from './planes.ts'

/** What a command has printed before it falls silent, as much as memory holds. */
const OUTPUTS = [
  {
    what: '64,000 B in lines of 80 B',
    bytes: 64_000,
    command: "for i in {1..800}; do printf '%080d' 0; sleep 0.001; done",
  },
  { what: '64,000 B at once', bytes: 64_000, command: 'head -c 64000 /dev/zero' },
  { what: '1 MB', bytes: 1_000_000, command: 'head -c 1000000 /dev/zero' },
  { what: '10 MB', bytes: 10_000_000, command: 'head -c 10000000 /dev/zero' },
]

const LISTEN_MS = 3_000

/** One command's figures. */
export interface OutputLooks {
  readonly what: string
  /** A look at both of its streams, in microseconds. */
  readonly lookUs: number
  /** Share of one core while it is listened to, in percent. */
  readonly cpu: number
}

/**
 * Measure looks at commands that have fallen silent; for the limit, nobody listens.
 * @param plane - the plane of this process.
 * @returns the figures of each command.
 */
export async function measureOutputLooks(plane: Plane): Promise<OutputLooks[]> {
  const results: OutputLooks[] = []
  for (const { what, bytes, command } of OUTPUTS) {
    const ctx = new Context()
    await ctx.plugin(LocalSubprocessRuntime)
    await ctx.plugin(LocalBashExecutor, { maxOutputBytes: bytes })
    const proc = ctx.shell.start(ctx.shell.resolve({ command: `${command}; echo silent >&2; exec sleep 600` }))
    await isSilent(proc)
    results.push({ what, lookUs: await timeLook(proc), cpu: await cpuShare(plane === 'limit' ? undefined : proc) })
    await ctx.fiber.dispose()
  }
  return results
}

async function isSilent(proc: ShellProcess): Promise<void> {
  while (!proc.readOutput().delta.endsWith('[stderr]\nsilent\n')) await delay(20)
}

/** A subscription is a look, and a timer that is set and cleared. */
async function timeLook(proc: ShellProcess): Promise<number> {
  const bench = new Bench({ time: 700, warmupTime: 300 })
  bench.add('look', () => {
    proc.onOutput?.(() => undefined)()
  })
  await bench.run()
  return medianUs(bench)
}

/** The least of three spells: whatever else the machine does only ever adds to it. */
async function cpuShare(proc: ShellProcess | undefined): Promise<number> {
  const dispose = proc?.onOutput?.(() => undefined)
  const shares: number[] = []
  for (let spell = 0; spell < 3; spell += 1) {
    const before = process.cpuUsage()
    await delay(LISTEN_MS)
    const { user, system } = process.cpuUsage(before)
    shares.push((user + system) / LISTEN_MS / 10)
  }
  dispose?.()
  return Math.min(...shares)
}
