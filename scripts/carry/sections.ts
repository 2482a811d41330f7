/**
 * Inserts text into a Markdown file at places that are sections of it.
 * @module
 */
import { MissingPlace } from './refusal.ts'

/**
 * At the end of a section, behind its subsections; at the end of what stands in front of its subsections; or in place of
 * a paragraph there (what stands between empty lines, counted from 0).
 */
export type SectionPlace = 'end' | 'body' | { readonly insteadOf: number }

interface Section {
  readonly title: string
  readonly level: number
  readonly line: number
}

/** The sections of one Markdown file. */
export class Sections {
  private readonly path: string
  private readonly eol: string
  private readonly lines: readonly string[]
  private readonly sections: readonly Section[]

  /**
   * @param path - from the checkout's root, for messages.
   * @param text - the file as it is.
   */
  constructor(path: string, text: string) {
    this.path = path
    this.eol = text.includes('\r\n') ? '\r\n' : '\n'
    this.lines = text.split(this.eol)
    let isCode = false
    this.sections = this.lines.flatMap((content, line) => {
      if (content.startsWith('```')) isCode = !isCode
      const [, signs, title] = (isCode ? null : /^(#+) (.*)$/.exec(content)) ?? []
      return signs === undefined || title === undefined ? [] : [{ title, level: signs.length, line }]
    })
  }

  /** @returns how many sections there are. */
  get count(): number {
    return this.sections.length
  }

  /**
   * Find a section.
   * @param title - its heading, without number signs.
   * @returns its number.
   * @throws MissingPlace unless there is exactly one.
   */
  find(title: string): number {
    const found = this.sections.filter(section => section.title === title)
    const [section] = found
    if (section === undefined || found.length > 1)
      throw new MissingPlace(`${this.path}: ${found.length} sections are called ${title}`)
    return this.sections.indexOf(section)
  }

  /**
   * Put a text into a section.
   * @param number - the section's.
   * @param place - where in the section.
   * @param text - with a newline at its end.
   * @returns the whole file.
   */
  insert(number: number, place: SectionPlace, text: string): string {
    const { level, line } = this.sections[number] as Section
    const behind = this.sections.slice(number + 1)
    const next = place === 'end' ? behind.find(section => section.level <= level) : behind[0]
    const end = next?.line ?? this.lines.length
    const paragraphs = this.paragraphs(line + 1, end)
    const added = text.trimEnd().split('\n')
    if (typeof place === 'object') {
      const paragraph = paragraphs[place.insteadOf]
      if (paragraph === undefined)
        throw new MissingPlace(`${this.path}: the section ${number} has no paragraph ${place.insteadOf}`)
      return this.print(paragraph.start, paragraph.end, added)
    }
    const last = paragraphs.at(-1)?.end ?? line + 1
    // A list goes on with its next item; everything else has an empty line in front of it.
    const isItem = text.startsWith('- ') && this.lines[last - 1]?.startsWith('- ') === true
    return this.print(last, last, isItem ? added : ['', ...added])
  }

  private paragraphs(from: number, to: number): { start: number; end: number }[] {
    const found: { start: number; end: number }[] = []
    let isCode = false
    for (let line = from; line < to; line++) {
      const content = this.lines[line] ?? ''
      const last = found.at(-1)
      const goesOn = last?.end === line && (isCode || content !== '')
      if (goesOn) last.end = line + 1
      else if (content !== '') found.push({ start: line, end: line + 1 })
      if (content.startsWith('```')) isCode = !isCode
    }
    return found
  }

  private print(start: number, end: number, added: readonly string[]): string {
    return [...this.lines.slice(0, start), ...added, ...this.lines.slice(end)].join(this.eol)
  }
}
