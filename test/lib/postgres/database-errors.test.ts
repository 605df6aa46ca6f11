import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import knex, { type Knex } from 'knex'
import { Model } from 'objection'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ConfigurationError, NotFound } from '../../../lib/kernel/errors.js'
import { isInDoubt, toApiError } from '../../../lib/postgres/database-errors.js'
import { type ConstraintSubject, requestSubject } from '../../../lib/postgres/failed-statement.js'
import { rememberNames } from '../../../lib/postgres/prepared-names.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { takesPool } from '../../support/installed.js'
import { runsAsRole } from '../../support/roles.js'

const schema = `
  create extension hstore;
  create extension ltree;
  create table authors (id int primary key);
  create table books (
    id int primary key,
    title text not null,
    isbn text unique,
    n int2 constraint n_positive check (n > 0),
    tenant int,
    slug text,
    volume int,
    author_id int references authors deferrable,
    secret text not null default gen_random_uuid() unique,
    constraint sum_positive check (n + volume > 0),
    unique (tenant, slug),
    unique (slug, volume),
    unique (tenant, author_id, n),
    exclude (volume with =)
  );
  create unique index on books (lower(title));
  insert into authors values (1);
  insert into books values (1, 'One', '111', 1, 1, 'one', 1, 1, 'hush');
`

/** What the catalogue says. */
const constraints: Record<string, string[]> = {
  books_isbn_key: ['isbn'],
  books_secret_key: ['secret'],
  n_positive: ['n'],
  sum_positive: ['n', 'volume'],
  books_tenant_slug_key: ['tenant', 'slug'],
  books_slug_volume_key: ['slug', 'volume'],
  books_volume_excl: ['volume'],
  books_tenant_author_id_n_key: ['tenant', 'author_id', 'n'],
  books_author_id_fkey: ['author_id'],
  books_lower_idx: [],
}
/** The client's fields by column; `tenant` and `secret` have none. */
const fields: Record<string, string> = {
  id: 'id',
  title: 'title',
  isbn: 'ISBN',
  n: 'n',
  slug: 'slug',
  volume: 'volume',
  author_id: 'author',
}

let database: TestDatabase

beforeAll(async () => {
  // whatever books other files of this process have: a column that is not known is one of a later migration
  rememberNames('books', ['title', 'secret'])
  database = await createDatabase({ schema })
})
afterAll(() => database.drop())

function subject(operation: ConstraintSubject['operation'], values: Record<string, unknown> = {}): ConstraintSubject {
  return {
    operation,
    columnsOf: (table, constraint) => (table === 'books' ? constraints[constraint] : undefined),
    fieldOf: (table, column) => (table === 'books' ? fields[column] : undefined),
    valueOf: (field) => values[field],
  }
}

async function listening(server: Server): Promise<{ server: Server; port: number }> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

/** What a statement that must fail fails with. */
async function failure(work: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(work).then(
    () => expect.unreachable('the statement must fail'),
    (error: unknown) => error,
  )
}

/** Runs SQL that fails, and returns what the client would see. */
async function answer(sql: string, { operation, values, db = database.knex }: Attempt = {}) {
  const error = await failure(db.raw(sql))
  return seen(toApiError(error, subject(operation ?? 'write', values)), error)
}

interface Attempt {
  operation?: ConstraintSubject['operation']
  values?: Record<string, unknown>
  db?: Knex
}

function seen(answered: ReturnType<typeof toApiError>, error: unknown) {
  if (answered === null) return null
  expect(answered.cause).toBe((error as { nativeError?: unknown }).nativeError ?? error)
  const { status, detail, errors, headers } = answered
  expect(JSON.stringify({ detail, errors })).not.toMatch(/violates|hush|books|key|constraint|insert|select/i)
  return { status, detail, errors, retry: headers['Retry-After'] }
}

const invalid = (errors: object) => ({ status: 400, detail: 'Validation failed', errors })
const book = (columns: string, values: string) =>
  `insert into books (id, title, ${columns}) values (9, 'Nine', ${values})`

