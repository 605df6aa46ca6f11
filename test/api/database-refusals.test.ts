/** What only the database refuses: values, triggers, sequences and constraints, as a client sees it. */
import { setImmediate } from 'node:timers/promises'
import {
  APIRouter,
  bulkModelViewSet,
  FieldFilter,
  IntegerField,
  ModelSerializer,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  ReadOnlyModelViewSet,
  SerializerMethodField,
  StringField,
} from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { routerOf, serializerOf, serveRouter, serveViews, tableOf, viewOf } from '../support/views.js'

const SCHEMA = `
  create sequence few as int maxvalue 2 start 2;
  create table tickets (id int primary key default nextval('few'), title text not null);

  create function refuse() returns trigger language plpgsql as $$ begin
    if tg_op = 'DELETE' and old.title like 'code%' then
      raise exception 'Kept' using errcode = right(old.title, 5);
    end if;
    if tg_op = 'DELETE' then raise exception 'Paid orders stay — ask - % first', old.title; end if;
    if new.title like 'title%' then
      raise exception 'Sold out: %', new.title using column = 'title', table = 'orders', hint = 'hush', detail = 'hush';
    end if;
    if new.title like 'bad%' then raise exception E'No "%" - try later\\nor - never', new.title; end if;
    if new.title like 'coded%' then
      raise exception 'Not so' using errcode = right(new.title, 5), column = 'title', table = 'orders';
    end if;
    if new.quantity = 0 then raise integrity_constraint_violation using message = 'No - none'; end if;
    if new.title = 'zero' then new.quantity = 1 / (new.quantity - new.quantity); end if;
    return new;
  end $$;
  create table orders (id serial primary key, title text not null, quantity int not null default 1);
  create trigger refuse before insert or update or delete on orders for each row execute function refuse();
  create table lines (id serial primary key, name text, order_id int references orders);
  create function late() returns trigger language plpgsql as $$ begin
    raise exception 'Nothing on Sundays'; end $$;
  create table sundays (id serial primary key, title text);
  create constraint trigger late after insert on sundays deferrable initially deferred
    for each row execute function late();

  create table numbers (id int primary key, n int not null);
  create table totals (id int primary key, n int not null);
  insert into numbers values (1, 0), (2, 1);
  create view computed as select id, 10 / n as quotient, case when n = 1 then 'x'::text else '1' end::int as parsed from numbers;
  create view texts as select id, case when n = 1 then 'x'::text else '1' end::int as parsed from numbers;
  create table dated (day date primary key, amount text, note text); insert into dated values ('2024-01-01', 'n/a', 'b');
  create view days as select day, note, amount::int as parsed from dated;

  create table bookings (id serial primary key, room int, starts int, ends int, note text,
    constraint free exclude using gist (int4range(room, room, '[]') with &&, int4range(starts, ends) with &&));
  create table shelves (id serial primary key, code text, constraint one_code unique (code));

  create table pages (
    site int not null default 1, title text not null, slug text generated always as (lower(title)) stored primary key,
    code int generated always as (site * 100) stored unique
  );
  create table papers (id serial primary key, title text, slug text generated always as (lower(title)) stored);
  create view shown_papers as select id, title, slug, slug as handle from papers;
  create table notes (id serial primary key, page text references pages);

  create table endless (id int primary key, n int); insert into endless values (1, 1);
  create function again() returns trigger language plpgsql as $$ begin
    update endless set n = n + 1 where id = new.id; return new; end $$;
  create trigger again after update on endless for each row execute function again();

  create function per(a int, b int) returns int language plpgsql immutable as $$ begin return a / b; end $$;
  create table rates (id serial primary key, a int, b int not null default 1, names text[],
    quotient int generated always as (a / b) stored, called int generated always as (per(a, b)) stored);
  create index on rates using gin (array_to_tsvector(names));
  create table parts (id serial primary key, rate_id int references rates, a int, b int, check (a % b = 0));

  create materialized view titles as select 1 as id, 'x'::text as title with no data;

  create table defaults (code int default 0 primary key, note text);

  create table typed (id serial primary key, bits bit(3), span int4range, page xml, address macaddr, counts int[]);
`

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
})
afterAll(() => database.drop())

