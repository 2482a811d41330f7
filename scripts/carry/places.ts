/**
 * Sorts of nodes by which places are described: by names and kinds, never by the wording around them.
 * @module
 */
import ts from 'typescript'
import type { Source, Test } from './source.ts'

/** @returns a test for the declared function of a name. */
export function functionNamed(name: string): Test<ts.FunctionDeclaration> {
  return (node): node is ts.FunctionDeclaration => ts.isFunctionDeclaration(node) && node.name?.text === name
}

/** @returns a test for the interface of a name. */
export function interfaceNamed(name: string): Test<ts.InterfaceDeclaration> {
  return (node): node is ts.InterfaceDeclaration => ts.isInterfaceDeclaration(node) && node.name.text === name
}

/** @returns a test for the property of a name in an object literal. */
export function propertyNamed(name: string): Test<ts.PropertyAssignment> {
  return (node): node is ts.PropertyAssignment => ts.isPropertyAssignment(node) && node.name.getText() === name
}

/** @returns a test for the declaration of a variable of a name. */
export function variableNamed(name: string): Test<ts.VariableStatement> {
  return (node): node is ts.VariableStatement =>
    ts.isVariableStatement(node) && node.declarationList.declarations.some(each => each.name.getText() === name)
}

/** @returns a test for the import from a module. */
export function importFrom(module: string): Test<ts.ImportDeclaration> {
  return (node): node is ts.ImportDeclaration =>
    ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier) && node.moduleSpecifier.text === module
}

/** @returns a test for the export from a module. */
export function exportFrom(module: string): Test<ts.ExportDeclaration> {
  return (node): node is ts.ExportDeclaration =>
    ts.isExportDeclaration(node)
    && node.moduleSpecifier !== undefined
    && ts.isStringLiteral(node.moduleSpecifier)
    && node.moduleSpecifier.text === module
}

/**
 * @param callee - what is called, `ctx.effect`.
 * @param first - the text of its first argument, if that is a string.
 * @returns a test for such a call.
 */
export function callOf(callee: string, first?: string): Test<ts.CallExpression> {
  return (node): node is ts.CallExpression => {
    if (!ts.isCallExpression(node) || node.expression.getText() !== callee) return false
    const [argument] = node.arguments
    return first === undefined || (argument !== undefined && ts.isStringLiteral(argument) && argument.text === first)
  }
}

/** @returns a test for the `if` whose condition names something. */
export function ifOn(named: string): Test<ts.IfStatement> {
  return (node): node is ts.IfStatement => ts.isIfStatement(node) && node.expression.getText().includes(named)
}

/**
 * The body of the one function among the nodes within a node.
 * @param source - the file.
 * @param what - what the function is, for the message.
 * @param within - a call whose argument it is, or the function itself.
 * @returns its statements' block.
 */
export function bodyOf(source: Source, what: string, within: ts.Node): ts.Block {
  return source.one(
    `the body of ${what}`,
    (node): node is ts.Block => ts.isBlock(node) && (node.parent === within || node.parent.parent === within),
    within,
  )
}