describe('a violated constraint', () => {
  it.each([
    ['unique', book('isbn', "'111'"), { ISBN: ['This field must be unique.'] }],
    [
      'unique over two fields',
      book('slug, volume', "'one', 1"),
      { non_field_errors: ['The fields slug, volume must make a unique set.'] },
    ],
    [
      'unique over a field and a column of no field',
      book('tenant, slug', "1, 'one'"),
      { slug: ['This field must be unique.'] },
    ],
    [
      'unique over two fields and a column of no field',
      book('tenant, author_id, n', '1, 1, 1'),
      { non_field_errors: ['The fields author, n must make a unique set.'] },
    ],
    ['unique on a column of no field', book('secret', "'hush'"), { non_field_errors: ['This field must be unique.'] }],
    [
      'unique on an expression',
      "insert into books (id, title) values (9, 'ONE')",
      { non_field_errors: ['This field must be unique.'] },
    ],
    ['not null', 'insert into books (id) values (9)', { title: ['This field may not be null.'] }],
    ['not null on a column of no field', book('secret', 'null'), { non_field_errors: ['This field may not be null.'] }],
    ['check', book('n', '-1'), { n: ['Invalid value.'] }],
    [
      'check over two fields',
      book('n, volume', '5, -9'),
      { non_field_errors: ['The values of n, volume do not fit together.'] },
    ],
    ['exclusion', book('volume', '1'), { volume: ['Invalid value.'] }],
    ['foreign key', book('author_id', '999'), { author: ['Invalid pk "999" - object does not exist.'] }],
  ])('[I1 I2] %s is 400 and named by field', async (_name, sql, errors) => {
    expect(await answer(sql, { values: { author: 999 } })).toMatchObject(invalid(errors))
  })

  it.each([
    ['a text', 'x"y', 'Invalid pk "x\\"y" - object does not exist.'],
    ['a long text', 'x'.repeat(5_000), /^Invalid pk "x{1,64}" - object does not exist\.$/],
    ['an object', { a: 1 }, /^Invalid pk .*a.* - object does not exist\.$/],
    ['nothing, because the path or a default chose it', undefined, 'Invalid value.'],
  ])('a foreign key repeats %s', async (_name, author, message) => {
    const result = await answer(book('author_id', '999'), { values: { author } })
    expect(result?.errors?.['author']).toEqual([typeof message === 'string' ? message : expect.stringMatching(message)])
  })

  it('[I2] found by COMMIT is answered alike', async () => {
    const error = await failure(
      database.knex.transaction(async (trx) => {
        await trx.raw('set constraints all deferred')
        await trx.raw(book('author_id', '999'))
      }),
    )
    expect(toApiError(error, subject('write', { author: 999 }))?.errors).toEqual({
      author: ['Invalid pk "999" - object does not exist.'],
    })
  })

  it('[I2] is 409 when a referenced object is deleted', async () => {
    const conflict = { status: 409, detail: 'Object is referenced by other objects.', errors: undefined }
    expect(await answer('delete from authors', { operation: 'delete' })).toMatchObject(conflict)
    expect(await answer(raise('23001'), { operation: 'write' })).toMatchObject(conflict)
  })

  it('stands under no field when nothing is known of the tables', async () => {
    const error = await failure(database.knex.raw(book('isbn', "'111'")))
    const errors = { non_field_errors: ['This field must be unique.'] }
    expect(toApiError(error)).toMatchObject(invalid(errors))
    expect(toApiError(error, requestSubject('POST'))).toMatchObject(invalid(errors))
  })
})

/** A real error with this SQLSTATE, and text that must not be shown. */
const raise = (code: string) => `do $$ begin raise exception 'violates hush' using errcode = '${code}'; end $$`

const badValue = invalid({ non_field_errors: ['Invalid value.'] })
const away = { status: 503, detail: 'Service temporarily unavailable', retry: '1' }
const forbidden = { status: 403, detail: 'Permission denied' }

