/**
 * Random groups of filters show what an evaluator in memory shows, that is written from docs/reference/filter-language.md
 * alone, over rows with many missing values and their related objects, of which some are not to be seen.
 */
import { Model } from 'objection'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { APIRouter, FieldFilter, type FilterRelations, ModelSerializer, ReadOnlyModelViewSet } from '../../lib/index.js'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { type NumberRange, randomRange, rangeMeanings } from './support/number-ranges.js'
import { Random } from './support/random.js'
import { report, seed, size } from './support/size.js'

const TREES = size(100, 20_000)
const ROWS = 60

interface Row {
  readonly id: number
  readonly n: number | null
  readonly price: number | null
  readonly title: string | null
  readonly flag: boolean | null
  readonly day: string | null
  readonly tags: readonly string[] | null
  readonly colour: string | null
  readonly ages: NumberRange | null
  readonly costs: NumberRange | null
  /** The name of the author, who may be missing or have none. */
  readonly author: string | null
  readonly notes: readonly Note[]
  /** The numbers of its labels; the join table may say one twice. */
  readonly labels: readonly number[]
}

interface Note {
  /** What it says, which may be nothing. */
  readonly text: string | null
  readonly stars: number | null
  /** Filters over relations see it, and `any`, `none` and `count` do not. */
  readonly hidden: boolean
  /** The number of the label that it has, if any. */
  readonly label: number | null
}

const random = new Random(seed)
const NUMBERS = [-2, 0, 1, 2, 3]
const TITLES = ['', 'a', 'B', 'a b', 'a"b', "a'b", 'a\\b', 'a,b', 'f(x)', '100%', 'a_b', '=', 'ä😀', 'null', ' a ']
const WORDS = ['x', 'y', 'z']
const NAMES = ['Ada', 'Ben', 'O’Neil (jr.)']
const DAYS = ['2023-12-31', '2024-01-01', '2024-01-31', '2024-02-29', '0044-03-15']

/** The names of labels, by their numbers. */
const LABELS = ['p', 'q', null, 'p']

const orNull = <Value>(values: readonly Value[]): Value | null => (random.chance(0.35) ? null : random.pick(values))

const rows: readonly Row[] = Array.from({ length: ROWS }, (_, index) => ({
  id: index + 1,
  n: orNull(NUMBERS),
  price: orNull(NUMBERS.map((one) => one / 4)),
  title: orNull(TITLES),
  flag: orNull([true, false]),
  day: orNull(DAYS),
  tags: random.chance(0.3) ? null : random.some(WORDS),
  colour: orNull(['red', 'blue', '7']),
  ages: random.chance(0.2) ? null : randomRange(random, 'whole'),
  costs: random.chance(0.2) ? null : randomRange(random, 'decimal'),
  author: orNull(NAMES),
  notes: Array.from({ length: random.below(4) }, () => ({
    text: orNull(WORDS),
    stars: orNull(NUMBERS),
    hidden: random.chance(0.2),
    label: orNull(LABELS.map((_, at) => at)),
  })),
  labels: Array.from({ length: random.below(4) }, () => random.below(LABELS.length)),
}))

/** A group and what it means. */
interface Tree<Of = Row> {
  readonly text: string
  holds(row: Of): boolean
}

type Meaning<Value> = readonly [suffix: string, text: string, holds: (value: Value | null) => boolean]

function equality<Value>(values: readonly Value[], write: (value: Value) => string): Meaning<Value>[] {
  const one = random.pick(values)
  const several = random.some(values)
  const list = several.map(write).join()
  return [
    ['', write(one), (value) => value === one],
    ['__exact', write(one), (value) => value === one],
    ['__ne', write(one), (value) => value !== one],
    ['__in', list, (value) => value !== null && several.includes(value)],
    ['__nin', list, (value) => value === null || !several.includes(value)],
    ['__isnull', 'true', (value) => value === null],
    ['__isnull', 'false', (value) => value !== null],
  ]
}

function order(values: readonly number[], write: (value: number) => string): Meaning<number>[] {
  const [one, other] = [random.pick(values), random.pick(values)]
  return [
    ['__gt', write(one), (value) => value !== null && value > one],
    ['__gte', write(one), (value) => value !== null && value >= one],
    ['__lt', write(one), (value) => value !== null && value < one],
    ['__lte', write(one), (value) => value !== null && value <= one],
    ['__range', `${write(one)},${write(other)}`, (value) => value !== null && value >= one && value <= other],
  ]
}

