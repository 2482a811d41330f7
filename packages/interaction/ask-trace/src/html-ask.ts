/**
 * One question on the page: what was asked and answered, and its three layers with their evidence.
 * @module @deepseek-ai/dsh-ask-trace/html-ask
 */
import { reasonText } from './explain.ts'
import { html, type Html } from './html.ts'
import { duration, outcomeText, questionText, verdictText } from './phrases.ts'
import type { LayerEvidence, TracedAsk, TracedMatch, TracedPlace } from './types.ts'

/** Longer texts are in the log. */
const MOST_CHARACTERS = 300

/** More matches of one layer are in the JSON. */
const MOST_MATCHES = 5

/**
 * Make the card of a question.
 * @param number - its number in the report.
 * @param ask - the question.
 * @param color - the class of its verdict; what is not `good` is open at first.
 * @param advice - what to do, if anything is to be done.
 * @returns its markup.
 */
export function askCard(number: number, ask: TracedAsk, color: string, advice: string | undefined): Html {
  const { inner, outer, context, evidence, waitedMs } = ask
  return html`<details id="q${number}" ${color === 'good' ? '' : html` open`}>
    <summary>
      ${number}. <strong class="${color}">${verdictText(ask)}</strong> ${cut(questionText(ask))} →
      ${cut(outcomeText(inner))}
    </summary>
    ${advice === undefined ? '' : html`<p class="${color}">${advice}</p>`}
    <p class="where">${callOf(ask)}${waitedMs === undefined ? '' : `, waited ${duration(waitedMs)}`}</p>
    <div class="layers">
      <section>
        <h3>inner: ${inner.kind}</h3>
        ${place(evidence.inner)}
      </section>
      <section>
        <h3>outer: ${outer}</h3>
        ${layer(evidence.outer)}
      </section>
      <section>
        <h3>context: ${context === 'no-request-yet' ? 'no request yet' : context}</h3>
        ${layer(evidence.context)}
      </section>
    </div>
  </details> `
}

function callOf({ calls }: TracedAsk): string {
  return calls.sub === undefined
    ? `call ${cut(calls.root)}`
    : `call ${cut(calls.sub)} of the program in ${cut(calls.root)}`
}

function layer(evidence: LayerEvidence | undefined): Html {
  if (evidence === undefined) return html``
  const { matches, instead } = evidence
  const left = matches.length - MOST_MATCHES
  return html`${matches.slice(0, MOST_MATCHES).map(match)}${
    left > 0 ? html`<p class="where">${left} more in --json</p>` : ''
  }${
    instead === undefined
      ? ''
      : html`<p>There was instead:</p>
          ${place(instead)}`
  }`
}

function match(found: TracedMatch): Html {
  return html`<p>“${found.said}” ${reasonText(found)}</p>
    ${place(found.at)}`
}

function place(at: TracedPlace | undefined): Html {
  if (at === undefined) return html``
  const { before, match: found, after } = at.excerpt
  return html`<p class="where">${at.seq === undefined ? '' : `seq ${at.seq}, `}${cut(at.event)}</p>
    <p><code>${before}${found === '' ? '' : html`<mark>${found}</mark>`}${after}</code></p>`
}

function cut(text: string): string {
  const characters = text.slice(0, 2 * MOST_CHARACTERS)
  const shown = Array.from(characters).slice(0, MOST_CHARACTERS).join('')
  return shown.length < text.length ? `${shown}…` : shown
}