const ids: Record<string, string> = { idColumn: 'id' }

/** A serializer that needs instances. */
function methodOf(model: typeof Model, fields = ['id', 'parsed']) {
  const Shown = serializerOf(model, [...fields, 'label'], { label: new SerializerMethodField() })
  return class extends Shown {
    getLabel() {
      return 'x'
    }
  }
}
const NO_FIELD = (message: string) => ({ status: 400, json: { errors: { non_field_errors: [message] } } })
const UNKNOWN = { status: 500, text: '{"detail":"Internal server error","status":500}' }

/** The warnings of the process while the test runs. */
function warnings(): Error[] {
  const heard: Error[] = []
  const listener = (warning: Error) => heard.push(warning)
  process.on('warning', listener)
  onTestFinished(() => void process.removeListener('warning', listener))
  return heard
}

describe('a sequence that is used up', () => {
  it('is 503, and told by one error event', async () => {
    const Ticket = tableOf('tickets')
    const client = await serveViews({ tickets: viewOf(Ticket, serializerOf(Ticket, ['id', 'title'])) })
    expect((await client.send('POST', '/tickets', { title: 'first' })).status).toBe(201)
    expect(await client.send('POST', '/tickets', { title: 'second' })).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
    })
    expect(client.reported).toMatchObject([{ status: 503, cause: { code: '2200H' } }])
  })
})

describe('a materialized view that was never refreshed', () => {
  it('is 503 until it is, and told by an error event', async () => {
    const Title = tableOf('titles', ids)
    class Titles extends ReadOnlyModelViewSet {
      static override model = Title
      static override serializerClass = serializerOf(Title, ['id', 'title'])
    }
    const client = await serveRouter(new APIRouter().register('titles', Titles))
    for (const path of ['/titles', '/titles/1']) expect((await client.get(path)).status).toBe(503)
    expect(client.reported).toMatchObject([{ cause: { code: '55000' } }, { cause: { code: '55000' } }])
    await database.knex.raw('refresh materialized view titles')
    expect((await client.get('/titles/1')).json).toEqual({ id: 1, title: 'x' })
  })
})

describe('a column that the table below a view computes', () => {
  it('is read only, and under a name of the view no value that a client gives', async () => {
    const Paper = tableOf('shown_papers')
    const { send } = await serveViews({ papers: viewOf(Paper, serializerOf(Paper, ['id', 'title', 'slug', 'handle'])) })
    const paper = { id: 1, title: 'Seen', slug: 'seen', handle: 'seen' }
    expect(await send('POST', '/papers', { title: 'Seen', slug: 'x' })).toMatchObject({ status: 201, json: paper })
    expect(await send('PATCH', '/papers/1', { slug: 'x' })).toMatchObject({ status: 200, json: paper })
    expect(await send('PATCH', '/papers/1', { handle: 'x' })).toMatchObject(NO_FIELD('Invalid value.'))
    expect(await send('POST', '/papers', { title: 'Other', handle: 'x' })).toMatchObject(NO_FIELD('Invalid value.'))
    const listed = await send('POST', '/papers/bulk', [{ title: 'Other' }, { title: 'Last', handle: 'x' }])
    expect(listed).toMatchObject({ status: 400, json: { errors: { 1: { non_field_errors: ['Invalid value.'] } } } })
  })
})

describe('a column that must have a value, and that no field writes', () => {
  const shown = { n: new IntegerField({ readOnly: true }) }

  it.each([
    ['has no field', 'numbers', {}],
    ['is only shown', 'totals', shown],
  ])('is 400 without its name, and told the operator once, where it %s', async (_how, table, fields) => {
    const heard = warnings()
    const Num = tableOf(table)
    const client = await serveViews({ numbers: viewOf(Num, serializerOf(Num, ['id'], fields)) })
    for (const id of [101, 102]) {
      const answer = await client.send('POST', '/numbers', { id })
      expect(answer).toMatchObject(NO_FIELD('This field may not be null.'))
    }
    await setImmediate()
    const told = heard.filter((warning) => (warning as { code?: string }).code === 'KOA_VIEWSETS_MISSING_VALUE')
    expect(told.map(({ message }) => message)).toEqual([
      expect.stringMatching(
        new RegExp(`a value of "${table}"."n".*add it to fields; a field .* through a view needs .*allowNull: false`),
      ),
    ])
  })

  it.each([
    ['has no field', class Num extends tableOf('numbers') {}, {}],
    ['is only shown', class Total extends tableOf('totals') {}, shown],
  ])('is so, too, where the jsonSchema of the model asks for it, and it %s', async (_how, model, fields) => {
    const heard = warnings()
    model.jsonSchema = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }
    const client = await serveViews({ numbers: viewOf(model, serializerOf(model, ['id'], fields)) })
    expect(await client.send('POST', '/numbers', { id: 103 })).toMatchObject(NO_FIELD('This field is required.'))
    await setImmediate()
    expect(heard.map(({ message }) => message)).toEqual([
      expect.stringMatching(new RegExp(`${model.name} has refused its "n" \\(required\\).*performCreate\\(\\)`)),
    ])
  })
})

