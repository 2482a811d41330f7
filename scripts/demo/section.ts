/** What a scenario shows: figures of the stock run beside ours, and what must hold for ours. */
export interface Section {
  readonly title: string
  /** One line on how the scenario is played. */
  readonly setting: string
  readonly rows: readonly Row[]
  readonly checks: readonly Check[]
}

export type Row = readonly [label: string, stock: string | number, fork: string | number]

export interface Check {
  readonly what: string
  readonly holds: boolean
}

const WIDTHS = [24, 26, 26] as const

/**
 * Print a section as a table of three columns and a list of checks.
 * @param section - the section.
 * @returns lines for a terminal of 80 columns.
 */
export function renderSection(section: Section): string {
  return [
    section.title,
    ...wrap(section.setting, 80),
    '',
    renderRow(['', 'published', 'fixed']),
    ...section.rows.map(renderRow),
    '',
    ...section.checks.flatMap(renderCheck),
    '',
  ].join('\n')
}

/**
 * Say in how many checks the packages here did what they should, and what to do next.
 * @param checks - the checks of every section.
 * @returns lines for a terminal of 80 columns.
 */
export function renderEnd(checks: readonly Check[]): string {
  const failed = checks.filter(({ holds }) => !holds)
  const count = `${checks.length - failed.length} of ${checks.length} as expected`
  if (failed.length > 0) return [`${count}. Not so:`, ...failed.flatMap(renderCheck)].join('\n')
  return `${count}. Next: README.md, "Use it", puts the fix into the dsh you have.`
}

function renderCheck({ what, holds }: Check): string[] {
  return wrap(what, 72).map((line, index) => `  ${index > 0 ? '    ' : holds ? 'ok  ' : 'FAIL'}  ${line}`)
}

function renderRow(row: Row): string {
  const cells = row.map((cell, column) => wrap(String(cell), WIDTHS[column] ?? 0))
  const height = Math.max(...cells.map(lines => lines.length))
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, column) => (lines[line] ?? '').padEnd(WIDTHS[column] ?? 0))
      .join('  ')
      .trimEnd(),
  ).join('\n')
}

function wrap(text: string, width: number): string[] {
  const lines = ['']
  // A word that is longer than its column is broken.
  const words = text.split(/\s+/).flatMap(word => word.match(new RegExp(`.{1,${width}}`, 'g')) ?? [])
  for (const word of words) {
    const last = lines.at(-1) ?? ''
    const joined = last === '' ? word : `${last} ${word}`
    if (joined.length <= width || last === '') lines[lines.length - 1] = joined
    else lines.push(word)
  }
  return lines
}

/**
 * Shorten a text for a cell.
 * @param text - any text.
 * @returns its first 75 characters on one line, in quotes.
 */
export function excerpt(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= 75 ? `"${line}"` : `"${line.slice(0, 75)}…"`
}
