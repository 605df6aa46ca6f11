import knex, { type Knex } from 'knex'
import { knexSnakeCaseMappers, Model, snakeCaseMappers } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PathStart } from '../../../lib/filters/field-path.js'
import { addCondition, type BaseFilter, type FilterSettings } from '../../../lib/filters/filter.js'
import { ConfigurationError, FieldFilter } from '../../../lib/index.js'
import type { ModelClass } from '../../../lib/models/objection.js'
import { conditionKey } from '../../../lib/queryset/condition-key.js'
import { describeModel, prepareModels } from '../../../lib/tools/index.js'
import type { TestDatabase } from '../../support/database.js'
import { size } from '../../trust/support/size.js'
import { Book, COLUMNS, Country, createBooks, Genre, hostileValues, LOOKUPS, Person } from './books.js'

let database: TestDatabase
beforeAll(async () => {
  database = await createBooks()
  await prepareModels([Book, Person, Country, Genre])
})
afterAll(() => database.drop())

const filter = new FieldFilter()

function viewOf(
  filtersetFields: readonly string[],
  model: ModelClass = Book,
  backends: readonly BaseFilter[] = [filter],
) {
  const view: FilterSettings = {
    name: 'BookViewSet',
    model: describeModel(model),
    filtersetFields,
    searchFields: [],
    orderingFields: [],
    searchConfig: 'english',
    searchType: 'websearch',
    searchParam: 'search',
    backends,
  }
  return view
}

/** The SQL that a request's filters make, and what it binds. */
function compile(query: Record<string, string>, view: FilterSettings, model: ModelClass = Book) {
  const part = filter.read(query, view)
  if (!part) throw new Error('nothing is asked for')
  const builder = model.query().select('id')
  addCondition(builder, part)
  const key = part.where && conditionKey([part.where(PathStart.of(builder))])
  const { sql, bindings } = builder.toKnexQuery().toSQL().toNative()
  return { part, key, sql, bindings }
}

const related = [
  'author__name',
  'author__country__name',
  'author__boss__boss__name',
  'author__books__n',
  'genres__name',
]

