import { describe, expect, it } from 'vitest'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { refusal, type Admissible, type LiveAgents } from '../src/admission.ts'
import type { AskUserQuestionItem } from '../src/types.ts'

const root = { id: 'root' } as Agent
const child = { id: 'child' } as Agent
const agents: LiveAgents = {
  get: id => [root, child].find(agent => agent.id === id),
  roots: () => [root],
}
const question: AskUserQuestionItem = { id: 'q', question: '?' }
const review: AskUserQuestionItem = {
  id: 'plan',
  question: 'Go?',
  detail: '# Plan',
  options: [{ label: 'Yes' }, { label: 'No' }],
  intent: { kind: 'plan-review', approve: 'Yes' },
}
const withoutDetail = without('detail')
const withoutOptions = without('options')

const aborted = AbortSignal.abort()
const stale = { id: 'root' } as Agent

describe('refusal', () => {
  it.each<[string, Admissible, string | undefined]>([
    ['an ordinary question without an agent', { questions: [question] }, undefined],
    ['an ordinary question of a live root', { questions: [question], agent: root }, undefined],
    ['a signal that is not aborted', { questions: [question], signal: new AbortController().signal }, undefined],
    ['an aborted signal, before everything else', { questions: [], agent: child, signal: aborted }, 'ASK_ABORTED'],
    ['no questions, before the caller is looked at', { questions: [], agent: stale }, 'EMPTY_QUESTIONS'],
    ['an agent that only shares a live id', { questions: [question], agent: stale }, 'CALLER_NOT_LIVE'],
    ['an unknown agent', { questions: [question], agent: { id: 'x' } as Agent }, 'CALLER_NOT_LIVE'],
    ['a live child, before intents are looked at', { questions: [withoutDetail], agent: child }, 'DELEGATED_CALLER'],
    ['a complete intent', { questions: [question, review] }, undefined],
    ['an intent whose detail is empty', { questions: [{ ...review, detail: '' }] }, undefined],
    ['an intent without a detail', { questions: [question, withoutDetail] }, 'BAD_INTENT'],
    ['an intent without options', { questions: [withoutOptions] }, 'BAD_INTENT'],
    ["an intent that approves another question's option", approvesForeignOption(), 'BAD_INTENT'],
  ])('%s', (_name, request, code) => {
    expect(refusal(request, agents)?.code).toBe(code)
  })

  it('counts no agent as live where there is no registry', () => {
    expect(refusal({ questions: [question], agent: root }, undefined)?.code).toBe('CALLER_NOT_LIVE')
  })

  it('names the question and the label in a bad intent', () => {
    expect(refusal({ questions: [withoutOptions] }, agents)?.message).toBe(
      'question plan declares intent plan-review whose approve label "Yes" names none of its options',
    )
    expect(refusal({ questions: [withoutDetail] }, agents)?.message).toBe(
      'question plan declares intent plan-review without the detail it reviews',
    )
  })

  it('tells a child where its question belongs', () => {
    expect(refusal({ questions: [question], agent: child }, agents)?.message).toBe(
      'human interaction is unavailable while the calling agent is owned by another live agent; '
        + "include the unresolved question or decision in the child agent's final result",
    )
  })
})

function approvesForeignOption(): Admissible {
  return {
    questions: [
      { ...review, options: [{ label: 'No' }] },
      { id: 'other', question: '?', options: [{ label: 'Yes' }] },
    ],
  }
}

function without(field: keyof AskUserQuestionItem): AskUserQuestionItem {
  return Object.fromEntries(Object.entries(review).filter(([key]) => key !== field)) as unknown as AskUserQuestionItem
}
