/** Numbers in JSON columns keep the digits that JavaScript's numbers lack, on every way in and out. */
import fc from 'fast-check'
import Koa from 'koa'
import {
  APIRouter,
  action,
  BulkModelViewSet,
  CSVRenderer,
  CursorPagination,
  configure,
  JSONField,
  JSONRenderer,
  ModelSerializer,
  NDJSONRenderer,
  NestedSerializer,
  PageNumberPagination,
  ReadOnlyField,
  ReadOnlyModelViewSet,
  SerializerMethodField,
  ServerCursorPagination,
  StreamMixin,
} from 'koa-viewsets'
import { Model, type Pojo } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serve, type TestRequest, type TestResponse, type TestServer } from '../support/server.js'
import { seed, size } from '../trust/support/size.js'

const SCHEMA = `
  create table shelves (id serial primary key, name text);
  create table docs (
    id serial primary key, shelf_id int references shelves, title text, tree jsonb, doc json, trees jsonb[], docs json[],
    price numeric, prices numeric[], pages int, ratio float8
  );
  insert into shelves (name) values ('one');`

const LARGE = '9007199254740993'
const LONG = '3.14159265358979323846'
const TREE =
  `{"n":${LARGE},"long":${LONG},"fraction":12345678901234567890.5,"tiny":-1.25e-400,"in":[[${LARGE}],{"a":${LARGE}}],` +
  `"text":"1234567890123456789","toJSON":${LARGE},"same":0.30000000000000004,"huge":1e400}`
/** JSON of any kind: a root may be a number itself. */
const VALUES = [TREE, `[${LARGE}, 1, "${LARGE}"]`, LARGE, LONG, `{"${LARGE}":{"":${LARGE}}}`]

class Shelf extends Model {
  static override tableName = 'shelves'
  static override relationMappings = () => ({
    docs: { relation: Model.HasManyRelation, modelClass: Doc, join: { from: 'shelves.id', to: 'docs.shelf_id' } },
  })
}
class Doc extends Model {
  static override tableName = 'docs'
  declare id: number
  declare tree: Record<string, unknown>
  get copy() {
    return { ...this.tree, title: 'copy' }
  }
  static override relationMappings = () => ({
    shelf: {
      relation: Model.BelongsToOneRelation,
      modelClass: Shelf,
      join: { from: 'docs.shelf_id', to: 'shelves.id' },
    },
  })
}
/** Read as instances. */
class Found extends Doc {
  override $afterFind() {}
}
/** Objection copies what it writes. */
class Formatted extends Doc {
  override $formatDatabaseJson(json: Pojo) {
    return super.$formatDatabaseJson({ ...json })
  }
}
/** Objection writes its JSON. */
class Typed extends Found {
  static override jsonSchema = {
    type: 'object',
    properties: {
      tree: { anyOf: [{ type: 'object' }, { type: 'array' }, { type: 'number' }], default: {} },
      doc: { anyOf: [{ type: 'object' }, { type: 'array' }, { type: 'number' }] },
      title: { type: 'string' },
    },
  }
}

const FIELDS = ['id', 'shelf_id', 'title', 'tree', 'doc', 'trees', 'docs']

function serializerOf(of: typeof Model, name: string) {
  return class extends ModelSerializer {
    static override schemaName = name
    static override model = of
    static override fields = FIELDS
  }
}

function viewOf(of: typeof Model, name: string) {
  class Docs extends StreamMixin(BulkModelViewSet) {
    static override model = of
    static override serializerClass = serializerOf(of, name)
    static override rendererClasses = [JSONRenderer, CSVRenderer, NDJSONRenderer]

    @action({ methods: ['GET'], detail: true })
    async read() {
      return { here: [this.getSerializer({ obj: await this.getObject() }).data] }
    }

    @action({ methods: ['POST'], detail: true })
    async mark() {
      const doc = (await this.getObjectToWrite()) as Doc
      const serializer = this.getSerializer({ obj: doc, inputData: { title: 'marked' }, partial: true })
      await serializer.isValid({ raiseException: true })
      await serializer.save({ tree: { ...doc.tree, marked: true } })
      return serializer.data
    }
  }
  return Docs
}

