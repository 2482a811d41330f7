import { describe, expect, it } from 'vitest'
import {
  denialText,
  GOAL_ROUND_ASK_DENIAL,
  GOAL_ROUND_DENIAL_PREFIX,
  GOAL_ROUNDS_SECTION,
  isGoalRoundDenial,
} from '../src/denial-text.ts'
import * as driver from '../src/index.ts'

const ask = (isTold: boolean, goal: 'active' | 'decided' | 'unreadable') =>
  denialText('ask_user_question', isTold, goal)

describe('the text of a denial', () => {
  it('is the whole advice the first time in a turn', () => {
    expect(ask(false, 'active')).toBe(GOAL_ROUND_ASK_DENIAL)
  })

  it('is one short sentence that repeats the advice from then on', () => {
    const again = ask(true, 'active')
    expect(again).toMatch(/denied again: decide, or block the goal with update_goal\.$/)
    expect(again.length).toBeLessThan(GOAL_ROUND_ASK_DENIAL.length / 3)
  })

  it.each([false, true])(
    'says where to put the question once the goal is decided, told before: %s',
    (isTold: boolean) => {
      const text = ask(isTold, 'decided')
      expect(text).toContain('no longer active')
      expect(text).toContain('closing message')
      expect(text).not.toContain('update_goal')
    },
  )

  it('is the whole advice where the goal cannot be read', () => {
    expect(ask(true, 'unreadable')).toBe(GOAL_ROUND_ASK_DENIAL)
  })

  it('names another tool of the list in the same sentences', () => {
    const text = denialText('exit_plan_mode', false, 'active')
    expect(text).toBe(GOAL_ROUND_ASK_DENIAL.replace('ask_user_question', 'exit_plan_mode'))
    expect(denialText('exit_plan_mode', true, 'active')).toContain('exit_plan_mode is denied again')
  })

  it.each([
    ask(false, 'active'),
    ask(true, 'active'),
    ask(true, 'decided'),
    ask(true, 'unreadable'),
    denialText('exit_plan_mode', false, 'active'),
  ])('begins with the prefix by which others know it: %s', (text: string) => {
    expect(text.startsWith(GOAL_ROUND_DENIAL_PREFIX)).toBe(true)
    expect(isGoalRoundDenial(text)).toBe(true)
    expect(isGoalRoundDenial(`Error: ${text}`)).toBe(true)
  })

  it.each([
    '',
    'no user-questions provider is registered',
    `the model said: ${GOAL_ROUND_ASK_DENIAL}`,
    `${GOAL_ROUND_DENIAL_PREFIX.slice(0, 1)}Error: ${GOAL_ROUND_DENIAL_PREFIX.slice(1)}`,
  ])('is told from other failures: %j', (text: string) => {
    expect(isGoalRoundDenial(text)).toBe(false)
  })

  it('can be told by others, through the package root', () => {
    expect(driver.GOAL_ROUND_DENIAL_PREFIX).toBe(GOAL_ROUND_DENIAL_PREFIX)
    expect(driver.isGoalRoundDenial).toBe(isGoalRoundDenial)
  })
})

it('has a section of the system prompt beforehand: two sentences, of words only', () => {
  const { text } = GOAL_ROUNDS_SECTION
  expect(text.match(/\./g)).toHaveLength(2)
  expect(text.split(' ').length).toBeLessThan(45)
  expect(text).not.toContain('{{')
})
