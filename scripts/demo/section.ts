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

const WIDTHS = [34, 38, 38] as const

/**
 * Print a section as a table of three columns and a list of checks.
 * @param section - the section.
 * @returns lines for a terminal of 120 columns.
 */
export function renderSection(section: Section): string {
  return [
    section.title,
    section.setting,
    '',
    renderRow(['', 'stock', 'fixed']),
    ...section.rows.map(renderRow),
    '',
    ...section.checks.map(({ what, holds }) => `${holds ? '  ok   ' : '  FAIL '} ${what}`),
    '',
  ].join('\n')
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
 * @returns its first 140 characters on one line, in quotes.
 */
export function excerpt(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= 140 ? `"${line}"` : `"${line.slice(0, 140)}…"`
}
