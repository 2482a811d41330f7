/**
 * Edits in a TypeScript file at places that are found in its tree, so that neither line numbers nor wording matter.
 * @module
 */
import MagicString from 'magic-string'
import ts from 'typescript'
import { MissingPlace } from './refusal.ts'

/** Whether a node is one that is looked for. */
export type Test<T extends ts.Node> = (node: ts.Node) => node is T

/** One file, and the edits that are collected for it. Text is inserted with the file's own line endings. */
export class Source {
  readonly tree: ts.SourceFile
  private readonly path: string
  private readonly edits: MagicString
  private readonly eol: string

  /**
   * @param path - from the checkout's root, for messages.
   * @param text - the file as it is.
   */
  constructor(path: string, text: string) {
    this.path = path
    this.tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
    this.edits = new MagicString(text)
    this.eol = text.includes('\r\n') ? '\r\n' : '\n'
  }

  /**
   * Find the one node of a sort.
   * @param what - what is looked for, in words, for the message.
   * @param test - which nodes are of that sort.
   * @param within - where to look; the whole file by default.
   * @returns the node.
   * @throws MissingPlace naming the file if there is no such node, or more than one.
   */
  one<T extends ts.Node>(what: string, test: Test<T>, within: ts.Node = this.tree): T {
    const found = this.all(test, within)
    const [node] = found
    if (node === undefined || found.length > 1)
      throw new MissingPlace(
        `${this.path}: ${what} is there ${found.length === 0 ? 'not at all' : `${found.length} times`}`,
      )
    return node
  }

  /**
   * Take a node that was found in another way.
   * @param what - what was looked for, in words, for the message.
   * @param node - the node, if there is one.
   * @returns the node.
   * @throws MissingPlace naming the file if there is none.
   */
  given<T extends ts.Node>(what: string, node: T | undefined): T {
    if (node === undefined) throw new MissingPlace(`${this.path}: ${what} is there not at all`)
    return node
  }

  /**
   * Find every node of a sort.
   * @param test - which nodes are of that sort.
   * @param within - where to look; the whole file by default.
   * @returns the nodes, in the order of the text.
   */
  all<T extends ts.Node>(test: Test<T>, within: ts.Node = this.tree): T[] {
    const found: T[] = []
    const visit = (node: ts.Node) => {
      if (test(node)) found.push(node)
      ts.forEachChild(node, visit)
    }
    ts.forEachChild(within, visit)
    return found
  }

  /**
   * Put whole lines before a node, at its indentation.
   * @param node - a node that begins its line.
   * @param lines - without indentation of their own level.
   */
  linesBefore(node: ts.Node, lines: readonly string[]): void {
    this.linesAt(node.getStart(), lines)
  }

  /**
   * Put whole lines before a node and the comment that documents it, at its indentation.
   * @param node - a declaration that begins its line.
   * @param lines - without indentation of their own level.
   */
  linesBeforeDoc(node: ts.Node, lines: readonly string[]): void {
    this.linesAt(node.getStart(this.tree, true), lines)
  }

  /**
   * Put whole lines after a node, at its indentation.
   * @param node - a node, with what may follow it on its line (a comma, say).
   * @param lines - without indentation of their own level.
   */
  linesAfter(node: ts.Node, lines: readonly string[]): void {
    const indent = this.indentOf(node.getStart())
    const end = this.endOfLine(node.getEnd())
    this.edits.appendRight(end, lines.map(line => this.eol + indented(indent, line)).join(''))
  }

  /**
   * Put text right before a node.
   * @param node - any node.
   * @param text - what goes there.
   */
  before(node: ts.Node, text: string): void {
    this.edits.appendLeft(node.getStart(), text)
  }

  /**
   * Put text right after a node.
   * @param node - any node.
   * @param text - what goes there.
   */
  after(node: ts.Node, text: string): void {
    this.edits.appendRight(node.getEnd(), text)
  }

  /**
   * Put text in the place of a node.
   * @param node - any node.
   * @param text - what goes there.
   */
  replace(node: ts.Node, text: string): void {
    this.edits.update(node.getStart(), node.getEnd(), text)
  }

  /**
   * Put text on a line of its own after a node, at the indentation of the node's last line.
   * @param node - any node.
   * @param text - what goes there.
   */
  continueLine(node: ts.Node, text: string): void {
    this.edits.appendRight(node.getEnd(), `${this.eol}${this.indentOf(node.getEnd())}${text}`)
  }

  /**
   * Put properties, a line each, at the end of an object literal that has its own on lines of their own.
   * @param node - the object literal.
   * @param lines - each with its comma.
   */
  addProperties(node: ts.Node, lines: readonly string[]): void {
    const properties = ts.isObjectLiteralExpression(node) && node.properties.hasTrailingComma ? node.properties : []
    this.linesAfter(this.given('an object with a property a line', properties.at(-1)), lines)
  }

  /**
   * Put whole lines in the place of a node and of what follows it on its line.
   * @param node - a node that begins its line.
   * @param lines - without indentation of their own level.
   */
  replaceLine(node: ts.Node, lines: readonly string[]): void {
    const start = node.getStart()
    this.edits.update(start, this.endOfLine(node.getEnd()), lines.join(`${this.eol}${this.indentOf(start)}`))
  }

  /** @returns the text with every edit in it. */
  toString(): string {
    return this.edits.toString()
  }

  private linesAt(position: number, lines: readonly string[]): void {
    const indent = this.indentOf(position)
    this.edits.appendLeft(position - indent.length, lines.map(line => indented(indent, line) + this.eol).join(''))
  }

  private indentOf(position: number): string {
    const { text } = this.tree
    const lineStart = text.lastIndexOf('\n', position - 1) + 1
    // Lines of a comment begin with its star.
    return /^[ \t]*(?:\* )?/.exec(text.slice(lineStart))?.[0] ?? ''
  }

  private endOfLine(position: number): number {
    const end = /\r?\n|$/.exec(this.tree.text.slice(position))
    return position + (end?.index ?? 0)
  }
}

function indented(indent: string, line: string): string {
  return line === '' ? line : indent + line
}
