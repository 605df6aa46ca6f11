/**
 * CHECK constraints of one column, read as PostgreSQL prints them: ranges, lists and lengths, and several of them
 * joined by AND. What it does not understand is left to the database.
 */

/** What a value of the column must be, NULL aside; numbers are strings with all their digits. */
export interface ColumnCheck {
  readonly least?: Bound
  readonly greatest?: Bound
  readonly minLength?: number
  readonly maxLength?: number
  readonly choices?: readonly string[]
}

export interface Bound {
  readonly value: string
  /** The bound itself is no such value. */
  readonly exclusive: boolean
}

/** What a constraint asks of a column, from `pg_get_constraintdef`. Empty where nothing of it is understood. */
export function readCheck(definition: string, column: string): readonly ColumnCheck[] {
  const [, body, options = ''] = /^CHECK \((.*)\)((?: NO INHERIT| NOT VALID| NOT ENFORCED)*)$/s.exec(definition) ?? []
  const tokens = body === undefined ? undefined : tokensOf(body)
  if (!tokens) return []
  const parser = new Parser(tokens, column)
  const tree = parser.parse()
  const parts = tree ? conjuncts(tree).flatMap((part) => meaning(part) ?? []) : []
  // choices are told of what is shown, too, and rows that are older, or of tables that inherit, may have others
  return / NOT VALID| NO INHERIT/.test(options) ? parts.filter(({ choices }) => choices === undefined) : parts
}

type Node =
  | { readonly kind: 'column' | 'null' }
  | { readonly kind: 'literal'; readonly value: string }
  | { readonly kind: 'list'; readonly items: readonly Node[] }
  | { readonly kind: 'length' | 'any' | 'isnull' | 'notnull'; readonly of: Node }
  | { readonly kind: 'compare'; readonly operator: string; readonly left: Node; readonly right: Node }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Node[] }

const TOKEN =
  /\s*(?:(?<text>'(?:[^']|'')*')|(?<name>"(?:[^"]|"")*"|[a-z_\u0080-\uffff][\w$\u0080-\uffff]*)|(?<number>\d+(?:\.\d+)?)|(?<sign>::|>=|<=|<>|[()[\],<>=-]))/iuy
const KEYWORDS = new Set(['and', 'or', 'is', 'not', 'null', 'any', 'array'])
const LENGTHS = new Set(['char_length', 'character_length', 'length'])
/** Types that a cast may name: they keep what is compared. */
const CASTS = /^(?:(?:text|character varying)(?:\[\])?|numeric|double precision)$/
const WHOLE = /^(?:integer|bigint|smallint)$/
const INTEGER = /^-?\d+$/
const FLIPPED: Readonly<Record<string, string>> = { '<': '>', '>': '<', '<=': '>=', '>=': '<=', '=': '=', '<>': '<>' }

interface Token {
  readonly kind: 'text' | 'name' | 'number' | 'sign'
  readonly value: string
}

function tokensOf(sql: string): Token[] | undefined {
  const tokens: Token[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < sql.length) {
    const { groups } = TOKEN.exec(sql) ?? {}
    if (!groups) return undefined
    const [kind, value] = Object.entries(groups).find(([, found]) => found !== undefined) as [Token['kind'], string]
    tokens.push({ kind, value })
  }
  return tokens
}

class Parser {
  readonly #tokens: readonly Token[]
  readonly #column: string
  #position = 0

  constructor(tokens: readonly Token[], column: string) {
    this.#tokens = tokens
    this.#column = column
  }

  /** The whole expression; undefined where something in it is not understood. */
  parse(): Node | undefined {
    const node = this.#or()
    return this.#position === this.#tokens.length ? node : undefined
  }

