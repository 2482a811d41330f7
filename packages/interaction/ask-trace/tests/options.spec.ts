import { describe, expect, it } from 'vitest'
import { nodeProblem } from '../src/node-version.ts'
import { parseOptions } from '../src/options.ts'

const NONE = { json: false, help: false, lost: false, explain: undefined }

describe('the arguments', () => {
  it.each([
    [['a', 'b'], { paths: ['a', 'b'] }],
    [['-'], { paths: ['-'] }],
    [['a', '--json', '--lost'], { paths: ['a'], json: true, lost: true }],
    [['--help'], { paths: [], help: true }],
    [['-h'], { paths: [], help: true }],
    [['--', '--json', '-x'], { paths: ['--json', '-x'] }],
    [['--explain', 'a'], { paths: ['a'], explain: 'trouble' }],
    [['a', '--explain'], { paths: ['a'], explain: 'trouble' }],
    [['--explain', '3', 'a'], { paths: ['a'], explain: 3 }],
    [['--explain=3', 'a'], { paths: ['a'], explain: 3 }],
    [['--explain', '--', '3'], { paths: ['3'], explain: 'trouble' }],
    [['--', '--explain', '3'], { paths: ['--explain', '3'] }],
  ])('%j', (args, options) => {
    expect(parseOptions(args)).toEqual({ ...NONE, ...options })
  })

  it.each([
    [[], 'no session log named'],
    [['--json'], 'no session log named'],
    [['--jsno'], "unknown option '--jsno'"],
    [['a', '--json=7'], "option '--json' does not take an argument"],
    [['a', '--explain=x'], '--explain takes the number of a question, not x'],
    [['a', '--explain', '0'], '--explain takes the number of a question, not 0'],
  ])('make no sense: %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message)
  })
})

it.each([
  ['22.19.0', true],
  ['22.23.3', true],
  ['24.0.0', true],
  ['25.1.0', true],
  ['22.18.9', false],
  ['23.11.0', false],
  ['20.20.2', false],
  ['', false],
])('Node %s can run the command: %s', (version, can) => {
  expect(nodeProblem(version) === undefined).toBe(can)
})