describe('what the jsonSchema of a model asks of the whole object', () => {
  it('is 400 under no field, and nothing to tell the operator', async () => {
    const heard = warnings()
    class Num extends tableOf('numbers') {
      static override jsonSchema = { type: 'object', anyOf: [{ properties: { n: { const: 1 } } }] }
    }
    const client = await serveViews({ numbers: viewOf(Num, serializerOf(Num, ['id', 'n'])) })
    const answer = await client.send('POST', '/numbers', { id: 104, n: 2 })
    expect(answer).toMatchObject({
      status: 400,
      json: { errors: { n: ['Invalid value.'], non_field_errors: ['Invalid value.'] } },
    })
    await setImmediate()
    expect(heard).toEqual([])
  })
})

describe('what the jsonSchema of a model asks on a condition', () => {
  it.each([
    ['then', { required: ['n'] }, { id: 105 }, { n: ['This field is required.'] }],
    ['else', { required: ['n'] }, { id: 5 }, { n: ['This field is required.'] }],
    ['then', { properties: { n: { const: 1 } } }, { id: 105, n: 2 }, { n: ['Invalid value.'] }],
    ['then', { minProperties: 3 }, { id: 105, n: 2 }, { non_field_errors: ['Invalid value.'] }],
    ['then', false, { id: 105, n: 2 }, { non_field_errors: ['Invalid value.'] }],
  ])('is told once, %s %j', async (branch, schema, body, errors) => {
    class Num extends tableOf('numbers') {
      static override jsonSchema = { type: 'object', if: { properties: { id: { minimum: 100 } } }, [branch]: schema }
    }
    const n = new IntegerField({ required: false })
    const client = await serveViews({ numbers: viewOf(Num, serializerOf(Num, ['id', 'n'], { n })) })
    const answer = await client.send('POST', '/numbers', body)
    expect([answer.status, answer.json.errors]).toEqual([400, errors])
  })
})