class PlainDocs extends viewOf(Doc, 'Plain') {}
class FoundDocs extends viewOf(Found, 'Found') {}
class FormattedDocs extends viewOf(Formatted, 'Formatted') {}
class TypedDocs extends viewOf(Typed, 'Typed') {}
class NativeDocs extends viewOf(Doc, 'Native') {
  static override useNativeJson = true
}
class PagedDocs extends viewOf(Doc, 'Paged') {
  static override paginationClass = PageNumberPagination
}
class CursorDocs extends viewOf(Found, 'ByCursor') {
  static override paginationClass = CursorPagination
}
class HeldDocs extends viewOf(Found, 'Held') {
  static override paginationClass = ServerCursorPagination
}
class StreamedDocs extends StreamMixin(ReadOnlyModelViewSet) {
  static override model = Found
  static override serializerClass = serializerOf(Found, 'Streamed')
  static override rendererClasses = [JSONRenderer, CSVRenderer, NDJSONRenderer]
}

class ShelfSerializer extends ModelSerializer<Shelf> {
  static override model = Shelf
  static override fields = ['id', 'docs']
  static override declaredFields = {
    docs: new NestedSerializer(serializerOf(Doc, 'OfShelf'), { many: true, readOnly: true }),
  }
}
class Shelves extends BulkModelViewSet<Shelf> {
  static override model = Shelf
  static override serializerClass = ShelfSerializer
}

class Priced extends BulkModelViewSet {
  static override model = Doc
  static override serializerClass = class extends ModelSerializer {
    static override model = Doc
    static override fields = ['shelf_id', 'price', 'prices', 'pages', 'ratio']
  }
}

/** The tree by other ways than its own field. */
class ComputedSerializer extends ModelSerializer<Doc> {
  static override model = Doc
  static override fields = ['id']
  static override declaredFields = {
    shown: new ReadOnlyField({ source: 'tree' }),
    large: new ReadOnlyField({ source: 'tree.n' }),
    inner: new JSONField({ source: 'tree.in', readOnly: true }),
    copied: new JSONField({ source: 'copy', readOnly: true }),
    computed: new SerializerMethodField(),
  }

  getComputed(doc: Doc): { tree: unknown } {
    return { tree: doc.tree }
  }
}
class Computed extends BulkModelViewSet<Doc> {
  static override model = Doc
  static override serializerClass = ComputedSerializer
}

let database: TestDatabase
let server: TestServer

beforeAll(async () => {
  configure({ secretKey: 'json numbers, json numbers' })
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
  const api = new APIRouter()
  const views = {
    Priced,
    PlainDocs,
    FoundDocs,
    FormattedDocs,
    TypedDocs,
    NativeDocs,
    PagedDocs,
    CursorDocs,
    HeldDocs,
    StreamedDocs,
    Computed,
  }
  for (const [name, view] of Object.entries(views)) api.register(name, view, name)
  api.register('shelves', Shelves)
  await api.prepare()
  server = await serve(new Koa().use(api.routes()))
})

afterAll(async () => {
  await server.close()
  await database.drop()
})

beforeEach(() => database.knex.raw('truncate docs restart identity'))

const store = (json: string) =>
  database.knex.raw(
    `insert into docs (shelf_id, title, tree, doc, trees, docs)
     values (1, 'a', ?::jsonb, ?::json, array[?::jsonb, null], array[array[?::json], array['1'::json]])`,
    [json, json, json, json],
  )

const get = (path: string, headers: TestRequest['headers'] = {}) => server.send({ path, headers })

const send = (method: string, path: string, body: string, type = 'application/json') =>
  server.send({ method, path, body, headers: { 'Content-Type': type } })

/** All numbers in a text of JSON that are long enough to lose digits; those of a jsonb come without exponent. */
function numbersIn(text: string): string[] {
  const found = text.match(/-?\d[\d.]{15,}(?:[eE][+-]?\d+)?|-?\d[\d.]*[eE][+-]?\d{3}/g) ?? []
  return found.map(canonical).sort()
}

function canonical(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number) ?? []
  const digits = `${whole}${fraction}`.replace(/0+$/, '')
  const zeros = whole.length + fraction.length - digits.length
  return `${sign}${digits.replace(/^0+/, '')}e${Number(exponent) - fraction.length + zeros}`
}

