/**
 * Markup whose text cannot break out of it.
 * @module @deepseek-ai/dsh-ask-trace/html
 */
import { visible } from './visible.ts'

/** A piece of markup that is safe to put into a page. */
export class Html {
  readonly markup: string

  constructor(markup: string) {
    this.markup = markup
  }
}

/** What may stand in a template: text is escaped, markup is not. */
export type Part = string | number | Html | readonly Html[]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/**
 * Tag of a template for markup: text from a log is shown as it is, its control characters written out.
 * @param strings - the markup itself.
 * @param parts - what stands between.
 * @returns the whole.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: strings }, ...parts.map(render)))
}

function render(part: Part): string {
  if (part instanceof Html) return part.markup
  if (typeof part === 'object') return part.map(({ markup }) => markup).join('')
  return visible(String(part)).replace(/[&<>"']/g, char => ENTITIES[char] as string)
}