describe('what SQL of the application cannot compute', () => {
  it('is 500 for an object that is there, and 404 only for one that is not', async () => {
    const Computed = tableOf('computed', ids)
    const view = (field: string) => viewOf(Computed, serializerOf(Computed, ['id', field]))
    const client = await serveViews({ quotients: view('quotient'), parsed: view('parsed') })
    expect(await client.get('/quotients/1')).toMatchObject(UNKNOWN)
    expect(client.reported).toMatchObject([{ code: '22012' }])
    expect((await client.get('/quotients/2')).json).toEqual({ id: 2, quotient: 10 })
    expect((await client.get('/quotients/3')).status).toBe(404)
    expect((await client.get('/parsed/1')).json).toEqual({ id: 1, parsed: 1 })
    expect(await client.get('/parsed/2')).toMatchObject(UNKNOWN)
    expect(client.reported.at(-1)).toMatchObject({ cause: { code: '22P02' } })
  })

  it('is 500 with an event wherever rows are read, and 400 for what a client has given', async () => {
    const Computed = tableOf('texts', ids)
    const Day = tableOf('days', { idColumn: 'day' })
    const statics = { filterBackends: [FieldFilter], filtersetFields: ['id'] }
    const client = await serveViews({
      parsed: viewOf(Computed, serializerOf(Computed, ['id', 'parsed']), statics),
      days: viewOf(Day, serializerOf(Day, ['day', 'parsed', 'note']), { lookupField: 'day' }),
      methods: viewOf(Computed, methodOf(Computed)),
    })
    const asked = [
      ['GET', '/parsed'],
      ['GET', '/methods'],
      ['GET', '/parsed?id=2'],
      ['GET', '/days'],
      ['GET', '/days/2024-01-01'],
      ['PATCH', '/days/2024-01-01', { note: 'x' }],
      ['PUT', '/days/2024-01-01', { note: 'x' }],
      ['DELETE', '/days/2024-01-01'],
      ['PATCH', '/days/bulk', [{ day: '2024-01-01', note: 'x' }]],
      ['DELETE', '/days/bulk', ['2024-01-01']],
    ] as const
    for (const [index, [method, path, body]] of asked.entries()) {
      const answer = await client.send(method, path, body)
      expect([method, path, answer.status]).toEqual([method, path, 500])
      expect(client.reported).toHaveLength(index + 1)
    }
    expect((await client.get('/parsed?id=1')).json).toEqual([{ id: 1, parsed: 1 }])
    expect((await client.get('/parsed?id=99999999999')).status).toBe(400)
    expect(client.reported).toHaveLength(asked.length)
  })

  it('is 500 in a trigger', async () => {
    const Order = tableOf('orders')
    const client = await serveViews({ orders: viewOf(Order, serializerOf(Order, ['id', 'title', 'quantity'])) })
    expect(await client.send('POST', '/orders', { title: 'zero' })).toMatchObject(UNKNOWN)
    expect(client.reported).toHaveLength(1)
  })

  it('is 500 in a trigger that calls itself without end', async () => {
    const Endless = tableOf('endless')
    const client = await serveViews({ endless: viewOf(Endless, serializerOf(Endless, ['id', 'n'])) })
    expect(await client.send('PATCH', '/endless/1', { n: 2 })).toMatchObject(UNKNOWN)
    expect(await client.send('PATCH', '/endless/bulk', [{ id: 1, n: 2 }])).toMatchObject(UNKNOWN)
    expect(client.reported).toMatchObject([{ code: '54001' }, { code: '54001' }])
  })
})

describe('what a table computes of its rows, and cannot', () => {
  const refused = (answer: unknown, errors: unknown) => expect(answer).toMatchObject({ status: 400, json: { errors } })
  const NONE = { non_field_errors: ['Invalid value.'] }

  it('is 400 of what was written', async () => {
    const Part = tableOf('parts')
    const Rate = tableOf('rates', {
      idColumn: 'id',
      relationMappings: {
        parts: { relation: Model.HasManyRelation, modelClass: Part, join: { from: 'rates.id', to: 'parts.rate_id' } },
      },
    })
    const shown = serializerOf(Rate, ['id', 'a', 'b', 'names', 'quotient', 'parts'], {
      parts: new NestedSerializer(serializerOf(Part, ['id', 'a', 'b']), { many: true, required: false }),
    })
    const statics = { filterBackends: [FieldFilter], filtersetFields: ['id'] }
    const client = await serveViews({
      rates: viewOf(Rate, serializerOf(Rate, ['id', 'a', 'b', 'names']), statics),
      nested: viewOf(Rate, shown),
    })
    for (const path of ['/rates', '/nested']) {
      const { json } = await client.send('POST', path, { a: 4, b: 2, names: ['x'] })
      const object = `${path}/${json.id}`
      for (const wrong of [
        { a: 1, b: 0 },
        { a: 1, names: ['x', null] },
      ]) {
        refused(await client.send('POST', path, wrong), NONE)
        refused(await client.send('PUT', object, wrong), NONE)
        refused(await client.send('PATCH', object, wrong), NONE)
      }
      const two = [{ a: 1 }, { a: 1, b: 0 }]
      refused(await client.send('POST', `${path}/bulk`, two), { 1: NONE })
      const changed = await client.send('PATCH', `${path}/bulk`, [{ id: json.id, names: [null] }])
      refused(changed, { 0: NONE })
      expect((await client.get(object)).json).toMatchObject({ a: 4, b: 2, names: ['x'] })
    }
    const parts = {
      a: 1,
      parts: [
        { a: 1, b: 1 },
        { a: 1, b: 0 },
      ],
    }
    refused(await client.send('POST', '/nested', parts), { parts: { 1: NONE } })
    expect(client.reported).toEqual([])
    expect(await Rate.query().resultSize()).toBe(2)
  })
})