describe('SQLSTATE', () => {
  it.each([
    ["select 'x'::int", badValue],
    ['select 99999999999::int4', badValue],
    ["select 'x'::date", badValue],
    ["select '2024-02-30'::date", badValue],
    ["select '[5,1]'::text::int4range", badValue],
    ["select '2020-01-01T00:00+99'::text::timestamptz", badValue],
    ["select '2020-01-01 10:00 Mars/Phobos'::text::timestamptz", badValue],
    ["select '99999999999 days'::text::interval", badValue],
    ["select '\\xg'::text::bytea", badValue],
    ["select '<a'::text::xml", badValue],
    ["select '[5:1]={1}'::text::int[]", badValue],
    ["select repeat('x', 3000)::tsvector", badValue],
    ["select repeat('x', 3000)::ltree", badValue],
    ['create temporary table flags (bits bit(3)); insert into flags values ($$10$$::bit(2))', badValue],
    ['select 1 / 0', null],
    ['select ln(-1)', null],
    ["select date_trunc('nope', now())", null],
    ["select substr('x', 1, -1)", null],
    ['select jsonb \'{"a":"\\u0000"}\'', badValue],
    ['select 1 limit -1', badValue],
    ["select 'a' ~ '('", { status: 400, detail: 'Invalid search pattern.' }],
    ["select to_tsquery('foo bar')", { status: 400, detail: 'Invalid search query.' }],
    ["select to_tsquery('foo &')", { status: 400, detail: 'Invalid search query.' }],
    ["select to_tsquery('(')", { status: 400, detail: 'Invalid search query.' }],
    ["select to_tsquery('''')", { status: 400, detail: 'Invalid search query.' }],
    ["select '''a'::text::tsvector", { status: 400, detail: 'Invalid search query.' }],
    ["select 'a b!'::text::ltree", badValue],
    ["select '$['::text::jsonpath", badValue],
    ["select 'nope'::text::regtype::text", badValue],
    ['selec 1', null],
    ["do $$ begin execute 'selec 1'; end $$", null],
    ["select nextval('nope')", null],
    ['drop table nope', null],
    ['select nope', null],
    ['select * from nope', null],
    ['select nope()', null],
  ])('of %s', async (sql, expected) => {
    const attempt = (operation: 'read' | 'write') => answer(sql.replaceAll('?', '\\?'), { operation })
    const isStored = expected === badValue && !sql.endsWith('limit -1')
    if (isStored) expect(await attempt('write')).toMatchObject(badValue)
    // no client has given it
    if (isStored || expected === null) expect(await attempt('read')).toBeNull()
    else expect(await attempt('read')).toMatchObject(expected)
  })

  it.each([
    ...['22P02', '22003', '22007', '22008', '22001', '22021', '22P05', '2201W', '2201X'].map(
      (code) => [code, badValue] as const,
    ),
    ...['54000', '54001'].map((code) => [code, badValue] as const),
    ...['40001', '40P01', '55P03', '57014'].map((code) => [code, away] as const),
    ...['08000', '08003', '08006', '57P01', '57P02', '57P03', '57P05', '25P03', '25P04', '28P01', '28000', '3D000'].map(
      (code) => [code, away] as const,
    ),
    ['2200H', away] as const,
    // the same codes as PostgreSQL has for the texts of some types, raised by SQL of the application
    ...['22000', '22004', '22009', '22012', '22015', '22023', '22026', '2200N', '2201E', '2202E', '22P06', '42622'].map(
      (code) => [code, null] as const,
    ),
    ...['53000', '53100', '53200', '53300', '25006'].map((code) => [code, away] as const),
    ['42501', forbidden] as const,
    ...['08P01', '42P01', '42703', '42883', '0A000', '26000', '42P05', 'XX000', 'P0001', '21000'].map(
      (code) => [code, null] as const,
    ),
  ])('%s in a write', async (code, expected) => {
    const result = await answer(raise(code))
    if (expected === null) expect(result).toBeNull()
    else expect(result).toMatchObject(expected)
  })

  it.each([
    ['hstore', 'a b'],
    ['ltree', 'a b!'],
    ['lquery', '!!{'],
    ['jsonpath', '$['],
    ['tsvector', "'a"],
    ['tsquery', 'a b'],
    ['regclass', 'nope'],
    ['regtype', 'nope'],
    ['regproc', 'nope'],
    ['regoper', '+'],
    // what PostgreSQL calls otherwise than a wrong value
    ['regclass', 'a.b.c'],
    ['regtype', 'a b'],
    ['regtype', 'nowhere.nope'],
    ['regoperator', '+(int)'],
    ['aclitem', 'nobody-here=r/postgres'],
    ['aclitem', 'x'.repeat(300)],
  ])('a text that is no %s is an invalid value', async (type, text) => {
    const error = await failure(database.knex.raw(`select ?::${type}`, [text]))
    expect(seen(toApiError(error, subject('write')), error)).toMatchObject(badValue)
  })

  it('a list of which one is no regclass is an invalid value, also where objects are read', async () => {
    const error = await failure(
      database.knex.raw('select 1 where 1::regclass = any(?::regclass[])', [['pg_class', 'a.b.c']]),
    )
    expect(seen(toApiError(error, subject('read')), error)).toMatchObject(badValue)
  })

  it('what a value causes once it was read stays a mistake of the application', async () => {
    for (const sql of ['select ?::text::regtype', 'select nextval(?::text)']) {
      const error = await failure(database.knex.raw(sql, ['nope.nope.nope']))
      expect([sql, toApiError(error, subject('read'))]).toEqual([sql, null])
    }
  })

  it.skipIf(runsAsRole()).each([0, 3, -1])(
    'both are told apart where errors quote %i bytes of values',
    async (bytes) => {
      const asked = (sql: string, ...texts: string[]) =>
        failure(
          database.knex.transaction(async (trx) => {
            await trx.raw(`set local log_parameter_max_length_on_error = ${bytes}`)
            await trx.raw(sql, texts)
          }),
        )
      for (const text of ['', 'a b', '\n', "it's\nnot: $1 = 'x"]) {
        const error = await asked('select ?::regtype', text)
        expect([text, seen(toApiError(error, subject('read')), error)]).toMatchObject([text, badValue])
        expect([text, toApiError(await asked('select ?::text::regtype', text), subject('read'))]).toEqual([text, null])
        const beside = await asked('select ?::text || ?::text::regtype', text, 'no type')
        expect([text, toApiError(beside, subject('read'))]).toEqual([text, null])
      }
    },
  )

  it('44000 of a view with a check option is an invalid value', async () => {
    await database.knex.raw('create view tenants as select * from books where tenant = 1 with check option')
    expect(await answer("insert into tenants (id, title, tenant) values (9, 'Nine', 2)")).toMatchObject(badValue)
  })

  it.skipIf(runsAsRole())(
    '42501 of the table of changes is a mistake of the operator, of any other one forbidden',
    async () => {
      const role = `clerk_${process.pid}`
      await database.knex.raw(`create role ${role}; create table koa_viewsets_changes (id int)`)
      onTestFinished(() => database.knex.raw(`drop role ${role}`))
      const as = (sql: string) => answer(`do $$ begin set local role ${role}; ${sql}; end $$`)
      expect(await as('insert into koa_viewsets_changes values (1)')).toBeNull()
      expect(await as("insert into books values (9, 'Nine')")).toMatchObject(forbidden)
    },
  )

  it('42601 of several statements at once is a mistake of the application', async () => {
    const error = await failure(database.knex.raw('select ?; select 2', [1]))
    expect(error).toMatchObject({ code: '42601' })
    expect(toApiError(error, subject('write'))).toBeNull()
  })

  it('08P01 of a pooler, which names no file, is an outage', () => {
    const error = Object.assign(new Error('server conn crashed?'), { code: '08P01', severity: 'FATAL' })
    for (const operation of ['read', 'write', 'delete'] as const) {
      expect(seen(toApiError(error, subject(operation)), error)).toMatchObject(away)
    }
    expect(toApiError(Object.assign(error, { file: 'postgres.c' }), subject('write'))).toBeNull()
  })

  it.each(['25006', '54000', '54001'])('%s in a read is unknown', async (code) => {
    expect(await answer(raise(code), { operation: 'read' })).toBeNull()
  })

  it('25006 of a database that became a standby', async () => {
    const error = await failure(database.knex.transaction((trx) => trx.raw(book('n', '1')), { readOnly: true }))
    expect(seen(toApiError(error, subject('write')), error)).toMatchObject(away)
    expect(toApiError(error, subject('read'))).toBeNull()
  })
})