function ofText(values: readonly string[]): Meaning<string>[] {
  const text = random.pick(values)
  // no half of a character
  const part = Array.from(text)
    .slice(0, 1 + random.below(3))
    .join('')
  const lower = part.toLowerCase()
  return [
    ...equality(
      values.filter((value) => !value.includes(',') && value !== ''),
      (value) => value,
    ),
    ['', text, (value) => value === text],
    ['__ne', text, (value) => value !== text],
    ['__contains', part, (value) => value?.includes(part) === true],
    ['__icontains', part, (value) => value?.toLowerCase().includes(lower) === true],
    ['__startswith', part, (value) => value?.startsWith(part) === true],
    ['__iendswith', part, (value) => value?.toLowerCase().endsWith(lower) === true],
  ]
}

function ofList(): Meaning<readonly string[]>[] {
  const asked = random.some([...WORDS, 'w'])
  const text = asked.join()
  return [
    ['__contains', text, (list) => list !== null && asked.every((one) => list.includes(one))],
    ['__overlap', text, (list) => list?.some((one) => asked.includes(one)) === true],
    ['__contained_by', text, (list) => list?.every((one) => asked.includes(one)) === true],
    ['__isnull', 'true', (list) => list === null],
  ]
}

function ofDay(): Meaning<string>[] {
  const [year, month, day] = random.pick(DAYS).split('-').map(Number) as [number, number, number]
  const part = (index: number, wanted: number) => (value: string | null) =>
    value !== null && Number(value.split('-')[index]) === wanted
  return [
    ['__year', String(year), part(0, year)],
    ['__month', String(month), part(1, month)],
    ['__day', String(day), part(2, day)],
    ...equality(DAYS, (value) => value),
  ]
}

/** Of many related objects: one must meet it; `ne`, `nin` and `isnull=true` hold where none does the opposite. */
function ofMany(): Meaning<readonly (string | null)[]>[] {
  return ofText(WORDS).map(([suffix, text, holds]) => {
    const isOpposite = suffix === '__ne' || suffix === '__nin' || (suffix === '__isnull' && text === 'true')
    return [
      suffix,
      text,
      (notes) => (isOpposite ? (notes ?? []).every((note) => holds(note)) : (notes ?? []).some((note) => holds(note))),
    ]
  })
}

function of<Of, Value>(name: string, meanings: readonly Meaning<Value>[], value: (row: Of) => Value | null): Tree<Of> {
  const [suffix, text, holds] = random.pick(meanings)
  return { text: `${name}${suffix}=${written(text)}`, holds: (row) => holds(value(row)) }
}

const number = (value: number) => String(value)

function leaf(): Tree {
  const leaves: readonly (() => Tree)[] = [
    () => of('n', [...equality(NUMBERS, number), ...order(NUMBERS, number)], (row) => row.n),
    () => of('price', order(NUMBERS, (value) => (value / 4).toFixed(2)).map(quarter), (row) => row.price),
    () => of('title', ofText(TITLES), (row) => row.title),
    () => of('flag', equality([true, false], String), (row) => row.flag),
    () => of('day', ofDay(), (row) => row.day),
    () => of('tags', ofList(), (row) => row.tags),
    () => of('ages', rangeMeanings(random, 'whole'), (row) => row.ages),
    () => of('costs', rangeMeanings(random, 'decimal'), (row) => row.costs),
    () => of('meta__colour', ofText(['red', 'blue', '7', 'RED']), (row) => row.colour),
    () => of('author__name', ofText(NAMES), (row) => row.author),
    () => of('notes__text', ofMany(), (row) => row.notes.map(({ text }) => text)),
    () => counted('notes', (row) => notesOf(row).length),
    () => counted('labels', (row) => labelsOf(row).length),
    () => asked('notes', notesOf),
    () => asked('labels', labelsOf),
  ]
  return random.pick(leaves)()
}

const notesOf = ({ notes }: Row) => notes.filter(({ hidden }) => !hidden)
const labelsOf = ({ labels }: Row) => [...new Set(labels)]
const labelOf = ({ label }: Note) => (label === null ? [] : [label])

function leafOfNote(): Tree<Note> {
  const leaves: readonly (() => Tree<Note>)[] = [
    () => of('text', ofText(WORDS), (note) => note.text),
    () => of('stars', [...equality(NUMBERS, number), ...order(NUMBERS, number)], (note) => note.stars),
    () => asked('label', labelOf),
    () => counted('label', (note) => labelOf(note).length),
  ]
  return random.pick(leaves)()
}