describe('a key with one value for a default', () => {
  it('is given by clients, and may be left out', async () => {
    const Default = tableOf('defaults', { idColumn: 'code' })
    const view = viewOf(Default, serializerOf(Default, ['code', 'note']))
    const client = await serveViews({ defaults: view })
    expect((await client.send('POST', '/defaults', { note: 'a' })).json).toEqual({ code: 0, note: 'a' })
    expect(await client.send('POST', '/defaults', { note: 'b' })).toMatchObject({
      status: 400,
      json: { errors: { code: ['This field must be unique.'] } },
    })
    expect((await client.send('POST', '/defaults', { code: 7 })).json).toEqual({ code: 7, note: null })
  })
})

describe('a key that the encoding of the database lacks', () => {
  it.each([
    ['LATIN1', {}],
    ['EUC_JP', {}],
    ['LATIN1, where statements have settings', { databaseSettings: { 'app.caller': 'ada' } }],
  ] as const)('leads nowhere in %s', async (name, options) => {
    const encoding = name === 'EUC_JP' ? name : 'LATIN1'
    const database = await createDatabase({
      encoding,
      schema: `create table names (name text primary key, note text); insert into names values ('a', 'b');
        create table parts (id int primary key, name text references names)`,
    })
    onTestFinished(() => database.drop())
    const Name = tableOf('names', { idColumn: 'name' }).bindKnex(database.knex)
    const Part = tableOf('parts').bindKnex(database.knex)
    const statics = { lookupField: 'name', filterBackends: [FieldFilter], filtersetFields: ['note'] }
    const api = routerOf(
      {
        names: viewOf(Name, serializerOf(Name, ['name', 'note']), statics),
        methods: viewOf(Name, methodOf(Name, ['name']), statics),
      },
      options,
    )
    class Parts extends NestedViewSetMixin(viewOf(Part, serializerOf(Part, ['id']))) {
      static override parentLookupField = 'name'
    }
    new NestedRouter(api, 'names', { lookup: 'parent' }).register('parts', Parts)
    const client = await serveRouter(api)
    const key = encodeURIComponent('😀')
    for (const path of ['/names', '/methods']) {
      expect((await client.get(`${path}/a`)).status).toBe(200)
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
        const answer = await client.send(method, `${path}/${key}`, method.startsWith('P') ? { note: 'x' } : undefined)
        expect([method, path, answer.status]).toEqual([method, path, 404])
      }
    }
    expect((await client.get(`/names/${key}/parts`)).status).toBe(404)
    expect((await client.get(`/names/${key}/parts/1`)).status).toBe(404)
    expect((await client.send('POST', `/names/${key}/parts`, { id: 1 })).status).toBe(404)
    expect((await client.get('/names/a/parts')).json).toEqual([])
    expect((await client.get(`/names?note=${key}`)).status).toBe(400)
    expect((await client.send('POST', '/names', { name: '😀' })).status).toBe(400)
    expect((await client.send('PATCH', '/names/bulk', [{ name: '😀', note: 'x' }])).status).toBe(400)
    expect((await client.send('DELETE', '/names/bulk', ['😀'])).status).toBe(400)
    expect(client.reported).toEqual([])
  })
})