describe('an outage', () => {
  const pools: Knex[] = []
  const pool = (connection: object, config: Knex.Config = {}) => {
    const db = knex({
      client: 'pg',
      connection: connection as Knex.PgConnectionConfig,
      acquireConnectionTimeout: 2_000,
      // knex would print each connection that fails.
      log: { warn() {} },
      ...config,
    })
    pools.push(db)
    return db
  }
  afterAll(() => Promise.all(pools.map((db) => db.destroy())))

  it.each([
    ['no server on the port', { host: '127.0.0.1', port: 1 }],
    ['no server on the socket', { host: '/nonexistent' }],
    ['no such host', { host: 'nonexistent.invalid' }],
  ])('[I8] with %s', async (_name, connection) => {
    expect(await answer('select 1', { db: pool(connection) })).toMatchObject(away)
  })

  it('[I9] with a server that says nothing', async () => {
    const { server: silent, port } = await listening(createServer())
    expect(
      await answer('select 1', { db: pool({ host: '127.0.0.1', port, connectionTimeoutMillis: 100 }) }),
    ).toMatchObject(away)
    silent.close()
  })

  it('[I8] with a server that hangs up', async () => {
    const { server: rude, port } = await listening(createServer((socket) => socket.once('data', () => socket.end())))
    expect(await answer('select 1', { db: pool({ host: '127.0.0.1', port }) })).toMatchObject(away)
    rude.close()
  })

  it('[I8] with a backend that is killed while it works, and while it is idle in a transaction', async () => {
    const db = pool(database.connection)
    const killed = await failure(
      db.transaction(async (trx) => {
        const { rows } = await trx.raw('select pg_backend_pid() as pid')
        const sleeping = failure(trx.raw('select pg_sleep(10)'))
        await database.knex.raw('select pg_terminate_backend(?)', [rows[0].pid])
        const error = await sleeping
        expect(seen(toApiError(error, subject('read')), error)).toMatchObject(away)
        await trx.raw('select 1')
      }),
    )
    expect(seen(toApiError(killed, subject('read')), killed)).toMatchObject(away)
  })

  it('[I9] with a query that takes too long for pg', async () => {
    const db = pool({ ...database.connection, query_timeout: 50 })
    expect(await answer('select pg_sleep(10)', { db })).toMatchObject(away)
  })

  it('[I9] with a statement that takes too long for PostgreSQL', async () => {
    const db = pool({ ...database.connection, statement_timeout: 50 })
    expect(await answer('select pg_sleep(10)', { db })).toMatchObject(away)
  })

  it('[I7] with an exhausted pool', async () => {
    // time enough for the one connection to open, through a busy pooler too
    const db = pool(database.connection, { pool: { min: 0, max: 1 }, acquireConnectionTimeout: 1_000 })
    await db.transaction(async () => {
      expect(await answer('select 1', { db })).toMatchObject(away)
    })
  })

  it.skipIf(!takesPool)('[I7] with a pool of pg that is exhausted, and once it is closed', async () => {
    const connectionPool = new pg.Pool({ ...database.connection, max: 1, connectionTimeoutMillis: 100 })
    const db = knex({ client: 'pg', connectionPool } as Knex.Config)
    const held = await connectionPool.connect()
    expect(await answer('select 1', { db })).toMatchObject(away)
    held.release()
    await connectionPool.end()
    expect(await answer('select 1', { db })).toMatchObject(away)
  })

  it('is in doubt where it was on its way, and not where PostgreSQL has found no other server for it', () => {
    const codes = ['08006', '57P01', '08001']
    expect(codes.map((code) => isInDoubt(Object.assign(new Error('lost'), { code })))).toEqual([true, true, false])
  })

  it('[I12] with a pool that is closed', async () => {
    const db = knex({ client: 'pg', connection: database.connection as Knex.PgConnectionConfig })
    await db.destroy()
    expect(await answer('select 1', { db })).toMatchObject(away)
  })

  it('is not read out of a text that a client has sent', () => {
    const shown = (message: string, properties = {}) => toApiError(Object.assign(new Error(message), properties))
    expect(shown('insert - Query read timeout - something else')).toBeNull()
    expect(shown('insert - Query read timeout')).toMatchObject({ status: 503 })
    expect(shown('value - Query read timeout', { code: 'P0001' })).toBeNull()
  })
})