function leafOfLabel(): Tree<number> {
  return of('name', ofText(['p', 'q', 'P']), (label) => LABELS[label] ?? null)
}

/** How many related objects there are. */
function counted<Of>(relation: string, count: (row: Of) => number): Tree<Of> {
  const wanted = random.below(4)
  const [suffix, holds] = random.pick<readonly [string, (many: number) => boolean]>([
    ['', (many) => many === wanted],
    ['__eq', (many) => many === wanted],
    ['__ne', (many) => many !== wanted],
    ['__gt', (many) => many > wanted],
    ['__gte', (many) => many >= wanted],
    ['__lt', (many) => many < wanted],
    ['__lte', (many) => many <= wanted],
  ])
  return { text: `count(${relation})${suffix}=${wanted}`, holds: (row) => holds(count(row)) }
}

/** That there is a related object, or none. */
function asked<Of>(relation: string, related: (row: Of) => readonly unknown[]): Tree<Of> {
  const isNone = random.chance(0.5)
  return { text: `${isNone ? 'none' : 'any'}(${relation})`, holds: (row) => related(row).length > 0 !== isNone }
}

/** That there is a related object, or none, for which a tree holds. */
function related<Of, Related>(relation: string, of: (row: Of) => readonly Related[], inner: Tree<Related>): Tree<Of> {
  const isNone = random.chance(0.4)
  return {
    text: `${isNone ? 'none' : 'any'}(${relation},${inner.text})`,
    holds: (row) => of(row).some((one) => inner.holds(one)) !== isNone,
  }
}

function endOfNote(depth: number): Tree<Note> {
  if (random.chance(0.8)) return leafOfNote()
  return related('label', labelOf, tree(depth - 1, leafOfLabel, leafOfLabel))
}

function end(depth: number): Tree {
  if (random.chance(0.5)) return leaf()
  if (random.chance(0.3)) return related('labels', labelsOf, tree(depth - 1, leafOfLabel, leafOfLabel))
  return related('notes', notesOf, tree(depth - 1, leafOfNote, endOfNote))
}

function quarter([suffix, text, holds]: Meaning<number>): Meaning<number> {
  return [suffix, text, (value) => holds(value === null ? null : value * 4)]
}

/** In quotation marks where it must be, or now and then. */
function written(value: string): string {
  if (!/[ "(),]/.test(value) && random.chance(0.6)) return value
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

/** A tree that ends in leaves, or in what may stand in the place of one where it is not too deep. */
function tree<Of>(depth: number, leaf: () => Tree<Of>, end: (depth: number) => Tree<Of>): Tree<Of> {
  if (depth === 0) return leaf()
  if (random.chance(0.25)) return end(depth)
  const kind = random.pick(['and', 'or', 'not'] as const)
  const parts = Array.from({ length: kind === 'not' ? 1 : 1 + random.below(3) }, () => tree(depth - 1, leaf, end))
  const space = () => ' '.repeat(random.chance(0.1) ? 1 + random.below(2) : 0)
  const text = `${kind}(${parts.map((part) => space() + part.text + space()).join()})`
  const holds = {
    and: (row: Of) => parts.every((part) => part.holds(row)),
    or: (row: Of) => parts.some((part) => part.holds(row)),
    not: (row: Of) => !parts[0]?.holds(row),
  }
  return { text, holds: holds[kind] }
}

const SCHEMA = `
  create table people (id int primary key, name text);
  create table books (id int primary key, n int, price numeric(6,2), title text, flag bool, day date, tags text[], meta jsonb,
    ages int4range, costs numrange,
    author_id int references people);
  create table labels (id int primary key, name text);
  create table notes (id serial primary key, book_id int not null references books, text text, stars int,
    hidden bool not null, label_id int references labels);
  create table books_labels (book_id int references books, label_id int references labels);`

class Person extends Model {
  static override tableName = 'people'
}
class Label extends Model {
  static override tableName = 'labels'
}
class BookNote extends Model {
  static override tableName = 'notes'
  static override relationMappings = () => ({
    label: {
      relation: Model.BelongsToOneRelation,
      modelClass: Label,
      join: { from: 'notes.label_id', to: 'labels.id' },
    },
  })
}
class Book extends Model {
  static override tableName = 'books'
  static override relationMappings = () => ({
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Person,
      join: { from: 'books.author_id', to: 'people.id' },
    },
    notes: { relation: Model.HasManyRelation, modelClass: BookNote, join: { from: 'books.id', to: 'notes.book_id' } },
    labels: {
      relation: Model.ManyToManyRelation,
      modelClass: Label,
      join: {
        from: 'books.id',
        through: { from: 'books_labels.book_id', to: 'books_labels.label_id' },
        to: 'labels.id',
      },
    },
  })
}
class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id']
}
class NoteSerializer extends ModelSerializer<BookNote> {
  static override model = BookNote
  static override fields = ['id']
}
class LabelSerializer extends ModelSerializer<Label> {
  static override model = Label
  static override fields = ['id']
}
class Labels extends ReadOnlyModelViewSet<Label> {
  static override model = Label
  static override serializerClass = LabelSerializer
  static override filtersetFields = ['name']
}
class Notes extends ReadOnlyModelViewSet<BookNote> {
  static override model = BookNote
  static override serializerClass = NoteSerializer
  static override filterBackends = [new FieldFilter({ groupParam: 'filter' })]
  static override filtersetFields = ['text', 'stars']
  static override filterRelations: FilterRelations = { label: Labels }
  override getQueryset() {
    return super.getQueryset().whereNot('hidden', true)
  }
}
class Books extends ReadOnlyModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override filterBackends = [new FieldFilter({ groupParam: 'filter' })]
  static override filtersetFields = [
    ...['n', 'price', 'title', 'flag', 'day', 'tags', 'ages', 'costs', 'meta__colour', 'author__name', 'notes__text'],
  ]
  static override filterRelations: FilterRelations = { notes: Notes, labels: Labels }
}
/** Lists that are read as instances. */
class Instances extends Books {
  override getQueryset() {
    return super.getQueryset().where('books.id', '>', 0)
  }
}

