/**
 * Places in a TypeScript file by what they are: a declaration by its name, a member by its owner, a call by its callee.
 * @module
 */
import ts from 'typescript'
import type { Source, Test } from './source.ts'

/** What has members. */
export type Owner = ts.InterfaceDeclaration | ts.ClassDeclaration | ts.ObjectLiteralExpression

const isNamed =
  <T extends ts.Node>(isKind: Test<T>, name: string): Test<T> =>
  (node): node is T =>
    isKind(node) && (node as { readonly name?: ts.Node }).name?.getText() === name

/**
 * @param source - the file.
 * @param name - of an interface.
 * @returns its declaration.
 */
export function interfaceNamed(source: Source, name: string): ts.InterfaceDeclaration {
  return source.one(`the interface ${name}`, isNamed(ts.isInterfaceDeclaration, name))
}

/**
 * @param source - the file.
 * @param name - of a class.
 * @returns its declaration.
 */
export function classNamed(source: Source, name: string): ts.ClassDeclaration {
  return source.one(`the class ${name}`, isNamed(ts.isClassDeclaration, name))
}

/**
 * @param source - the file.
 * @param name - of a function, or of a method that has a body.
 * @param within - where to look.
 * @returns its body.
 */
export function bodyOf(source: Source, name: string, within?: ts.Node): ts.Block {
  const isFunction = (
    node: ts.Node,
  ): node is ts.FunctionDeclaration | ts.MethodDeclaration | ts.ConstructorDeclaration =>
    ts.isConstructorDeclaration(node) ? name === 'constructor' : isNamed(isMethodOrFunction, name)(node)
  return source.given(`the body of ${name}`, source.one(`the function ${name}`, isFunction, within).body)
}

const isMethodOrFunction: Test<ts.FunctionDeclaration | ts.MethodDeclaration> = (
  node,
): node is ts.FunctionDeclaration | ts.MethodDeclaration =>
  ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)

/**
 * @param source - the file.
 * @param owner - what has the member.
 * @param name - of the member.
 * @returns its declaration.
 */
export function memberOf(source: Source, owner: Owner, name: string): ts.Node {
  const isMember = (node: ts.Node): node is ts.Node =>
    node.parent === owner && (node as { readonly name?: ts.Node }).name?.getText() === name
  return source.one(`the member ${name} of ${nameOf(owner)}`, isMember, owner)
}

/**
 * @param source - the file.
 * @param owner - an object literal.
 * @param name - of a property.
 * @returns what is assigned to it.
 */
export function valueOf(source: Source, owner: ts.ObjectLiteralExpression, name: string): ts.Expression {
  const isProperty = (node: ts.Node): node is ts.PropertyAssignment =>
    node.parent === owner && isNamed(ts.isPropertyAssignment, name)(node)
  return source.one(`the property ${name} of an object`, isProperty, owner).initializer
}

/**
 * @param source - the file.
 * @param key - a property.
 * @param text - its value, a string.
 * @returns the object literal that has it.
 */
export function objectWith(source: Source, key: string, text: string): ts.ObjectLiteralExpression {
  const isValue = (node: ts.Node): boolean =>
    ts.isPropertyAssignment(node)
    && node.name.getText() === key
    && ts.isStringLiteral(node.initializer)
    && node.initializer.text === text
  const isObject = (node: ts.Node): node is ts.ObjectLiteralExpression =>
    ts.isObjectLiteralExpression(node) && node.properties.some(isValue)
  return source.one(`the object with ${key}: '${text}'`, isObject)
}

/**
 * @param source - the file.
 * @param name - of a variable.
 * @param within - where to look.
 * @returns its declaration.
 */
export function variableNamed(source: Source, name: string, within?: ts.Node): ts.VariableDeclaration {
  return source.one(`the variable ${name}`, isNamed(ts.isVariableDeclaration, name), within)
}

/**
 * @param source - the file.
 * @param callee - as it is written, up to its last name: `wait` finds `ctx.jobs.wait(…)`.
 * @param within - where to look.
 * @returns the call.
 */
export function callOf(source: Source, callee: string, within?: ts.Node): ts.CallExpression {
  const isCall = (node: ts.Node): node is ts.CallExpression => {
    if (!ts.isCallExpression(node)) return false
    const { expression } = node
    return (ts.isPropertyAccessExpression(expression) ? expression.name : expression).getText() === callee
  }
  return source.one(`the call of ${callee}`, isCall, within)
}

/**
 * @param source - the file.
 * @param target - what is assigned to: `x`, or `.x` for that property of anything.
 * @param within - where to look.
 * @returns the assignment.
 */
export function assignmentTo(source: Source, target: string, within: ts.Node): ts.BinaryExpression {
  const isAssignment = (node: ts.Node): node is ts.BinaryExpression =>
    ts.isBinaryExpression(node)
    && node.operatorToken.kind === ts.SyntaxKind.EqualsToken
    && (target.startsWith('.')
      ? ts.isPropertyAccessExpression(node.left) && `.${node.left.name.text}` === target
      : ts.isIdentifier(node.left) && node.left.text === target)
  return source.one(`the assignment to ${target}`, isAssignment, within)
}

