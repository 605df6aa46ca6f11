/** The small changes that can be made to a source file, each of which some test should notice. */
import { parseSync } from 'oxc-parser'

export interface Mutant {
  /** What was done, such as `=== to !==`. */
  readonly change: string
  readonly line: number
  /** The line before and after. */
  readonly before: string
  readonly after: string
  /** The whole file, changed. */
  readonly source: string
}

/** A node of the tree: its type, its place, and its children under names. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [name: string]: unknown
}

/** A text in place of what stands from start to end. */
interface Edit {
  readonly change: string
  readonly start: number
  readonly end: number
  readonly text: string
}

const OPERATORS: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
}

/** Methods that make a statement lock what it reads. */
const LOCKS = new Set(['forUpdate', 'forNoKeyUpdate', 'forShare', 'forKeyShare', 'skipLocked', 'noWait'])

/** All changes to a file, in the order of their places. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const { program, errors } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  const edits: Edit[] = []
  visit(program as unknown as Node, source, edits)
  return edits.toSorted((one, other) => one.start - other.start).map((edit) => toMutant(source, edit))
}

function toMutant(source: string, { change, start, end, text }: Edit): Mutant {
  const changed = source.slice(0, start) + text + source.slice(end)
  const line = source.slice(0, start).split('\n').length
  const [before = '', after = ''] = [source, changed].map((all) => all.split('\n')[line - 1]?.trim())
  return { change, line, before, after, source: changed }
}

/** Types are nothing that runs; what stands under `as`, `!` and `satisfies` is. */
function isType({ type }: Node): boolean {
  return type.startsWith('TS') && !/^TS(?:As|NonNull|Satisfies|TypeAssertion|Instantiation)/.test(type)
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
}

function visit(node: Node, source: string, edits: Edit[]): void {
  if (isType(node) || node.type === 'ImportDeclaration') return
  edits.push(...(CHANGES[node.type]?.(node, source) ?? []))
  for (const [name, child] of Object.entries(node)) {
    // names and types of declarations
    if (name === 'typeAnnotation' || name === 'typeArguments' || name === 'typeParameters') continue
    for (const one of Array.isArray(child) ? child : [child]) if (isNode(one)) visit(one, source, edits)
  }
}

/** By the type of a node. */
const CHANGES: Readonly<Record<string, (node: Node, source: string) => Edit[]>> = {
  BinaryExpression: changeOperator,
  LogicalExpression: changeOperator,
  IfStatement(node, source) {
    const { test, consequent, alternate } = node as unknown as Record<'test' | 'consequent' | 'alternate', Node>
    const { start, end } = test
    const negated = { change: 'branches swapped', start, end, text: `!(${source.slice(start, end)})` }
    const isGuard = !alternate && /^\{?\s*(?:return|throw|continue|break)\b/.test(source.slice(consequent.start))
    return isGuard ? [negated, { change: 'guard removed', start, end, text: 'false' }] : [negated]
  },
  ConditionalExpression(node, source) {
    const { consequent, alternate } = node as unknown as Record<'consequent' | 'alternate', Node>
    const text = (one: Node) => source.slice(one.start, one.end)
    const between = source.slice(consequent.end, alternate.start)
    return [
      {
        change: 'branches swapped',
        start: consequent.start,
        end: alternate.end,
        text: `${text(alternate)}${between}${text(consequent)}`,
      },
    ]
  },
  AwaitExpression: ({ start, argument }) => [
    { change: 'await removed', start, end: (argument as Node).start, text: '' },
  ],
  UnaryExpression({ operator, start, argument }) {
    if (operator !== '!') return []
    return [{ change: 'negation removed', start, end: (argument as Node).start, text: '' }]
  },
  Literal({ value, start, end }) {
    if (typeof value === 'boolean') return [{ change: `${value} to ${!value}`, start, end, text: String(!value) }]
    if (typeof value === 'number') return [{ change: 'bound moved', start, end, text: String(value + 1) }]
    return []
  },
  CallExpression({ callee, end }) {
    const { type, object, property } = callee as { type: string; object: Node; property: { name?: string } }
    if (type !== 'MemberExpression' || !LOCKS.has(property.name ?? '')) return []
    return [{ change: 'lock removed', start: object.end, end, text: '' }]
  },
  ExpressionStatement({ expression, start, end }, source) {
    const { type, argument } = expression as Node
    const called = type === 'AwaitExpression' || type === 'UnaryExpression' ? (argument as Node).type : type
    // a class that does not call its parent does not run at all
    if (called !== 'CallExpression' || source.startsWith('super(', start)) return []
    return [{ change: 'call removed', start, end, text: ';' }]
  },
}

function changeOperator(node: Node, source: string): Edit[] {
  const { operator, left, right } = node as unknown as { operator: string; left: Node; right: Node }
  const other = OPERATORS[operator]
  if (other === undefined) return []
  const at = left.end + source.slice(left.end, right.start).indexOf(operator)
  return [{ change: `${operator} to ${other}`, start: at, end: at + operator.length, text: other }]
}