describe("Objection's errors", () => {
  class Book extends Model {
    static override tableName = 'books'
    static override jsonSchema = {
      type: 'object',
      required: ['title'],
      properties: {
        title: { type: 'string', minLength: 2 },
        n: { type: 'integer' },
        isbn: { type: 'string' },
        meta: { type: 'object', required: ['a'] },
      },
    }
  }

  it('[I1] wrapped ones are looked through', async () => {
    const error = await failure(Book.query(database.knex).insert({ id: 9, title: 'Nine', isbn: '111' } as object))
    expect(error).toHaveProperty('nativeError')
    expect(seen(toApiError(error, subject('write')), error)).toMatchObject(
      invalid({ ISBN: ['This field must be unique.'] }),
    )
  })

  it.each([
    [{}, { title: ['This field is required.'] }],
    [{ title: 'x' }, { title: ['Invalid value.'] }],
    [{ title: 'xx', n: 'y' }, { n: ['Invalid value.'] }],
    // what is missing inside of it is no field
    [{ title: 'xx', meta: {} }, { 'meta.a': ['Invalid value.'] }],
  ])('[B13] a ValidationError of %j is 400 by field', async (values, errors) => {
    const error = await failure(Promise.resolve().then(() => Book.fromJson(values)))
    expect(seen(toApiError(error), error)).toMatchObject(invalid(errors))
  })

  it('a ValidationError without details is 400', () => {
    const error = Book.createValidationError({ type: 'ModelValidation', message: 'hush', data: {} })
    expect(seen(toApiError(error), error)).toMatchObject(badValue)
  })

  it('a ValidationError of the programmer is unknown', () => {
    const error = Book.createValidationError({ type: 'UnallowedRelation', message: 'hush', data: {} })
    expect(toApiError(error)).toBeNull()
  })

  it('a NotFoundError is 404', async () => {
    const error = await failure(Book.query(database.knex).findById(77).throwIfNotFound({ message: 'hush' }))
    expect(seen(toApiError(error), error)).toMatchObject({ status: 404, detail: 'Not found' })
  })

  it('one of http-errors by the same name is not', () => {
    const error = Object.assign(new Error('Mine'), { name: 'NotFoundError', status: 404, expose: true })
    expect(toApiError(error)).toBeNull()
  })
})

describe('everything else', () => {
  it('an ApiError is its own answer', () => {
    const error = new NotFound('Cursor not found')
    expect(toApiError(error)).toBe(error)
  })

  it.each([
    ['a bug', new TypeError('undefined is not a function')],
    ['a mistake in a declaration', new ConfigurationError('BookViewSet: …')],
    ['a missing file', Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT', syscall: 'open' })],
    ['a code of something else', Object.assign(new Error('x'), { code: '530 Login incorrect' })],
    ['a code that is a number', Object.assign(new Error('x'), { code: 23505 })],
    ['no error', 'Query read timeout'],
    ['null', null],
  ])('%s is unknown', (_name, error) => {
    expect(toApiError(error, subject('write'))).toBeNull()
  })

  it.each([
    ['GET', 'read'],
    ['HEAD', 'read'],
    ['OPTIONS', 'read'],
    ['POST', 'write'],
    ['PUT', 'write'],
    ['PATCH', 'write'],
    ['DELETE', 'delete'],
  ])('%s is a %s', (method, operation) => {
    expect(requestSubject(method).operation).toBe(operation)
  })
})
