/** What the checks of the documentation look at in a Markdown page. */
import GithubSlugger from 'github-slugger'
import { marked, type Token } from 'marked'

export interface Page {
  /** The depth of each heading, in order. */
  readonly depths: readonly number[]
  /** What a link to a heading names, in order. */
  readonly anchors: readonly string[]
  /** Each fenced block: its language and its text. */
  readonly code: readonly string[]
  /** Where the links and pictures lead. */
  readonly links: readonly string[]
}

/**
 * Read a page.
 * @param markdown - its text.
 * @returns its outline.
 */
export function readPage(markdown: string): Page {
  const depths: number[] = []
  const anchors: string[] = []
  const code: string[] = []
  const links: string[] = []
  const slugger = new GithubSlugger()
  // The callback is synchronous, and so is the walk.
  void marked.walkTokens(marked.lexer(markdown), (token: Token) => {
    if (token.type === 'heading') {
      depths.push(token.depth as number)
      anchors.push(slugger.slug(plainText(token.tokens ?? [])))
    } else if (token.type === 'code') {
      code.push(`${(token.lang as string | undefined) ?? ''}\n${token.text as string}`)
    } else if (token.type === 'link' || token.type === 'image') {
      links.push(token.href as string)
    }
  })
  return { depths, anchors, code, links }
}

function plainText(tokens: readonly Token[]): string {
  return tokens.map(token => ('tokens' in token ? plainText(token.tokens ?? []) : textOf(token))).join('')
}

function textOf(token: Token): string {
  return 'text' in token ? (token.text as string) : ''
}