function expectDigits({ status, text }: TestResponse, json: string, times: number) {
  expect([status, text]).toEqual([expect.toSatisfy((code: number) => code < 300), expect.any(String)])
  const wanted = Array.from({ length: times }, () => numbersIn(json))
    .flat()
    .sort()
  expect(numbersIn(text)).toEqual(wanted)
}

describe('reads', () => {
  const paths = [
    '/PlainDocs',
    '/PlainDocs/1',
    '/PlainDocs/1/read',
    '/PlainDocs?fields=tree,doc,trees,docs',
    '/PlainDocs.ndjson',
    '/PlainDocs/1.ndjson',
    '/FoundDocs',
    '/FoundDocs/1',
    '/FoundDocs/1/read',
    '/FoundDocs.ndjson',
    '/FoundDocs/1.ndjson',
    '/TypedDocs',
    '/TypedDocs/1',
    '/NativeDocs',
    '/NativeDocs/1',
    '/NativeDocs.ndjson',
    '/PagedDocs',
    '/PagedDocs.ndjson',
    '/CursorDocs',
    '/HeldDocs',
    '/StreamedDocs',
    '/StreamedDocs.ndjson',
    '/shelves',
    '/shelves/1',
  ]
  const spreadsheets = [
    '/PlainDocs.csv',
    '/PlainDocs/1.csv',
    '/FoundDocs.csv',
    '/FoundDocs/1.csv',
    '/NativeDocs.csv',
    '/PagedDocs.csv',
    '/StreamedDocs.csv',
  ]

  it.each(VALUES)('shows all digits of %s on every path', async (json) => {
    await store(json)
    for (const path of [...paths, ...spreadsheets]) {
      const answer = await get(path)
      expectDigits({ ...answer, text: answer.text.replaceAll('""', '"') }, json, 4)
    }
  })

  it('shows them in fields that reach into a tree, copy it, or compute with it', async () => {
    const tree = `{"n":${LARGE},"in":[[${LARGE}],{"a":${LONG}}]}`
    await store(tree)
    const { text } = await get('/Computed/1')
    expect(text.replaceAll(/\s/g, '')).toBe(
      `{"id":1,"shown":${tree},"large":${LARGE},"inner":[[${LARGE}],{"a":${LONG}}],` +
        `"copied":${tree.slice(0, -1)},"title":"copy"},"computed":{"tree":${tree}}}`,
    )
  })

  it('leaves the application numbers', async () => {
    await store(TREE)
    class Looking extends ComputedSerializer {
      override getComputed({ tree }: Doc) {
        return { tree: JSON.stringify({ n: tree['n'], kinds: Object.values(tree).map((value) => typeof value) }) }
      }
    }
    const doc = await new FoundDocs().getQueryset().first()
    expect(new Looking({ obj: doc as unknown as Doc }).data.computed.tree).toContain('"n":9007199254740992')
  })
})

