/** What the bench measures, group by group, and what each figure means. */
import { ASKING_MODELS } from './asking-models.ts'
import type { Chat } from './chatty-job.ts'
import { measure, measureLeast } from './measure.ts'
import { PLANES, type Plane } from './planes.ts'
import type { Group, Row } from './table.ts'
import { EACH_WAIT_MS } from './ten-waits.ts'
import { WAIT_MS } from './wakes.ts'

const CONTEXT_TOKENS = 20_000

/** Makes rows of the times on all planes. */
function millisecondsOf<Key extends string>(times: Record<Plane, Readonly<Record<Key, number>>>) {
  return (what: string, key: Key): Row => ({
    what,
    unit: 'ms',
    stock: times.stock[key],
    community: times.community[key],
    ours: times.ours[key],
    limit: times.limit[key],
  })
}

async function wakes(): Promise<Group> {
  const row = millisecondsOf(await measure('wakes', ...PLANES))
  return {
    title: 'A steer, and output, during `job_output(wait: true)`',
    setting:
      `Real bash jobs in the real agent loop; medians. The stock wait lasts until its timeout, here ${WAIT_MS} ms (upstream's`
      + ' cap is 600,000). The steer comes 0.3 s into a silent job; the output after 0.44 s. Limit: ours without settle'
      + ' window and pacing (`graceMs: 0, outputIntervalMs: 0`).',
    rows: [
      row('steer to tool result', 'steerToResult'),
      row('steer to the request with it', 'steerToRequest'),
      row('first output to tool result', 'outputToResult'),
    ],
  }
}

async function tenWaits(): Promise<Group> {
  const row = millisecondsOf(await measure('ten-waits', ...PLANES))
  return {
    title: 'A steer to a step with ten waits',
    setting:
      `Ten silent jobs in the real agent loop, a wait of ${EACH_WAIT_MS} ms for each in one step of the model, and a steer`
      + ' 1 s after it began: the time to the request with the steer. Limit: ours without settle window.',
    rows: [
      row('ten calls in one answer', 'native'),
      row('Code Mode, one after the other', 'code'),
      row('Code Mode, `Promise.all`', 'codeTogether'),
    ],
  }
}

