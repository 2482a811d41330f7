/**
 * What becomes of Chinese text and emoji that a real background command prints piece by piece, on both streams, while
 * somebody waits and reads. The command's lines say which stream they were printed to.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { JobId } from '@deepseek-ai/dsh-jobs'
import { mountRuntime } from '../demo/runtime.ts'
import { mountBashJobs, startBashJob } from './bash-jobs.ts'
import type { Plane } from './planes.ts'
import { pollWait } from './poll-baseline.ts'

/** How a command prints: pieces of so many bytes, so far apart. */
const PATTERNS = {
  'a byte every 40 ms': [1, 40],
  'a byte every 100 ms': [1, 100],
  '7 bytes every 5 ms': [7, 5],
  '1,000 bytes every 20 ms': [1_000, 20],
} as const

const PRINT_MS = 6_000

/** A wait of the published registry ends with its timeout only, so it is short here. */
const WAIT_MS = 700

/** What went wrong in everything that was read of one command. */
export interface Damage {
  /** Characters that came out as U+FFFD. */
  readonly characters: number
  /** Lines of one stream under the heading of the other. */
  readonly lines: number
}

export type Characters = Readonly<Record<keyof typeof PATTERNS, { waiting: Damage; atEnd: Damage }>>

/** A program that prints whole lines to both streams in turn, each as pieces of bytes. */
function program(bytes: number, everyMs: number): string {
  return `
const line = name => Buffer.from(name + '：编译第 12 个文件，已完成 🚀🎉\\n')
const parts = []
const count = Math.ceil(${PRINT_MS / everyMs} * ${bytes} / line('标准输出').length)
for (let n = 0; n < count; n += 1) {
  const [stream, text] = n % 2 === 0 ? ['stdout', line('标准输出')] : ['stderr', line('标准错误')]
  for (let at = 0; at < text.length; at += ${bytes}) parts.push([stream, text.subarray(at, at + ${bytes})])
}
const print = () => {
  const part = parts.shift()
  if (part === undefined) return
  process[part[0]].write(part[1])
  setTimeout(print, ${everyMs})
}
print()`
}

function damageOf(texts: readonly string[]): Damage {
  const characters = texts.join('').split('\uFFFD').length - 1
  const lines = texts.map(text => {
    const [stdout = '', ...stderr] = text.split('[stderr]\n')
    return stdout.split('标准错误').length - 1 + (stderr.join('').split('标准输出').length - 1)
  })
  return { characters, lines: lines.reduce((sum, count) => sum + count, 0) }
}

/** One wait as `job_output` makes it on a plane, and what it returns. */
async function waitAndRead(ctx: Context, plane: Plane, agent: Agent, id: JobId) {
  const signal = new AbortController().signal
  if (plane === 'community') return pollWait(ctx.jobs, { id, agent, timeoutMs: WAIT_MS, signal })
  // Without pacing the reads are as many as there can be.
  await ctx.jobs.wait(id, WAIT_MS, agent, signal, ...(plane === 'stock' ? [] : [{ output: true, outputIntervalMs: 0 }]))
  const { text, snapshot: job } = ctx.jobs.read(id, agent)
  return { text, job }
}

async function readAll(ctx: Context, plane: Plane, agent: Agent, id: JobId): Promise<Damage> {
  const texts: string[] = []
  for (;;) {
    const { text, job } = await waitAndRead(ctx, plane, agent, id)
    texts.push(text)
    if (job.status !== 'running') return damageOf(texts)
  }
}

async function readAtEnd(ctx: Context, agent: Agent, id: JobId): Promise<Damage> {
  await ctx.jobs.wait(id, 600_000, agent)
  return damageOf([ctx.jobs.read(id, agent).text])
}

/**
 * Read four commands while waiting, and the same four at their end.
 * @param plane - the plane of this process.
 * @returns the damage by pattern.
 */
export async function measureCharacters(plane: Plane): Promise<Characters> {
  const { ctx, createAgent } = await mountRuntime(() => 'Done.', 'native')
  await mountBashJobs(ctx, plane)
  const agent = await createAgent()
  const measured = Object.entries(PATTERNS).map(async ([name, [bytes, everyMs]]) => {
    const command = `'${process.execPath}' - <<'JS'\n${program(bytes, everyMs)}\nJS`
    const start = () => startBashJob(ctx, agent, command)
    const [watched, left] = [await start(), await start()]
    const [waiting, atEnd] = await Promise.all([readAll(ctx, plane, agent, watched), readAtEnd(ctx, agent, left)])
    return [name, { waiting, atEnd }] as const
  })
  const results = Object.fromEntries(await Promise.all(measured)) as Characters
  await ctx.fiber.dispose()
  return results
}