describe('a value that no field has refused', () => {
  const Typed = tableOf('typed')
  const typed = () =>
    serveViews({ typed: viewOf(Typed, serializerOf(Typed, ['id', 'bits', 'span', 'page', 'address', 'counts'])) })

  it.each([
    ['bits', '10'],
    ['bits', 'x'],
    ['span', '[5,1]'],
    ['span', '[1'],
    ['page', '<a'],
    ['address', 'x'],
    ['counts', [1, 'x']],
  ])('is 400: %s of %j', async (field, value) => {
    const client = await typed()
    expect((await client.send('POST', '/typed', { [field]: value })).status).toBe(400)
    expect((await client.send('POST', '/typed/bulk', [{}, { [field]: value }])).json.errors).toHaveProperty('1')
    expect(client.reported).toEqual([])
  })

  it('is told by one warning for each kind and route, without the value', async () => {
    class Loose extends ModelSerializer {
      static override model = Typed
      static override fields = ['id', 'counts']
      static override declaredFields = { counts: new StringField() }
    }
    const client = await serveViews({ loose: viewOf(Typed, Loose) })
    const heard = warnings()
    for (const counts of ['hush', 'hush!', 'hush!!']) {
      expect(await client.send('POST', '/loose', { counts })).toMatchObject(NO_FIELD('Invalid value.'))
    }
    await setImmediate()
    const gaps = heard.filter((warning) => 'code' in warning && warning.code === 'KOA_VIEWSETS_VALIDATION_GAP')
    expect(gaps).toHaveLength(1)
    expect(gaps[0]?.message).toMatch(/22P02.*POST \/loose/)
    expect(gaps[0]?.message).not.toContain('hush')
    expect((await client.send('POST', '/loose/bulk', [{ counts: 'hush' }])).status).toBe(400)
    await setImmediate()
    expect(heard.filter(({ message }) => message.includes('POST /loose/bulk'))).toHaveLength(1)
  })
})