async function chattyJobs(): Promise<Group> {
  const { stock, community, ours } = await measure('chatty-jobs', 'stock', 'community', 'ours')
  const patterns = Object.keys(ours) as (keyof typeof ours)[]
  const rows = patterns.flatMap(pattern => {
    const row = (what: string, unit: string, cell: (chat: Chat) => number): Row => ({
      what,
      unit,
      stock: cell(stock[pattern]),
      community: cell(community[pattern]),
      ours: cell(ours[pattern]),
    })
    return [
      row(pattern, 'steps', ({ steps }) => steps),
      row('… resent', 'tokens', ({ steps }) => steps * CONTEXT_TOKENS),
      row('… a line is read after', 's, mean', ({ meanLag }) => meanLag),
      row('… at most', 's', ({ worstLag }) => worstLag),
    ]
  })
  return {
    title: 'A job that prints',
    setting:
      'Virtual time, the real agent loop, a model that answers at once and waits for 600 s again and again until the job has'
      + ' ended: the model steps that came back before the end, what they resend at'
      + ` ${CONTEXT_TOKENS.toLocaleString('en')} tokens of context, and how old a line is when the model gets it. The stock`
      + ' wait shows nothing before its timeout, hence 0 steps in ten minutes.',
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

async function askingModels(): Promise<Group> {
  const { stock, ours } = await measure('asking-models', 'stock', 'ours')
  const rows = ASKING_MODELS.flatMap(({ name, mode }, index): Row[] => {
    const [before, now] = [stock[index], ours[index]]
    const absent = (run: typeof now) =>
      run && `${run.absent.rounds} / ${run.absent.requests} / ${endOf(run.absent.end)}`
    return [
      { what: `${name} (${mode})`, unit: 'rounds', stock: before?.answers.rounds, ours: now?.answers.rounds },
      { what: '', unit: 'requests', stock: before?.answers.requests, ours: now?.answers.requests },
      { what: '', unit: 'characters', stock: before?.answers.characters, ours: now?.answers.characters },
      { what: '', unit: 'questions put', stock: before?.answers.questions, ours: now?.answers.questions },
      { what: '', unit: 'end', stock: endOf(before?.answers.end), ours: endOf(now?.answers.end) },
      { what: '… nobody there', unit: 'rounds / requests / end', stock: absent(before), ours: absent(now) },
    ]
  })
  return {
    title: 'Models that ask in every round and never block the goal',
    setting:
      'The default configuration, a cap of 256 rounds, 4 where the model loops (50 questions in a turn). A human answers every'
      + ' question at once, and in the last line of each model nobody ever does. Characters: all requests, with system prompt'
      + ' and tools.',
    rows,
  }
}

function endOf(end: string | undefined): string | undefined {
  return end?.replace(/:.*/, '')
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
    rows: [{ what: 'a wait', unit: 'µs', stock: stock.us, ours: ours.us, limit: limit.us }],
  }
}

async function manyWaits(): Promise<Group> {
  const { stock, community, ours, limit } = await measure('many-waits', 'stock', 'community', 'ours', 'limit')
  const units = { startUs: 'µs CPU to start', cpu: '% of a core', timers: 'timers', heapKib: 'KiB a wait' } as const
  const rows = ours.flatMap(({ waits, spread }, index) =>
    Object.entries(units).map(([key, unit]): Row => {
      const cell = (plane: typeof ours) => plane[index]?.[key as keyof typeof units]
      const what = `${waits.toLocaleString('en')} ${waits === 1 ? 'wait' : 'waits'}${spread === 'one' ? ' on one job' : ''}`
      return { what, unit, stock: cell(stock), community: cell(community), ours: cell(ours), limit: cell(limit) }
    }),
  )
  return {
    title: 'Waits at the same time',
    setting:
      'Each on a silent job of an agent of its own, which tells of its output, or all on one job; over 2 s after a warm-up.'
      + ' Limit: ours without wakes.',
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

async function characters(): Promise<Group> {
  const { stock, community, ours } = await measure('characters', 'stock', 'community', 'ours')
  const patterns = Object.keys(ours) as (keyof typeof ours)[]
  const row = (pattern: keyof typeof ours, what: string, key: 'characters' | 'lines'): Row => ({
    what,
    unit: key,
    stock: stock[pattern].waiting[key],
    community: community[pattern].waiting[key],
    ours: ours[pattern].waiting[key],
    limit: stock[pattern].atEnd[key],
  })
  return {
    title: 'Characters and headings',
    setting:
      'Chinese text and emoji that a real bash job prints piece by piece on both streams, read by wait after wait: characters'
      + ' that came out as U+FFFD, and lines under the heading of the other stream. Ours without pacing, so that it reads as'
      + ' often as it can. Limit: the published packages in one read at the end.',
    rows: patterns.flatMap(pattern => [
      row(pattern, `${pattern}: damaged`, 'characters'),
      row(pattern, '… wrongly headed', 'lines'),
    ]),
  }
}

async function bashWaits(): Promise<Group> {
  const { stock, community, ours, limit } = await measure('bash-waits', 'stock', 'community', 'ours', 'limit')
  const what = `${ours.waits.toLocaleString('en')} waits for silent bash jobs`
  return {
    title: 'Waits for real bash jobs',
    setting:
      'Ten jobs of each of a hundred agents, looked at every 100 ms for output; over 2 s. Limit: ours without wakes.',
    rows: [{ what, unit: '% of a core', stock: stock.cpu, community: community.cpu, ours: ours.cpu, limit: limit.cpu }],
  }
}

async function hostileTrace(): Promise<Group> {
  const { ours } = await measure('trace-hostile', 'ours')
  return {
    title: 'The trace of logs that somebody made to break it',
    setting:
      'The worst of some kinds each: texts of repetitions (the least CPU time of three passes), and files of at most 1 MB'
      + ` that unpack to large ones. Limit: what they may cost. The worst here: ${ours.worst.join('; ')}.`,
    rows: [
      { what: 'text of 15,000 characters', unit: 'ms CPU', ours: ours.shortMs, limit: 50 },
      { what: 'text of 150,000 characters', unit: 'ms CPU', ours: ours.longMs, limit: 500 },
      { what: 'peak memory', unit: 'MB', ours: ours.peakMb, limit: 300 },
    ],
  }
}

/** The groups, in the order in which they are measured and printed. */
export const GROUPS = [
  wakes,
  tenWaits,
  chattyJobs,
  characters,
  questions,
  askingModels,
  guardCost,
  oneWait,
  manyWaits,
  bashWaits,
  outputLooks,
  trace,
  hostileTrace,
]
