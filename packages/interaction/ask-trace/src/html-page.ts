/**
 * A trace as one page for a browser: it needs no network and runs no script. Questions in trouble come first.
 * @module @deepseek-ai/dsh-ask-trace/html-page
 */
import { adviceFor, isInTrouble } from './advice.ts'
import { askCard } from './html-ask.ts'
import { html, type Html } from './html.ts'
import { STYLE } from './html-style.ts'
import { date, plural, verdictText } from './phrases.ts'
import { summaryLines, type LogCounts } from './summary-lines.ts'
import type { NumberedAsk } from './table.ts'
import type { LogTrace } from './trace-log.ts'
import type { AskSummary } from './types.ts'
import { BAD, DOUBTFUL } from './verdict.ts'

/** A log with its questions, numbered through the whole report. */
export interface NumberedLog {
  readonly trace: LogTrace
  readonly asks: readonly NumberedAsk[]
}

/**
 * Make the page.
 * @param logs - the traced logs.
 * @param summary - the counts of all of them.
 * @param counts - how far they were read.
 * @returns a whole document.
 */
export function renderPage(logs: readonly NumberedLog[], summary: AskSummary, counts: LogCounts): string {
  const worstFirst = logs.toSorted((a, b) => Number(hasTrouble(b)) - Number(hasTrouble(a)))
  const body = html`<h1>What became of every question</h1>
    ${summaryLines(summary, counts).map(line => html`<p>${line}</p> `)}
    <p class="dim">
      inner: the receipt of the call itself. outer: the result of the program or call around it. context: what the next
      model request was built from. Marked is what was found.
    </p>
    ${worstFirst.map(logSection)}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>What became of every question</title>
<style>${STYLE}</style>
</head>
<body>
${body.markup}
</body>
</html>
`
}

function hasTrouble({ asks }: NumberedLog): boolean {
  return asks.some(({ ask }) => isInTrouble(ask))
}

function logSection({ trace, asks }: NumberedLog): Html {
  const { title = trace.path, cwd = '', createdAt } = trace.session
  const about = [trace.session.title === undefined ? '' : trace.path, cwd, date(createdAt)].filter(text => text !== '')
  const troubled = asks.filter(({ ask }) => isInTrouble(ask))
  const others = asks.filter(({ ask }) => !isInTrouble(ask))
  return html`<h2>${title}</h2>
    <p class="dim">${about.join(' · ')}</p>
    ${trace.notes.map(note => html`<p class="doubtful">Note: ${note}</p> `)}
    ${asks.length === 0 ? html`<p>No questions.</p>` : timeline(asks)}
    ${[...troubled, ...others].map(({ number, ask }) => askCard(number, ask, verdictClass(ask.verdict), adviceFor(ask)))} `
}

/** The turns in which something was asked, in their order, and the rounds that went by without an answer. */
function timeline(asks: readonly NumberedAsk[]): Html {
  const turns = Map.groupBy(asks, ({ ask }) => ask.turn ?? 0)
  return html`<ol class="timeline" aria-label="Timeline of turns">
    ${[...turns].map(([turn, inTurn]) => turnItem(turn, inTurn))}
  </ol>`
}

function turnItem(turn: number, asks: readonly NumberedAsk[]): Html {
  const round = asks[0]?.ask.goalRound?.round
  const spun = asks.reduce((sum, { ask }) => sum + ask.roundsSpun, 0)
  return html`<li>
      ${turn === 0 ? 'no turn' : `turn ${turn}`}${round === undefined ? '' : `, goal round ${round}`}:
      ${asks.map(
        ({ number, ask }) =>
          html`<a class="${verdictClass(ask.verdict)}" href="#q${number}" title="${verdictText(ask)}">${number}</a> `,
      )}
    </li>
    ${spun === 0 ? '' : html`<li class="bad">${plural(spun, 'goal round')} without the answer</li> `}`
}

function verdictClass(verdict: Parameters<typeof BAD.has>[0]): string {
  return BAD.has(verdict) ? 'bad' : DOUBTFUL.has(verdict) ? 'doubtful' : 'good'
}
