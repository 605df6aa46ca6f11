/** Rows in JavaScript: what a caller sees of them, and what writes make of them, as @casl/ability has the rules. */
import type { Random } from './random.js'
import type { Kind } from './roads-api.js'
import {
  type Action,
  allowedBy,
  type Caller,
  mayUse,
  NAMES,
  OVER_LINKS,
  type Row,
  type Rules,
  TABLES,
  type TableName,
  Unsaid,
} from './row-rules.js'

export type Data = Readonly<Record<TableName, readonly Row[]>>

/** What decides: rules of rows, and those of fields. */
export interface Decisions {
  readonly rules: Rules
  readonly fields: Kind['fields']
}

const KEYS: Readonly<Partial<Record<TableName, readonly [string, string]>>> = {
  book_genres: ['book_id', 'genre_id'],
  copies: ['book_id', 'number'],
}

/** A row's key as one number. */
export function idOf(table: TableName, row: Row): number {
  const [first, second] = KEYS[table] ?? []
  if (first === undefined || second === undefined) return row['id'] as number
  return (row[first] as number) * 10_000 + (row[second] as number)
}

/** The same in SQL. */
export function idSql(table: TableName): string {
  const [first, second] = KEYS[table] ?? []
  return first === undefined ? 'id' : `${first} * 10000 + ${second}`
}

/** The same in a path. */
export function keyText(table: TableName, id: number): string {
  return KEYS[table] ? `${Math.floor(id / 10_000)},${id % 10_000}` : String(id)
}

export const ids = (rows: readonly { readonly id?: unknown }[]) =>
  rows.map(({ id }) => id as number).sort((one, other) => one - other)

/** The rows, their relations as lists, and which of them the caller sees. */
export class World {
  readonly data: Data
  readonly rows: Readonly<Record<TableName, readonly Row[]>>
  readonly #decisions: Decisions
  readonly #caller: Caller
  readonly #allowed = new Map<string, (row: Row) => boolean>()
  readonly #answers = new Map<string, boolean>()

  constructor(data: Data, caller: Caller, decisions: Decisions) {
    this.data = data
    this.#caller = caller
    this.#decisions = decisions
    const rows = Object.fromEntries(
      NAMES.map((name) => [name, data[name].map((row) => ({ ...row, id: idOf(name, row) }))]),
    ) as unknown as Record<TableName, Row[]>
    const { teams, authors, genres, books, book_genres: links, reviews, copies, loans } = rows
    const at = (list: readonly Row[], column: string, value: unknown) => list.filter((row) => row[column] === value)
    for (const team of teams) team['authors'] = at(authors, 'team_id', team['id'])
    for (const author of authors) {
      author['team'] = at(teams, 'id', author['team_id'])
      author['books'] = at(books, 'author_id', author['id'])
    }
    for (const link of links) {
      link['book'] = at(books, 'id', link['book_id'])
      link['genre'] = at(genres, 'id', link['genre_id'])
    }
    for (const genre of genres) genre['books'] = at(links, 'genre_id', genre['id']).flatMap((link) => link['book'])
    for (const book of books) {
      book['author'] = at(authors, 'id', book['author_id'])
      book['reviews'] = at(reviews, 'book_id', book['id'])
      book['praise'] = at(reviews, 'book_id', book['id']).filter((row) => (row['stars'] as number) > 2)
      book['links'] = at(links, 'book_id', book['id'])
      book['genres'] = at(links, 'book_id', book['id']).flatMap((link) => link['genre'])
      book['copies'] = at(copies, 'book_id', book['id'])
    }
    for (const review of reviews) review['book'] = at(books, 'id', review['book_id'])
    for (const copy of copies) {
      copy['book'] = at(books, 'id', copy['book_id'])
      copy['loans'] = at(loans, 'book_id', copy['book_id']).filter((row) => row['number'] === copy['number'])
    }
    for (const loan of loans) {
      loan['copy'] = at(copies, 'book_id', loan['book_id']).filter((row) => row['number'] === loan['number'])
    }
    this.rows = rows
  }

  find(table: TableName, id: unknown): Row | undefined {
    return this.rows[table].find((row) => row['id'] === id)
  }

  may(action: Action, table: TableName, id: unknown): boolean {
    const key = `${action} ${table} ${id as number}`
    const known = this.#answers.get(key)
    if (known !== undefined) return known
    const row = this.find(table, id)
    const answer = row !== undefined && this.#rule(action, table)(row)
    this.#answers.set(key, answer)
    return answer
  }

  #rule(action: Action, table: TableName): (row: Row) => boolean {
    const key = `${action} ${table}`
    let allowed = this.#allowed.get(key)
    if (!allowed) {
      allowed = allowedBy(this.#decisions.rules, { action, table, caller: this.#caller })
      this.#allowed.set(key, allowed)
    }
    return allowed
  }