describe('RAISE EXCEPTION in a trigger', () => {
  const Order = tableOf('orders')
  const Shown = serializerOf(Order, ['id', 'title'])
  const serveOrders = (statics: object) => serveViews({ orders: viewOf(Order, Shown, statics) })

  it('is 500 that says nothing, and one error event, unless the view exposes it', async () => {
    const client = await serveOrders({})
    expect(await client.send('POST', '/orders', { title: 'bad' })).toMatchObject(UNKNOWN)
    expect(await client.send('POST', '/orders/bulk', [{ title: 'bad' }])).toMatchObject(UNKNOWN)
    expect(client.reported).toHaveLength(2)
  })

  it('is 400 with its message where the view says so, by every way of writing', async () => {
    const client = await serveOrders({ exposeTriggerMessages: true })
    const refused = NO_FIELD('No "bad" - try later\nor - never')
    const { id, title } = (await client.send('POST', '/orders', { title: 'one - two' })).json
    expect(await client.send('POST', '/orders', { title: 'bad' })).toMatchObject(refused)
    expect(await client.send('PATCH', `/orders/${id}`, { title: 'bad' })).toMatchObject(refused)
    expect(await client.send('PUT', `/orders/${id}`, { title: 'bad' })).toMatchObject(refused)
    expect(await client.send('DELETE', `/orders/${id}`)).toMatchObject(
      NO_FIELD(`Paid orders stay — ask - ${title} first`),
    )
    const list = [{ title: 'fine' }, { title: 'bad - é' }]
    expect((await client.send('POST', '/orders/bulk', list)).json.errors).toEqual({
      1: { non_field_errors: ['No "bad - é" - try later\nor - never'] },
    })
    expect((await client.send('PATCH', '/orders/bulk', [{ id, title: 'bad' }])).json.errors).toEqual({
      0: refused.json.errors,
    })
    expect(client.reported).toEqual([])
    expect(await Order.query().where('title', 'fine')).toEqual([])
  })

  const raisedBy = (code: string) => ({ title: `coded ${code}` })

  it.each(['23000', '23514', '23P01', '23A42', '23ZZZ'])('is 400 with a code of integrity, %s', async (code) => {
    const client = await serveOrders({})
    const { id } = (await client.send('POST', '/orders', { title: `code ${code}` })).json
    const wrong = { title: ['Invalid value.'] }
    expect((await client.send('POST', '/orders', raisedBy(code))).json.errors).toEqual(wrong)
    expect((await client.send('PATCH', `/orders/${id}`, raisedBy(code))).json.errors).toEqual(wrong)
    expect((await client.send('POST', '/orders/bulk', [{ title: 'x' }, raisedBy(code)])).json.errors).toEqual({
      1: wrong,
    })
    expect(await client.send('DELETE', `/orders/${id}`)).toMatchObject(NO_FIELD('Invalid value.'))
    const open = await serveOrders({ exposeTriggerMessages: true })
    expect((await open.send('PUT', `/orders/${id}`, raisedBy(code))).json.errors).toEqual({ title: ['Not so'] })
    expect(await open.send('DELETE', `/orders/${id}`)).toMatchObject(NO_FIELD('Kept'))
    expect([...client.reported, ...open.reported]).toEqual([])
  })

  it('stands under no field where it names none', async () => {
    const Whole = viewOf(Order, serializerOf(Order, ['id', 'title', 'quantity']))
    const Open = viewOf(Order, serializerOf(Order, ['id', 'title', 'quantity']), { exposeTriggerMessages: true })
    const client = await serveViews({ orders: Whole, open: Open })
    const none = { title: 'x', quantity: 0 }
    expect(await client.send('POST', '/orders', none)).toMatchObject(NO_FIELD('Invalid value.'))
    expect(await client.send('POST', '/open', none)).toMatchObject(NO_FIELD('No - none'))
  })

  it.each([
    ['ZX001', 500, 400],
    ['PT409', 500, 400],
    ['22023', 500, 400],
    ['40001', 503, 503],
    ['23505', 400, 400],
    ['23502', 400, 400],
  ])('with the code %s is %i, and %i where it is shown', async (code, hidden, shown) => {
    const client = await serveOrders({})
    expect((await client.send('POST', '/orders', raisedBy(code))).status).toBe(hidden)
    const open = await serveOrders({ exposeTriggerMessages: true })
    const answer = await open.send('POST', '/orders', raisedBy(code))
    expect(answer.status).toBe(shown)
    expect(answer.json.errors).toEqual(shown === 400 ? { title: ['Not so'] } : undefined)
    expect(open.reported).toHaveLength(shown === 503 ? 1 : 0)
  })

  it('stands under the field of its column, and never shows detail and hint', async () => {
    const client = await serveOrders({ exposeTriggerMessages: true })
    expect(await client.send('POST', '/orders', { title: 'title - $1' })).toMatchObject({
      text: '{"detail":"Validation failed","status":400,"errors":{"title":["Sold out: title - $1"]}}',
    })
  })

  it('stands under the nested object whose row was refused', async () => {
    const Line = tableOf('lines', {
      relationMappings: {
        order: {
          relation: Model.BelongsToOneRelation,
          modelClass: Order,
          join: { from: 'lines.order_id', to: 'orders.id' },
        },
      },
    })
    const serializer = serializerOf(Line, ['id', 'name'], { order: new NestedSerializer(Shown) })
    const client = await serveViews({ lines: viewOf(Line, serializer, { exposeTriggerMessages: true }) })
    expect((await client.send('POST', '/lines', { name: 'x', order: { title: 'bad' } })).json.errors).toEqual({
      order: { non_field_errors: ['No "bad" - try later\nor - never'] },
    })
  })

  it('is shown at COMMIT too, and never for a read', async () => {
    const Sunday = tableOf('sundays')
    const view = viewOf(Sunday, serializerOf(Sunday, ['id', 'title']), { exposeTriggerMessages: true })
    const client = await serveViews({ sundays: view })
    expect(await client.send('POST', '/sundays', { title: 'x' })).toMatchObject(NO_FIELD('Nothing on Sundays'))
    expect((await client.get('/sundays')).json).toEqual([])
  })
})

describe('a unique column that PostgreSQL computes of others', () => {
  it('is 400 where it is taken, under its own name where it is shown', async () => {
    const Page = tableOf('pages', { idColumn: 'slug' })
    const client = await serveViews({
      pages: viewOf(Page, serializerOf(Page, ['slug', 'title', 'site'])),
      lists: bulkModelViewSet(Page, { serializerClass: serializerOf(Page, ['slug', 'title', 'site']) }),
    })
    const created = await client.send('POST', '/pages', { title: 'One' })
    expect(created).toMatchObject({ status: 201, json: { slug: 'one' } })
    expect((await client.send('POST', '/pages', { title: 'Two', site: 2 })).status).toBe(201)
    const taken = { status: 400, json: { errors: { slug: ['This field must be unique.'] } } }
    expect(await client.send('POST', '/pages', { title: 'ONE', site: 3 })).toMatchObject(taken)
    expect(await client.send('PATCH', '/pages/two', { title: 'one' })).toMatchObject(taken)
    expect(await client.send('POST', '/lists/bulk', [{ title: 'oNe', site: 3 }])).toMatchObject({ status: 400 })
    expect(await client.send('PATCH', '/pages/two', { site: 1 })).toMatchObject(NO_FIELD('This field must be unique.'))
    // and what refers to it keeps it, as the document says (the client holds each answer to it)
    await database.knex('notes').insert({ page: 'two' })
    expect((await client.send('PATCH', '/pages/two', { title: 'Three' })).status).toBe(409)
    expect(client.reported).toEqual([])
  })
})