let database: TestDatabase
let client: Client

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  for (const model of [Person, BookNote, Label, Book]) model.knex(database.knex)
  await database.knex('labels').insert(LABELS.map((name, id) => ({ id, name })))
  for (const { notes, labels, author, colour, ...row } of rows) {
    const ranges = { ages: row.ages?.text ?? null, costs: row.costs?.text ?? null }
    // a missing name is one of a person, or no person at all
    const author_id = author === null && random.chance(0.5) ? null : row.id
    if (author_id !== null) await database.knex('people').insert({ id: row.id, name: author })
    const meta = colour === null ? random.pick([null, '{}', '{"colour":null}', '[1]', '"colour"']) : { colour }
    const text =
      typeof meta === 'string' || meta === null ? meta : JSON.stringify(colour === '7' ? { colour: 7 } : meta)
    await database.knex('books').insert({ ...row, ...ranges, author_id, meta: text })
    for (const { label, ...note } of notes) {
      await database.knex('notes').insert({ book_id: row.id, label_id: label, ...note })
    }
    for (const label of labels) await database.knex('books_labels').insert({ book_id: row.id, label_id: label })
  }
  const api = new APIRouter().register('books', Books, 'book').register('instances', Instances, 'instance')
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client?.close()
  await database?.drop()
})

it(`[C3] ${TREES} random groups show what they say`, { timeout: 60_000 + TREES * 50 }, async () => {
  const lengths = new Map<string, number>()
  let leaves = 0
  for (let turn = 0; turn < TREES; turn++) {
    const { text, holds } = tree(5, leaf, end)
    const count = text.match(/=|(?:any|none)\(\w+\)/g)?.length ?? 0
    if (count > 40 || text.length > 3_000) continue
    leaves += count
    const path = turn % 4 === 0 ? 'instances' : 'books'
    const { status, json } = await client.get(`/${path}?filter=${encodeURIComponent(text)}`)
    const expected = rows.filter(holds).map(({ id }) => id)
    const found = status === 200 ? json.map(({ id }: { id: number }) => id).sort((a: number, b: number) => a - b) : json
    expect({ seed, text, found }).toEqual({ seed, text, found: expected })
    const kind = expected.length === 0 ? 'none' : expected.length === ROWS ? 'all' : 'some'
    lengths.set(kind, (lengths.get(kind) ?? 0) + 1)
  }
  report('filter groups', { seed, groups: TREES, conditions: leaves, ...Object.fromEntries(lengths) })
  // the rows tell groups apart
  expect(lengths.get('some')).toBeGreaterThan(TREES / 3)
})