describe('writes', () => {
  const bodyOf = (json: string) => `{"title":"b","tree":${json},"doc":${json},"trees":[${json},null],"docs":[${json}]}`

  it.each(VALUES)('keeps all digits of %s whatever is written', async (json) => {
    await store('{}')
    for (const view of ['PlainDocs', 'FoundDocs', 'FormattedDocs', 'TypedDocs', 'NativeDocs']) {
      if (view === 'TypedDocs' && json === TREE) continue
      const bulk = bodyOf(json).replace('{', '{"id":1,')
      const answers = [
        await send('POST', `/${view}`, bodyOf(json)),
        await send('PUT', `/${view}/1`, bodyOf(json)),
        await send('PATCH', `/${view}/1`, bodyOf(json)),
        await send('PATCH', `/${view}/1?fields=tree,doc,trees,docs`, bodyOf(json)),
        await send('POST', `/${view}/bulk`, `[${bodyOf(json)}]`),
        await send('PATCH', `/${view}/bulk`, `[${bulk}]`),
      ]
      for (const answer of answers) expectDigits(answer, json, 4)
      const { rows } = await database.knex.raw(
        'select concat_ws(chr(10), tree, doc, trees[1], docs[1]) as stored from docs',
      )
      for (const { stored } of rows) expectDigits({ status: 200, text: stored } as TestResponse, json, 4)
    }
  })

  it('takes back what it shows', async () => {
    for (const json of VALUES) await store(json)
    const before = await database.knex.raw('select tree::text, doc::text, trees::text from docs order by id')
    for (const view of ['PlainDocs', 'FoundDocs', 'FormattedDocs', 'NativeDocs']) {
      for (let id = 1; id <= VALUES.length; id++) {
        const { text } = await get(`/${view}/${id}?fields=shelf_id,title,tree,doc,trees`)
        expect(await send('PUT', `/${view}/${id}`, text)).toMatchObject({ status: 200 })
      }
    }
    const after = await database.knex.raw('select tree::text, doc::text, trees::text from docs order by id')
    const numbers = ({ rows }: { rows: object[] }) => rows.map((row) => numbersIn(Object.values(row).join('\n')))
    expect(numbers(after)).toEqual(numbers(before))
  })

  it('keeps the digits of a tree that code has read, changed and saved', async () => {
    await store(TREE)
    for (const view of ['PlainDocs', 'FoundDocs']) {
      const { status } = await server.send({ method: 'POST', path: `/${view}/1/mark` })
      expect(status).toBe(200)
      const { rows } = await database.knex.raw('select tree::text as tree from docs')
      expect(rows[0].tree).toContain('"marked": true')
      expectDigits({ status: 200, text: rows[0].tree } as TestResponse, TREE, 1)
    }
  })

  it('reads them from forms', async () => {
    const form = new URLSearchParams({ tree: TREE, doc: LARGE }).toString()
    const { text, status } = await send('POST', '/PlainDocs', form, 'application/x-www-form-urlencoded')
    expectDigits({ text, status } as TestResponse, `${TREE},${LARGE}`, 1)
  })

  it.each([
    ['price', '0.1000000000000000055', 'Send a number of more than 15 digits as a string.'],
    ['pages', '1.00000000000000000001', 'A valid integer is required.'],
    ['shelf_id', '1.00000000000000000001', 'A valid integer is required.'],
    ['ratio', '1e400', 'A valid number is required.'],
    ['prices', '[1, 0.1000000000000000055]', { 1: ['Send a number of more than 15 digits as a string.'] }],
  ])('does not round the %s that a client sends as %s', async (field, json, message) => {
    const { json: answer } = await send('POST', '/Priced', `{"${field}":${json}}`)
    expect(answer).toMatchObject({
      status: 400,
      errors: { [field]: typeof message === 'string' ? [message] : message },
    })
  })

  it.each([
    ['POST', 'PlainDocs'],
    ['PUT', 'PlainDocs'],
    ['PATCH', 'PlainDocs'],
    ['POST', 'TypedDocs'],
  ])('takes none for an object: %s of %s', async (method, prefix) => {
    const { json: doc } = await send('POST', `/${prefix}`, '{"title":"stays"}')
    const { json } = await send(method, method === 'POST' ? `/${prefix}` : `/${prefix}/${doc.id}`, LARGE)
    expect(json).toMatchObject({ status: 400, errors: { non_field_errors: ['Expected an object.'] } })
  })

  it('takes for a column of such numbers what it gives back', async () => {
    const { text } = await send('POST', '/Priced', '{"ratio":3.141592653589793,"pages":1.0}')
    expect(text).toContain('"pages":1,"ratio":3.141592653589793')
    expect((await send('POST', '/Priced', `{"ratio":${LONG},"pages":1.0}`)).json.errors).toHaveProperty('ratio')
  })

  it('takes the last of names that stand twice', async () => {
    const { text } = await send(
      'POST',
      '/PlainDocs',
      `{"tree":{"a":${LARGE},"a":1,"b":{"n":${LARGE}},"b":{"n":2},"c":1,"c":${LARGE}}}`,
    )
    expect(text).toContain(`"tree":{"a": 1, "b": {"n": 2}, "c": ${LARGE}}`)
  })

  it.each([
    ['{"a":[1,{"b":1e1001}]}', 'The number at "a.1.b" is too large or too precise.'],
    ['[1e-100000]', 'The number at "0" is too large or too precise.'],
    ['1e999999999999', 'The number is too large or too precise.'],
    [`{"n":0.${'1'.repeat(16_384)}}`, 'The number at "n" is too large or too precise.'],
    [`[[${'1'.repeat(131_073)}]]`, 'The number at "0.0" is too large or too precise.'],
  ])('refuses what PostgreSQL could not keep, and names the place', async (json, message) => {
    const refused = await send('POST', '/PlainDocs', `{"tree":${json},"trees":[${json}]}`)
    expect(refused.json).toMatchObject({ status: 400, errors: { tree: [message], trees: { 0: [message] } } })
    expect(await database.knex('docs')).toEqual([])
  })
})