describe('An exclusion constraint of expressions', () => {
  it('tells the fields that they are made of', async () => {
    const Booking = tableOf('bookings')
    const client = await serveViews({
      bookings: viewOf(Booking, serializerOf(Booking, ['id', 'room', 'starts', 'ends', 'note'])),
    })
    const taken = { room: 1, starts: 1, ends: 5, note: 'x' }
    expect((await client.send('POST', '/bookings', taken)).status).toBe(201)
    const refused = await client.send('POST', '/bookings', { ...taken, starts: 4, ends: 9 })
    expect([refused.status, refused.json.errors]).toEqual([
      400,
      { non_field_errors: ['The values of room, starts, ends conflict with another object.'] },
    ])
  })
})

describe('An overridden toError()', () => {
  it('sees one shape of a violation, whoever sent the statement', async () => {
    const Shelf = tableOf('shelves')
    const Shown = serializerOf(Shelf, ['id', 'code'])
    const seen: unknown[] = []
    class Told extends (viewOf(Shelf, Shown) as any) {
      toError(error: any) {
        seen.push([error.name, error.status, error.cause?.code, error.cause?.constraint, error.cause?.name])
        return super.toError(error)
      }
    }
    class Saved extends Told {
      async performCreate(serializer: any) {
        return serializer.save({ code: 'a' })
      }
    }
    class Queried extends Told {
      async performCreate() {
        return Shelf.query((this as any).trx).insertAndFetch({ code: 'a' } as never)
      }
    }
    const through = methodOf(Shelf, ['id', 'code'])
    const client = await serveViews({
      told: Told as any,
      saved: Saved as any,
      queried: Queried as any,
      instances: class extends Told {
        static serializerClass = through
      } as any,
    })
    expect((await client.send('POST', '/told', { code: 'a' })).status).toBe(201)
    for (const path of ['/told', '/saved', '/queried', '/instances']) {
      expect([path, (await client.send('POST', path, { code: 'a' })).status]).toEqual([path, 400])
    }
    const bulk = await client.send('POST', '/told/bulk', [{ code: 'b' }, { code: 'a' }])
    const { json } = await client.send('POST', '/told', { code: 'c' })
    const changed = await client.send('PATCH', `/told/${json.id}`, { code: 'a' })
    expect([bulk.status, changed.status]).toEqual([400, 400])
    expect(seen).toEqual(seen.map(() => ['ValidationError', 400, '23505', 'one_code', 'error']))
    expect(seen).toHaveLength(6)
  })
})

describe('a column that two fields write', () => {
  it('has what is wrong told under the one that was sent', async () => {
    await database.knex.raw(`create table owners (code text primary key); insert into owners values ('a');
      create table pets (id serial primary key, owner_code text unique references owners)`)
    const Owner = tableOf('owners', { idColumn: 'code' })
    const Pet = tableOf('pets', {
      relationMappings: () => ({
        owner: {
          relation: Model.BelongsToOneRelation,
          modelClass: Owner,
          join: { from: 'pets.owner_code', to: 'owners.code' },
        },
      }),
    })
    const Pets = viewOf(Pet, serializerOf(Pet, ['id', 'owner', 'owner_code']))
    const { send } = await serveViews({ pets: Pets })
    for (const name of ['owner', 'owner_code']) {
      expect(await send('POST', '/pets', { [name]: 'z' })).toMatchObject({
        status: 400,
        json: { errors: { [name]: [expect.any(String)] } },
      })
    }
    expect((await send('POST', '/pets', { owner: 'a' })).status).toBe(201)
    const taken = { errors: { owner_code: ['This field must be unique.'] } }
    expect(await send('POST', '/pets', { owner_code: 'a' })).toMatchObject({ status: 400, json: taken })
  })
})