describe('FieldFilter', () => {
  let all: FilterSettings
  beforeAll(() => {
    const others = ['isbn', 'code', 'address', 'lasted', 'bytes', 'place', 'author_id']
    all = viewOf([...Object.keys(COLUMNS), ...others, ...related])
  })

  it.each(LOOKUPS.flatMap((lookup) => Object.keys(COLUMNS).map((column) => [lookup, column] as const)))(
    'binds the values of %s on %s in the order it names them',
    (lookup, column) => {
      const [one, other] = COLUMNS[column as keyof typeof COLUMNS]
      const text = /in$|range/.test(lookup) ? `${one},${other}` : one
      const { key, sql, bindings } = compile({ [`${column}__${lookup}`]: text }, all)
      expect(bindings).toEqual(key?.values)
      expect(sql.match(/\$\d+/g)).toHaveLength(bindings.length)
    },
  )

  it.each(related)('binds the values of the related %s, in EXISTS', (name) => {
    const { key, sql, bindings } = compile({ [name]: '1', [`${name}__in`]: '1,2', [`${name}__isnull`]: 'true' }, all)
    expect(bindings).toEqual(key?.values)
    expect(sql).toMatch(/ where exists \(select 1 from .* and exists \(.* and not exists \(/)
  })

  it('[R3] sends a list as one array', () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => index)
    const { sql, bindings } = compile({ n__in: ids.join() }, all)
    expect(sql).toBe('select "id" from "books" where "books"."n" = any($1::integer[])')
    expect(bindings).toEqual([ids])
  })

  it('makes one text of the same filters in any order, whatever their values', () => {
    const [one, other] = [
      { n: '1', title__contains: 'a', n__isnull: 'true' },
      { title__contains: "b'", n__isnull: 'true', n: '2' },
    ].map((query) => compile(query, all))
    expect(one?.key?.text).toBe('|?? = ? and ?? like ? and ?? is null|books.n|books.title|books.n')
    expect([other?.key?.text, other?.sql]).toEqual([one?.key?.text, one?.sql])
    expect(compile({ n__isnull: 'false' }, all).key?.text).not.toBe(compile({ n__isnull: 'true' }, all).key?.text)
  })

  it(`[C3] puts no value into SQL: ${size(40, 200)} payloads, each lookup, ten column types, and related columns`, () => {
    const names = [...Object.keys(COLUMNS), 'author__name', 'genres__name']
    const plain = new Map<string, string>()
    let read = 0
    for (const { token, value } of hostileValues()) {
      for (const name of names) {
        for (const lookup of LOOKUPS) {
          const parameter = `${name}__${lookup}`
          const text = lookup === 'range' ? `${value.replaceAll(',', '')},b` : value
          let compiled: ReturnType<typeof compile>
          try {
            compiled = compile({ [parameter]: text }, all)
          } catch (error) {
            expect(error).toMatchObject({ status: 400, errors: { [parameter]: [expect.any(String)] } })
            continue
          }
          read++
          const { sql, key, bindings } = compiled
          expect(sql.includes(token) || key?.text.includes(token)).toBe(false)
          expect(bindings).toEqual(key?.values)
          expect(sql).toBe(plain.get(parameter) ?? sql)
          plain.set(parameter, sql)
        }
      }
    }
    expect(read).toBeGreaterThan(size(3_000, 15_000))
  }, 120_000)

  it.each([
    'title" or 1=1 --',
    '__proto__',
    'constructor',
    'toString__in',
    'n[gt]',
    'N',
    'n ',
    'books.n',
    'author.name',
    '',
  ])('[R1 C2] knows no parameter %j', (name) => {
    expect(filter.read({ [name]: 'x' }, all)).toBeNull()
  })

  it('finds the field of a long parameter', () => {
    expect(() => filter.read({ [`n${'__'.repeat(20_000)}`]: 'x' }, all)).toThrow('Validation failed')
    expect(filter.read({ [`x${'__'.repeat(20_000)}`]: 'x' }, all)).toBeNull()
  })

  it('offers isnull and containment where values cannot be compared, and their text where they have no order', () => {
    const view = viewOf(['meta', 'tags', 'place'])
    const names = filter.parameters(view).map(({ name }) => name)
    expect(names.filter((name) => !name.startsWith('place'))).toEqual([
      'meta__isnull',
      'tags__contains',
      'tags__overlap',
      'tags__contained_by',
      'tags__isnull',
    ])
    expect(names).toContain('place__contains')
    expect(names).not.toContain('place__gt')
    expect(() => filter.read({ meta: '{}' }, view)).toThrow('Validation failed')
    expect(filter.read({ meta__isnull: 'true' }, view)).not.toBeNull()
  })

  it('describes its parameters', () => {
    const parameters = new Map(filter.parameters(viewOf(['n', 'state'])).map(({ name, ...rest }) => [name, rest]))
    expect(parameters.size).toBe(36)
    const integer = { type: 'integer', format: 'int32' }
    expect(parameters.get('n')).toEqual({ description: 'n is this value.', schema: integer })
    expect(parameters.get('n__in')).toEqual({
      description: 'n is one of these values.',
      schema: { type: 'array', items: integer, maxItems: 1_000 },
      explode: false,
    })
    expect(parameters.get('n__range')).toMatchObject({ schema: { minItems: 2, maxItems: 2 }, explode: false })
    expect(parameters.get('n__isnull')?.schema).toEqual({ type: 'boolean' })
    expect(parameters.get('n__contains')?.schema).toEqual({ type: 'string', maxLength: 200 })
    expect(parameters.get('state')?.schema).toEqual({ type: 'string', enum: ['draft', 'open', 'done'] })
  })

  it('names every mistake in filtersetFields, and its fix', () => {
    const check = () =>
      filter.check(viewOf(['n', 'nope', 'author', 'author__nope', 'author__boss__n__x', 'byMeta__name']))
    expect(check).toThrow(ConfigurationError)
    expect(check).toThrow(
      [
        'BookViewSet: filtersetFields names "nope": Book has neither a column nor a relation "nope"; correct the name',
        'BookViewSet: filtersetFields names "author": "author" is a relation of Book; name a column behind it, such as author__id, or the foreign key',
        'BookViewSet: filtersetFields names "author__nope": Person has neither a column nor a relation "nope"; correct the name',
        'BookViewSet: filtersetFields names "author__boss__n__x": Person has neither a column nor a relation "n"; correct the name',
        'BookViewSet: filtersetFields leads through "byMeta" of Book, which is not joined by columns; override filterQueryset() for it',
      ].join('\n'),
    )
  })

  it('follows a path over 16 relations, also in a circle, and refuses a longer one', () => {
    expect(() => filter.check(viewOf([`author__${'boss__'.repeat(15)}name`]))).not.toThrow()
    expect(() => filter.check(viewOf([`author__${'boss__'.repeat(16)}name`]))).toThrow(
      /^BookViewSet: filtersetFields names "author__(boss__){16}name": a path leads over 16 relations at most/,
    )
  })

  it('keeps no text of a list whose relation has a query of its own', () => {
    const view = viewOf(['shownGenres__name', 'mainGenres__name'])
    for (const name of view.filtersetFields) {
      const { key, sql } = compile({ [name]: 'a' }, view)
      expect(key).toBeUndefined()
      expect(sql).toMatch(/(?:from|join|lateral) \(select "\w+"\.\* from "\w+" where "\w+" = \$1\) as/)
    }
  })

  it('takes the name that the query gives its table', () => {
    const builder = Book.query().alias('b')
    addCondition(builder, filter.read({ n: '1', genres__name: 'a' }, all) ?? {})
    expect(builder.toKnexQuery().toQuery()).toMatch(/where "b"\."n" = 1 and exists .* where "b"\."id" = /)
  })
})

describe('names that are mapped', () => {
  let mapped: Knex
  beforeAll(async () => {
    await database.knex.raw(`
      create table shelf_rows (id int primary key, shelf_code text, above_id int references shelf_rows);
      insert into shelf_rows values (1, 'a__b', null), (2, 'c', 1);
    `)
    mapped = knex({ client: 'pg', connection: { ...database.connection } as never, ...knexSnakeCaseMappers() })
  })
  afterAll(() => mapped.destroy())

  it.each(['model', 'knex'])('works with the snake-case mappers of the %s', async (level) => {
    class ShelfRow extends Model {
      static override tableName = level === 'model' ? 'shelf_rows' : 'shelfRows'
      static override columnNameMappers = level === 'model' ? snakeCaseMappers() : (undefined as never)
      static override relationMappings = () => ({
        above: {
          relation: Model.BelongsToOneRelation,
          modelClass: ShelfRow,
          join:
            level === 'model'
              ? { from: 'shelf_rows.above_id', to: 'shelf_rows.id' }
              : { from: 'shelfRows.aboveId', to: 'shelfRows.id' },
        },
      })
    }
    ShelfRow.knex(level === 'model' ? database.knex : mapped)
    await prepareModels([ShelfRow])
    const view = viewOf(['shelfCode', 'above__shelfCode'], ShelfRow)
    for (const [query, id] of [
      [{ shelfCode: 'c' }, 2],
      [{ above__shelfCode__startswith: 'a__' }, 2],
      [{ above__shelfCode__isnull: 'true' }, 1],
    ] as const) {
      const builder = ShelfRow.query()
      addCondition(builder, filter.read(query, view) ?? {})
      expect(await builder).toMatchObject([{ id }])
    }
  })
})