  /** True of columns that rules let be read, or set. */
  mayUse(use: 'read' | 'write', table: TableName, column: string): boolean {
    const fields = this.#decisions.fields[table] ?? {}
    const refused = Object.keys(fields).filter((name) => (fields[name]?.[use] ?? fields[name]?.read) === false)
    const columns = [...Object.keys(TABLES[table].columns), 'isbn', 'note', 'slug'].filter(
      (name) => !refused.includes(name),
    )
    return mayUse(columns)(column)
  }

  /** The rows that are seen. */
  seen(table: TableName, of: readonly Row[] = this.rows[table]): readonly Row[] {
    return of.filter(({ id }) => this.may('read', table, id))
  }

  /** Related rows that are seen, by links that are seen. */
  related(table: TableName, row: Row, relation: string): readonly Row[] {
    const to = TABLES[table].relations[relation] as TableName
    const seen = this.seen(to, row[relation] as readonly Row[])
    if (!OVER_LINKS.includes(`${table}.${relation}`)) return seen
    const linkOf = ([book, genre]: readonly unknown[]) => idOf('book_genres', { book_id: book, genre_id: genre })
    return seen.filter(({ id }) => {
      const link = linkOf(table === 'books' ? [row['id'], id] : [id, row['id']])
      return this.may('read', 'book_genres', link)
    })
  }

  changed(change: Partial<Data>): World {
    return new World({ ...this.data, ...change }, this.#caller, this.#decisions)
  }
}

/** What a write does, a row at a time, as all roads but ours do it. */
export type Step = {
  /** Rows that have to be seen for the step to be done at all; else it is left out. */
  readonly ifSeen?: readonly (readonly [TableName, number])[]
} & (
  | { readonly do: 'see'; readonly table: TableName; readonly id: number }
  // isNested: it is asked once the row around it is written
  | {
      readonly do: 'change'
      readonly table: TableName
      readonly id: number
      readonly to: Row
      /** A column that becomes null where a row is seen that it leads to. */
      readonly clears?: readonly [column: string, TableName, number]
      readonly isNested?: boolean
    }
  // isFirst: it is asked before other rows are written that its rule looks at
  | { readonly do: 'create'; readonly table: TableName; readonly row: Row; readonly isFirst?: boolean }
  | { readonly do: 'remove'; readonly table: TableName; readonly id: number }
)

/** What columns hold that an insert leaves out. */
const DEFAULTS: Readonly<Record<TableName, Row>> = {
  teams: { tenant: null, region: null },
  authors: { team_id: null, hidden: false, income: null, slug: 'new' },
  genres: { tenant: null, slug: 'new' },
  books: { tenant: null, price: null, published: false, author_id: null, cost: null, isbn: null },
  book_genres: { weight: 1 },
  reviews: { kind: null, note: null },
  copies: { state: null },
  loans: { book_id: null, number: null, reader: null },
}

class Refused extends Error {}

/** The rows after a write; undefined where it is refused. */
export function afterSteps(world: World, steps: readonly Step[]): Data | undefined {
  try {
    return written(world, steps)
  } catch (error) {
    if (error instanceof Refused) return undefined
    throw error
  }
}

function written(before: World, steps: readonly Step[]): Data {
  const needs = (holds: boolean) => {
    if (!holds) throw new Refused()
  }
  const rows = Object.fromEntries(NAMES.map((name) => [name, before.data[name]])) as Record<TableName, readonly Row[]>
  const results: (readonly ['create' | 'update', TableName, number])[] = []
  for (const step of steps) {
    const { table } = step
    if (step.ifSeen) {
      const seen = step.ifSeen.every((row) => before.may('read', ...row))
      // links go once the object is written that they are of
      const meanwhile = before.changed({ ...rows, book_genres: before.data.book_genres })
      if (seen !== step.ifSeen.every((row) => meanwhile.may('read', ...row))) {
        throw new Unsaid('what is seen changes within a write')
      }
      if (!seen) continue
    }
    switch (step.do) {
      case 'see':
        needs(before.may('read', table, step.id))
        break
      case 'change': {
        const { id, clears } = step
        const [cleared = '', ...leading] = clears ?? []
        const isCleared = leading.length > 0 && before.may('read', ...(leading as [TableName, number]))
        const to = isCleared ? { ...step.to, [cleared]: null } : step.to
        const asked = step.isNested ? before.changed(rows) : before
        needs(before.may('read', table, id) && asked.may('update', table, id))
        needs(Object.keys(to).every((column) => before.mayUse('write', table, column)))
        rows[table] = rows[table].map((row) => (idOf(table, row) === id ? { ...row, ...to } : row))
        results.push(['update', table, id])
        break
      }
      case 'create': {
        const row = { ...DEFAULTS[table], ...step.row }
        needs(rows[table].every((other) => idOf(table, other) !== idOf(table, row)))
        needs(Object.keys(step.row).every((column) => before.mayUse('write', table, column)))
        rows[table] = [...rows[table], row]
        const id = idOf(table, row)
        if (step.isFirst) needs(before.changed(rows).may('create', table, id))
        else results.push(['create', table, id])
        break
      }
      case 'remove': {
        const { id } = step
        const asked = step.ifSeen ? before.changed({ ...rows, book_genres: before.data.book_genres }) : before
        needs(before.may('read', table, id) && asked.may('delete', table, id))
        const gone = rows[table].filter((row) => idOf(table, row) === id)
        rows[table] = rows[table].filter((row) => idOf(table, row) !== id)
        for (const row of gone) cascade(rows, table, row)
      }
    }
  }
  const after = before.changed(rows)
  for (const [action, table, id] of results) {
    needs(after.find(table, id) === undefined || after.may(action, table, id))
  }
  return rows
}

function cascade(rows: Record<TableName, readonly Row[]>, table: TableName, gone: Row): void {
  if (table === 'books') {
    for (const name of ['book_genres', 'reviews', 'copies', 'loans'] as const) {
      rows[name] = rows[name].filter((row) => row['book_id'] !== gone['id'])
    }
  }
  if (table === 'genres') rows.book_genres = rows.book_genres.filter((row) => row['genre_id'] !== gone['id'])
  if (table === 'copies') {
    rows.loans = rows.loans.filter((row) => row['book_id'] !== gone['book_id'] || row['number'] !== gone['number'])
  }
}

const literal = (value: unknown) => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value))