/**
 * @param node - a part of a statement.
 * @returns the innermost statement that it belongs to.
 */
export function statementOf(node: ts.Node): ts.Statement {
  return ts.isStatement(node) ? node : statementOf(node.parent)
}

/**
 * Import what the file does not know yet.
 * @param source - the file.
 * @param lines - an import declaration.
 */
export function addImport(source: Source, ...lines: string[]): void {
  source.linesAfter(source.given('an import', source.tree.statements.findLast(ts.isImportDeclaration)), lines)
}

/**
 * Add names to an import or export of types.
 * @param source - the file.
 * @param from - the module that they come from.
 * @param names - the names.
 */
export function addImportedTypes(source: Source, from: string, names: string): void {
  const isList = (node: ts.Node): node is ts.NamedImports =>
    ts.isNamedImports(node)
    && node.parent.phaseModifier === ts.SyntaxKind.TypeKeyword
    && (node.parent.parent.moduleSpecifier as ts.StringLiteral).text === from
  const { elements } = source.one(`the import of types from ${from}`, isList)
  source.after(source.given(`a type from ${from}`, elements.at(-1)), `, ${names}`)
}

function nameOf(owner: Owner): string {
  return ts.isObjectLiteralExpression(owner) ? 'an object' : (owner.name?.text ?? 'a class')
}

/**
 * Say in a comment what a new parameter is.
 * @param source - the file.
 * @param node - the function, whose comment says what it returns.
 * @param line - a `@param` line.
 */
export function addParameterTag(source: Source, node: ts.Node, line: string): void {
  const returns = ts.getJSDocReturnTag(node)
  source.linesBefore(source.given('the @returns of a comment', returns), [line])
}

/**
 * @param source - the file.
 * @param event - the name of an event.
 * @param within - where to look.
 * @returns the body of the function that listens to it.
 */
export function listenerOf(source: Source, event: string, within?: ts.Node): ts.Block {
  const isEvent = (node: ts.Node | undefined) => node !== undefined && ts.isStringLiteral(node) && node.text === event
  const isOn = (node: ts.Node): node is ts.CallExpression =>
    ts.isCallExpression(node)
    && ts.isPropertyAccessExpression(node.expression)
    && node.expression.name.text === 'on'
    && isEvent(node.arguments[0])
  return bodyOfArgument(source, `the listener of ${event}`, source.one(`the listener of ${event}`, isOn, within))
}

/**
 * @param source - the file.
 * @param what - the function, in words.
 * @param call - the call that it is handed to.
 * @returns the body of the function.
 */
export function bodyOfArgument(source: Source, what: string, call: ts.CallExpression): ts.Block {
  const isBody = (node: ts.Node): node is ts.Block => ts.isBlock(node) && node.parent.parent === call
  return source.one(`the body of ${what}`, isBody, call)
}

/**
 * @param source - the file.
 * @param named - what the condition names.
 * @param block - the block that the statement stands in itself.
 * @returns each `if` on it, in the order of the text.
 */
export function ifsOn(source: Source, named: string, block: ts.Block): ts.IfStatement[] {
  const isIf = (node: ts.Node): node is ts.IfStatement =>
    ts.isIfStatement(node) && node.parent === block && node.expression.getText().includes(named)
  return source.all(isIf, block)
}

/**
 * @param source - the file.
 * @param module - what is imported or exported from.
 * @param isKind - which of the two.
 * @returns the declaration.
 */
export function declarationFrom<T extends ts.ImportDeclaration | ts.ExportDeclaration>(
  source: Source,
  module: string,
  isKind: Test<T>,
): T {
  const isFrom = (node: ts.Node): node is T =>
    isKind(node)
    && node.moduleSpecifier !== undefined
    && ts.isStringLiteral(node.moduleSpecifier)
    && node.moduleSpecifier.text === module
  return source.one(`the import or export of ${module}`, isFrom)
}

/**
 * Give a function a parameter more.
 * @param source - the file.
 * @param name - of the function.
 * @param text - the parameter.
 * @returns the function.
 */
export function addParameter(source: Source, name: string, text: string): ts.FunctionDeclaration {
  const made = source.one(`the function ${name}`, isNamed(ts.isFunctionDeclaration, name))
  source.after(source.given(`a parameter of ${name}`, made.parameters.at(-1)), `, ${text}`)
  return made
}

/**
 * @param source - the file.
 * @param what - the block, in words.
 * @param block - a block of statements.
 * @returns its first statement.
 */
export function firstOf(source: Source, what: string, block: ts.Statement | undefined): ts.Statement {
  return source.given(what, block !== undefined && ts.isBlock(block) ? block.statements[0] : undefined)
}
