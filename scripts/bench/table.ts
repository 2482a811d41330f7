/** The bench's rows, and how they are printed. */

/** A figure, a word where no number says it, or nothing where a plane has none. */
export type Cell = number | string | undefined

/** One line of the table. */
export interface Row {
  readonly what: string
  readonly unit: string
  readonly stock?: Cell
  readonly community?: Cell
  readonly ours?: Cell
  readonly limit?: Cell
}

/** Rows of one subject, with a line on how they were measured. */
export interface Group {
  readonly title: string
  readonly setting: string
  readonly rows: readonly Row[]
}

const HEAD = ['', 'unit', 'stock', 'community', 'ours', 'limit', 'stock/ours', 'comm./ours', 'ours/limit']

/**
 * Print a group as a Markdown table.
 * @param group - the group.
 * @returns its lines.
 */
export function renderGroup({ title, setting, rows }: Group): string {
  const cells = [HEAD, ...rows.map(rowCells)]
  const widths = HEAD.map((_, column) => Math.max(3, ...cells.map(row => (row[column] ?? '').length)))
  const lines = cells.map(row => line(row, widths))
  const rule = `| ${widths.map((width, column) => (column < 2 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  const [head = '', ...body] = lines
  return [`### ${title}`, '', setting, '', head, rule, ...body, ''].join('\n')
}

function line(row: readonly string[], widths: readonly number[]): string {
  const padded = widths.map((width, column) =>
    column < 2 ? (row[column] ?? '').padEnd(width) : (row[column] ?? '').padStart(width),
  )
  return `| ${padded.join(' | ')} |`
}

function rowCells({ what, unit, stock, community, ours, limit }: Row): string[] {
  const values = [stock, community, ours, limit].map(format)
  return [what, unit, ...values, ratio(stock, ours), ratio(community, ours), ratio(ours, limit)]
}

function format(cell: Cell): string {
  if (cell === undefined) return ''
  if (typeof cell === 'string') return cell
  if (Number.isInteger(cell) || Math.abs(cell) >= 100) return Math.round(cell).toLocaleString('en')
  return cell.toPrecision(Math.abs(cell) < 0.1 ? 1 : 2)
}

function ratio(value: Cell, base: Cell): string {
  if (typeof value !== 'number' || typeof base !== 'number' || value === 0 || base === 0) return ''
  const quotient = value / base
  return `${quotient >= 100 ? Math.round(quotient).toLocaleString('en') : quotient.toPrecision(2)}×`
}