  #take(...values: readonly string[]): boolean {
    const found = values.every((value, index) => {
      const token = this.#tokens[this.#position + index]
      return token !== undefined && token.kind !== 'text' && token.value.toLowerCase() === value
    })
    if (found) this.#position += values.length
    return found
  }

  #or(): Node | undefined {
    return this.#joined('or', () => this.#joined('and', () => this.#comparison()))
  }

  #joined(kind: 'and' | 'or', next: () => Node | undefined): Node | undefined {
    const parts: Node[] = []
    do {
      const part = next()
      if (!part) return undefined
      parts.push(part)
    } while (this.#take(kind))
    return parts.length === 1 ? parts[0] : { kind, parts }
  }

  #comparison(): Node | undefined {
    const left = this.#operand()
    if (!left) return undefined
    if (this.#take('is', 'null')) return { kind: 'isnull', of: left }
    if (this.#take('is', 'not', 'null')) return { kind: 'notnull', of: left }
    const operator = ['>=', '<=', '<>', '>', '<', '='].find((sign) => this.#take(sign))
    if (operator === undefined) return left
    const right = this.#operand()
    return right && { kind: 'compare', operator, left, right }
  }

  #operand(): Node | undefined {
    const node = this.#primary()
    if (!node) return undefined
    while (this.#take('::')) if (!this.#cast(node)) return undefined
    return node
  }

  /** A cast to a type that keeps the value. */
  #cast(node: Node): boolean {
    const words: string[] = []
    while (this.#tokens[this.#position]?.kind === 'name' && !this.#isKeyword()) {
      words.push((this.#tokens[this.#position++] as Token).value)
    }
    const array = this.#take('[', ']') ? '[]' : ''
    const type = words.join(' ').toLowerCase() + array
    if (WHOLE.test(type)) return node.kind === 'literal' && INTEGER.test(node.value)
    return CASTS.test(type) && (type !== 'double precision' || node.kind === 'literal')
  }

  #isKeyword(): boolean {
    const token = this.#tokens[this.#position]
    return token?.kind === 'name' && KEYWORDS.has(token.value.toLowerCase())
  }

  #primary(): Node | undefined {
    if (this.#take('(')) return this.#closed(this.#or(), ')')
    if (this.#take('any', '(')) {
      const of = this.#closed(this.#or(), ')')
      return of && { kind: 'any', of }
    }
    if (this.#take('array', '[')) return this.#list()
    if (this.#take('null')) return { kind: 'null' }
    const isNegative = this.#take('-')
    const token = this.#tokens[this.#position]
    if (!token || this.#isKeyword()) return undefined
    this.#position++
    if (token.kind === 'number') return { kind: 'literal', value: `${isNegative ? '-' : ''}${token.value}` }
    if (isNegative) return undefined
    if (token.kind === 'text') return { kind: 'literal', value: token.value.slice(1, -1).replaceAll("''", "'") }
    if (token.kind !== 'name') return undefined
    if (!this.#take('(')) return this.#isColumn(token.value) ? { kind: 'column' } : undefined
    const of = LENGTHS.has(token.value) ? this.#closed(this.#operand(), ')') : undefined
    return of && { kind: 'length', of }
  }

  /** A domain calls its value so. */
  #isColumn(name: string): boolean {
    if (name.startsWith('"')) return name.slice(1, -1).replaceAll('""', '"') === this.#column
    return name === this.#column || name === 'VALUE'
  }

  #closed(node: Node | undefined, end: string): Node | undefined {
    return node && this.#take(end) ? node : undefined
  }

  #list(): Node | undefined {
    const items: Node[] = []
    do {
      const item = this.#operand()
      if (!item) return undefined
      items.push(item)
    } while (this.#take(','))
    return this.#take(']') ? { kind: 'list', items } : undefined
  }
}

/** The conditions that must all hold. Whether a value may be NULL is another question. */
function conjuncts(node: Node): readonly Node[] {
  if (node.kind === 'and') return node.parts.flatMap(conjuncts)
  if (node.kind !== 'or') return [node]
  const parts = node.parts.filter((part) => !(part.kind === 'isnull' && part.of.kind === 'column'))
  return parts.length === 1 ? conjuncts(parts[0] as Node) : [{ ...node, parts }]
}

/** What one condition asks; undefined where that is not for a field to say. */
function meaning(node: Node): ColumnCheck | undefined {
  if (node.kind === 'or') {
    const choices = node.parts.map((part) => meaning(part)?.choices)
    return choices.every((one) => one !== undefined) ? { choices: choices.flat() } : undefined
  }
  if (node.kind !== 'compare') return undefined
  const { left, right } = node
  if (left.kind === 'literal') return compare(right, FLIPPED[node.operator] as string, left)
  return compare(left, node.operator, right)
}

function compare(subject: Node, operator: string, other: Node): ColumnCheck | undefined {
  if (subject.kind === 'column' && operator === '=' && other.kind === 'any' && other.of.kind === 'list') {
    const values = other.of.items.map((item) => (item.kind === 'literal' ? item.value : undefined))
    return values.every((value) => value !== undefined) ? { choices: values } : undefined
  }
  if (other.kind !== 'literal') return undefined
  const { value } = other
  if (subject.kind === 'length' && subject.of.kind === 'column') return lengthOf(operator, Number(value))
  if (subject.kind !== 'column') return undefined
  if (operator === '=') return { choices: [value] }
  if (operator === '<>') return value === '' ? { minLength: 1 } : undefined
  const bound = { value, exclusive: operator === '>' || operator === '<' }
  return operator.startsWith('>') ? { least: bound } : { greatest: bound }
}

function lengthOf(operator: string, length: number): ColumnCheck | undefined {
  if (!Number.isSafeInteger(length) || length < 0) return undefined
  switch (operator) {
    case '=':
      return { minLength: length, maxLength: length }
    case '>=':
      return { minLength: length }
    case '>':
      return { minLength: length + 1 }
    case '<=':
      return { maxLength: length }
    case '<':
      return length > 0 ? { maxLength: length - 1 } : undefined
    default:
      return operator === '<>' && length === 0 ? { minLength: 1 } : undefined
  }
}