describe('the spelling of JSON', () => {
  /** Stand for numbers of this spelling. */
  const spellings = ['1.0', '12345678901234567890.10', '0.0000000001', '100']
  const scalar = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.integer(),
    fc.constantFrom(...spellings),
    fc.boolean(),
    fc.constant(null),
  )
  const textOf = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.map(textOf).join(' ,')}]`
    if (value instanceof Object)
      return `{${Object.entries(value)
        .map(([name, item]) => `${JSON.stringify(name)}:  ${textOf(item)}`)
        .join(',')}}`
    return typeof value === 'string' && spellings.includes(value) ? value : JSON.stringify(value)
  }
  const name = fc
    .oneof(fc.string({ unit: 'grapheme', maxLength: 4 }), fc.constantFrom('10', '9', 'b', 'toString'))
    .filter((key) => key !== '__proto__')
  const { value: tree } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      scalar,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3 }),
    ),
  }))

  it('is one for rows, instances and answers to writes, and so are entity tags', async () => {
    await database.knex.raw(`
      create table texts (id serial primary key, title text, tree jsonb, doc json, version int not null default 0);
      create function counted() returns trigger language plpgsql as $$ begin new.version := old.version + 1; return new; end $$;
      create trigger counted before update on texts for each row execute function counted()`)
    class Text extends Model {
      static override tableName = 'texts'
    }
    class Spelled extends ModelSerializer {
      static override model = Text
      static override fields = ['id', 'title', 'tree', 'doc']
    }
    class WithMethod extends Spelled {
      static override fields = ['id', 'title', 'tree', 'doc', 'label']
      static override declaredFields = { label: new SerializerMethodField() }
      getLabel() {
        return 'x'
      }
    }
    const viewOf = (serializerClass: unknown, more: object = {}) =>
      Object.assign(class View extends BulkModelViewSet {}, {
        model: Text,
        serializerClass,
        concurrency: 'version',
        ...more,
      } as object) as typeof BulkModelViewSet
    const api = new APIRouter()
      .register('rows', viewOf(Spelled), 'rows')
      .register('native', viewOf(Spelled, { useNativeJson: true }), 'native')
      .register('instances', viewOf(WithMethod), 'instances')
    await api.prepare()
    const own = await serve(new Koa().use(api.routes()))
    onTestFinished(() => own.close())
    const send = (method: string, path: string, body?: object) =>
      own.send({
        method,
        path,
        headers: { 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
    await fc.assert(
      fc.asyncProperty(tree, tree, async (first, second) => {
        const [row] = await database
          .knex('docs')
          .insert({ tree: textOf(first).replaceAll('\\u0000', ''), doc: textOf(second) })
          .returning('id')
        const { id } = row
        const shown = []
        for (const path of ['rows', 'native', 'instances'].map((route) => `/${route}/${id}`)) {
          const found = await send('GET', path)
          const changed = await send('PATCH', path, { title: path })
          const again = await send('GET', path)
          expect(changed.text).toBe(again.text)
          expect(changed.headers['etag']).toBe(again.headers['etag'])
          shown.push(
            ...[found, again].map(({ text }) => text.slice(text.indexOf('"tree"')).replace(',"label":"x"', '')),
          )
        }
        expect(new Set(shown).size).toBe(1)
        await send('DELETE', `/rows/${id}`)
      }),
      { numRuns: size(8, 3000), seed },
    )
  })
})