/** The steps for `attempt()` of the database. */
export function stepsSql(steps: readonly Step[]): string {
  return JSON.stringify(steps.map(stepSql))
}

function stepSql(step: Step): object {
  const { table, ifSeen = [] } = step
  const where = (of: TableName, id: number) => `where ${idSql(of)} = ${id}`
  const there = ([of, id]: readonly [TableName, number]) => `exists (select from ${of} ${where(of, id)})`
  const condition = ifSeen.length > 0 ? { if: `select ${ifSeen.map(there).join(' and ')}` } : {}
  switch (step.do) {
    case 'see':
      return { ...condition, must: `select ${there([table, step.id])}` }
    case 'change': {
      const update = (to: Row) => {
        const set = Object.entries(to).map(([name, value]) => `${name} = ${literal(value)}`)
        return `update ${table} set ${set.join(', ')}`
      }
      const [cleared = '', ...leading] = step.clears ?? []
      // one that reads a column would have to leave a row that is seen
      const clearing = step.clears && {
        choose: `select ${there(leading as [TableName, number])}`,
        chosen: update({ ...step.to, [cleared]: null }),
      }
      return {
        ...condition,
        hold: `select from ${table} ${where(table, step.id)} for update`,
        ...clearing,
        do: update(step.to),
      }
    }
    case 'create': {
      const names = Object.keys(step.row).join(', ')
      const values = Object.values(step.row).map(literal).join(', ')
      return { ...condition, do: `insert into ${table} (${names}) values (${values})` }
    }
    case 'remove':
      return { ...condition, do: `delete from ${table} ${where(table, step.id)}` }
  }
}

/** Rows by chance. */
export function randomData(random: Random): Data {
  const numbered = (amount: number, row: (id: number) => Row) =>
    Array.from({ length: amount }, (_, n) => ({ id: n + 1, ...row(n + 1) }))
  const small = () => (random.chance(0.15) ? null : 1 + random.below(4))
  const text = () => random.pick(['a', 'b', 'c'])
  const maybe = () => random.pick(['a', 'b', null])
  const books = numbered(6, () => ({
    tenant: small(),
    title: text(),
    price: small(),
    published: random.chance(0.5),
    author_id: small(),
    cost: small(),
    isbn: text(),
  }))
  const copies = books.flatMap(({ id }) =>
    random.some([1, 2], 0.5).map((number) => ({ book_id: id, number, state: maybe() })),
  )
  return {
    teams: numbered(3, () => ({ tenant: small(), region: random.chance(0.2) ? null : text() })),
    authors: numbered(4, (id) => ({
      team_id: random.pick([1, 2, 3, null]),
      name: text(),
      hidden: random.chance(0.4),
      income: small(),
      slug: `a${id}`,
    })),
    genres: numbered(4, (id) => ({ tenant: small(), name: text(), slug: `g${id}` })),
    books,
    book_genres: books.flatMap(({ id }) =>
      random.some([1, 2, 3, 4], 0.35).map((genre_id) => ({ book_id: id, genre_id, weight: 1 + random.below(3) })),
    ),
    reviews: numbered(8, () => ({
      book_id: 1 + random.below(6),
      stars: 1 + random.below(5),
      kind: maybe(),
      note: text(),
    })),
    copies,
    loans: numbered(6, () => {
      const copy = random.chance(0.85) && copies.length > 0 ? random.pick(copies) : undefined
      return { book_id: copy?.['book_id'] ?? null, number: copy?.['number'] ?? null, reader: text() }
    }),
  }
}

/** Rows without the numbers that sequences gave, and without the order of columns. */
export function stateOf(rows: Data): string {
  const plain = (row: Row) =>
    Object.entries(row)
      .map(([name, value]) => `${name}=${typeof value === 'number' && value >= 1000 ? 'new' : String(value)}`)
      .sort()
      .join(' ')
  return NAMES.map((name) => `${name}: ${rows[name].map(plain).sort().join('; ')}`).join('\n')
}
