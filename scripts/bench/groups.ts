/** What the bench measures, group by group, and what each figure means. */
import { measure, measureLeast } from './measure.ts'
import type { Group, Row } from './table.ts'
import { WAIT_MS } from './wakes.ts'

const CONTEXT_TOKENS = 20_000

async function wakes(): Promise<Group> {
  const { stock, community, ours, limit } = await measure('wakes', 'stock', 'community', 'ours', 'limit')
  const row = (what: string, key: keyof typeof ours): Row => ({
    what,
    unit: 'ms',
    stock: stock[key],
    community: community[key],
    ours: ours[key],
    limit: limit[key],
  })
  return {
    title: 'A steer, and output, during `job_output(wait: true)`',
    setting:
      `Real bash jobs in the real agent loop; medians. The stock wait lasts until its timeout, here ${WAIT_MS} ms (upstream's`
      + ' cap is 600,000). The steer comes 0.3 s into a silent job; the output after 0.44 s. Limit: ours without settle'
      + ' window, pacing, or poll interval (`graceMs: 0, outputIntervalMs: 0, pollMs: 1`).',
    rows: [
      row('steer to tool result', 'steerToResult'),
      row('steer to the request with it', 'steerToRequest'),
      row('first output to tool result', 'outputToResult'),
    ],
  }
}

async function chattyJobs(): Promise<Group> {
  const { stock, community, ours } = await measure('chatty-jobs', 'stock', 'community', 'ours')
  const patterns = Object.keys(ours) as (keyof typeof ours)[]
  const rows = patterns.flatMap((pattern): Row[] => [
    {
      what: pattern,
      unit: 'steps',
      stock: stock[pattern],
      community: community[pattern],
      ours: ours[pattern],
      limit: 1,
    },
    {
      what: '… resent',
      unit: 'tokens',
      stock: stock[pattern] * CONTEXT_TOKENS,
      community: community[pattern] * CONTEXT_TOKENS,
      ours: ours[pattern] * CONTEXT_TOKENS,
      limit: CONTEXT_TOKENS,
    },
  ])
  return {
    title: 'A job that prints for 60 s',
    setting:
      'Virtual time, the real agent loop, a model that waits again until the job has ended: the model steps that came back'
      + ` before the end, and what they resend at ${CONTEXT_TOKENS.toLocaleString('en')} tokens of context. The stock wait shows nothing`
      + ' before the end, hence 0 steps. Limit: one step, the fewest with which anything is seen.',
    rows,
  }
}

async function questions(): Promise<Group> {
  const incident = await measure('incident', 'stock', 'ours')
  const answer = await measure('thrown-away-answer', 'stock', 'ours')
  const row = (what: string, key: 'rounds' | 'questionsPutToAHuman' | 'modelRequests', limit: number): Row => ({
    what,
    unit: '',
    stock: incident.stock[key],
    ours: incident.ours[key],
    limit,
  })
  const fate = (reached: boolean) => (reached ? 'delivered' : 'lost')
  return {
    title: 'Questions (#6074)',
    setting:
      'Code Mode, a cap of 256 rounds, a model that asks in every round until a tool result tells it better, a human who'
      + ' answers at once. Limit: what the goal tools allow, a blocker from the third round on.',
    rows: [
      row('rounds', 'rounds', 3),
      row('questions put to a human', 'questionsPutToAHuman', 0),
      row('model requests', 'modelRequests', incident.ours.modelRequests),
      {
        what: 'answer that a program throws away',
        unit: '',
        stock: fate(answer.stock.answerReachedTheModel),
        ours: fate(answer.ours.answerReachedTheModel),
      },
    ],
  }
}

async function guardCost(): Promise<Group> {
  const { stock, ours, limit } = await measureLeast('guard-cost', 'stock', 'ours', 'limit')
  return {
    title: 'Cost of the ask guard',
    setting:
      'An empty tool through the whole pipeline inside a goal round, wall time; a goal round without tools on the real loop,'
      + ' CPU time; the least of three medians. Limit: ours outside a goal round.',
    rows: [
      { what: 'tool call', unit: 'µs', stock: stock.perToolCall, ours: ours.perToolCall, limit: limit.perToolCall },
      { what: 'goal round', unit: 'µs CPU', stock: stock.perRound, ours: ours.perRound },
    ],
  }
}

async function oneWait(): Promise<Group> {
  const { stock, ours, limit } = await measureLeast('one-wait', 'stock', 'ours', 'limit')
  return {
    title: 'Cost of a wait',
    setting: 'A wait that is aborted at once; the least of three medians. Limit: ours without wakes.',
    rows: [
      { what: 'producer that signals', unit: 'µs', stock: stock.push, ours: ours.push, limit: limit.push },
      { what: 'producer that does not', unit: 'µs', stock: stock.pull, ours: ours.pull, limit: limit.pull },
    ],
  }
}

async function manyWaits(): Promise<Group> {
  const { stock, community, ours: pull } = await measure('many-waits-pull', 'stock', 'community', 'ours')
  const { ours: push } = await measure('many-waits-push', 'ours')
  const rows = pull.flatMap(({ waits }, index) =>
    (['cpu', 'timers', 'heapKib'] as const).flatMap((key): Row[] =>
      (
        [
          ['signal', push],
          ['no signal', pull],
        ] as const
      ).map(([producer, ours]) => ({
        what: `${waits.toLocaleString('en')} ${waits === 1 ? 'wait' : 'waits'}, ${producer}`,
        unit: { cpu: '% of a core', timers: 'timers', heapKib: 'KiB a wait' }[key],
        stock: stock[index]?.[key],
        community: community[index]?.[key],
        ours: ours[index]?.[key],
      })),
    ),
  )
  return {
    title: 'Waits at the same time',
    setting:
      'Each on a silent job of an agent of its own, over 2 s after a warm-up; "signal" is a producer with `onOutput`. The'
      + ' published registry and the model of the community plugin know no signal.',
    rows,
  }
}

async function outputLooks(): Promise<Group> {
  const { ours, limit } = await measure('output-looks', 'ours', 'limit')
  return {
    title: 'Listening to a background command',
    setting:
      'A bash process that has printed as much as memory holds (`maxOutputBytes`) and is silent. One look at both of its'
      + ' streams, median; CPU time of looks, the least of three spells of 3 s. Limit: nobody listens.',
    rows: ours.flatMap(({ what, lookUs, cpu }, index): Row[] => [
      { what: `a look, ${what}`, unit: 'µs', ours: lookUs },
      { what: '… again and again', unit: '% of a core', ours: cpu, limit: limit[index]?.cpu },
    ]),
  }
}

async function trace(): Promise<Group> {
  const { ours, limit } = await measure('trace', 'ours', 'limit')
  return {
    title: 'The trace of a log with 100,000 events',
    setting:
      `${ours.plainMb.toFixed(1)} MB of text, ${ours.fileMb.toFixed(1)} MB as the harness keeps it.`
      + ' Limit: reading the lines of the text as JSON. The peak includes what Node and the packages take.',
    rows: [
      { what: 'throughput', unit: 'MB of text/s', ours: ours.mbPerSecond, limit: limit.mbPerSecond },
      { what: 'peak memory', unit: 'MB', ours: ours.peakMb, limit: limit.peakMb },
    ],
  }
}

/** The groups, in the order in which they are measured and printed. */
export const GROUPS = [wakes, chattyJobs, questions, guardCost, oneWait, manyWaits, outputLooks, trace]
