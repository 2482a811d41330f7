/**
 * Declarations that a page of documentation repeats from the sources: they follow an edit there.
 * @module
 */
import type { Target } from './change.ts'
import { MissingPlace } from './refusal.ts'
import { Source } from './source.ts'
import { LANGUAGES, record } from './texts.ts'

const BLOCK = /(?<=^```(?:ts|typescript)\b[^\n]*\n)[\s\S]*?(?=^```)/gm

/**
 * Edit an interface in the sources and on the pages that repeat it, in both languages.
 * @param target - the checkout's files.
 * @param path - of the source file.
 * @param name - of the interface.
 * @param page - of the documentation, without an extension.
 * @param edit - finds the places and puts in what is new.
 * @throws MissingPlace unless each page has exactly one block with the interface.
 */
export function editWithPage(
  target: Target,
  path: string,
  name: string,
  page: string,
  edit: (source: Source) => void,
): void {
  target.source(path, edit)
  // A generation without the page repeats the declaration nowhere.
  if (!target.has(`${page}.md`)) return
  for (const language of LANGUAGES) {
    const text = target.read(page + language)
    const blocks = [...text.matchAll(BLOCK)].filter(([block]) => block.includes(`interface ${name} {`))
    const [block] = blocks
    if (block === undefined || blocks.length > 1)
      throw new MissingPlace(`${page + language}: ${blocks.length} blocks of code have the interface ${name}`)
    const source = new Source(page + language, block[0])
    edit(source)
    const end = block.index + block[0].length
    target.write(page + language, text.slice(0, block.index) + source.toString() + text.slice(end))
  }
  record(target, page)
}
