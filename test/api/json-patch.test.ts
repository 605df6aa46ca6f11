/** PATCH by JSON patches (RFC 6902). */
import { JsonPatchParser, MergePatchParser } from 'koa-viewsets/patches'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  BulkModelViewSet,
  type Concurrency,
  configure,
  JSONParser,
  ModelSerializer,
  NestedSerializer,
  type Parsers,
  type SerializerContext,
  SerializerMethodField,
} from '../../lib/index.js'
import { rule } from '../../lib/rules/index.js'
import type { Client } from '../support/client.js'
import { countQueries } from '../support/database.js'
import {
  database,
  Item,
  ItemSerializer,
  ItemViewSet,
  PartSerializer,
  Place,
  storedItem,
  storeItem,
  useItems,
  WholeItemSerializer,
} from '../support/patched-items.js'
import { runsAsRole } from '../support/roles.js'
import { connectTo } from '../support/server.js'
import { routerOf, serveRouter, serveViews } from '../support/views.js'

useItems()

const PATCH = { 'Content-Type': 'application/json-patch+json' }

class Items extends ItemViewSet {
  static override parserClasses: Parsers = [JSONParser, MergePatchParser, JsonPatchParser]
}

class WholeItems extends Items {
  static override serializerClass = WholeItemSerializer
}

type Operation = Readonly<Record<string, unknown>>

const patched = ({ send }: Client, path: string, operations: readonly Operation[], headers: object = {}) =>
  send('PATCH', path, operations, { ...PATCH, ...headers })

/** The messages of a refusal. */
const refusalOf = async (client: Client, path: string, operations: readonly Operation[]) => {
  const { status, json } = await patched(client, path, operations)
  return [status, json.errors]
}

describe('a JSON patch', () => {
  it('does all of its operations on what the caller reads', async () => {
    const client = await serveViews({ items: Items })
    const path = await storeItem({ meta: { a: 1, list: [1, 2] }, price: 5, tags: ['x'] })
    const { status, json } = await patched(client, path, [
      { op: 'test', path: '/price', value: '5.00' },
      { op: 'replace', path: '/name', value: 'b' },
      { op: 'add', path: '/meta/list/-', value: 3 },
      { op: 'add', path: '/tags/0', value: 'y' },
      { op: 'copy', from: '/price', path: '/meta/price' },
      { op: 'move', from: '/meta/a', path: '/meta/b' },
      { op: 'remove', path: '/note' },
    ])
    expect(status).toBe(200)
    expect(json).toMatchObject({ name: 'b', tags: ['y', 'x'], note: null, price: '5.00' })
    expect(json.meta).toEqual({ b: 1, list: [1, 2, 3], price: '5.00' })
  })

  it('writes members that are others, and no more', async () => {
    const client = await serveViews({ items: Items })
    const path = await storeItem({ meta: { a: 1 } })
    const texts = await countQueries(database.knex, () =>
      patched(client, path, [
        { op: 'replace', path: '/name', value: 'a' },
        { op: 'replace', path: '/meta/a', value: 2 },
      ]),
    )
    const update = texts.find((text) => /^update/i.test(text)) ?? ''
    expect(update).toContain('"meta"')
    expect(update).not.toContain('"name" =')
    await patched(client, path, [{ op: 'test', path: '/name', value: 'a' }])
    await patched(client, path, [])
    expect((await storedItem(path))['writes']).toBe(1)
  })

  it('takes an object in the place of the whole, without what is not in it', async () => {
    const client = await serveViews({ items: Items })
    const path = await storeItem({ meta: { a: 1 }, price: 5 })
    const { json } = await patched(client, path, [{ op: 'replace', path: '', value: { name: 'b', tags: null } }])
    expect(json).toMatchObject({ id: 1, name: 'b', meta: null, price: null, writes: 1 })
    expect(await refusalOf(client, path, [{ op: 'add', path: '', value: [] }])).toEqual([
      400,
      { non_field_errors: ['Expected an object.'] },
    ])
    expect(await refusalOf(client, path, [{ op: 'add', path: '', value: {} }])).toEqual([
      400,
      { name: ['This field may not be null.'] },
    ])
  })

  it('is validated as a plain PATCH, whose messages name fields', async () => {
    const client = await serveViews({ items: Items })
    const path = await storeItem({ meta: {} })
    expect(
      await refusalOf(client, path, [
        { op: 'remove', path: '/name' },
        { op: 'replace', path: '/price', value: 'many' },
        { op: 'add', path: '/meta/b', value: 1 },
      ]),
    ).toEqual([400, { name: ['This field may not be null.'], price: ['A valid number is required.'] }])
    expect(await storedItem(path)).toMatchObject({ name: 'a', meta: {}, writes: 0 })
  })

  it('ignores read-only and unknown fields, and says so where the client prefers', async () => {
    const client = await serveViews({ items: Items })
    const path = await storeItem()
    const operations = [
      { op: 'replace', path: '/writes', value: 50 },
      { op: 'remove', path: '/id' },
      { op: 'add', path: '/unknown', value: 1 },
    ]
    expect((await patched(client, path, operations)).json).toMatchObject({ id: 1, writes: 0 })
    const strict = await patched(client, path, operations, { Prefer: 'handling=strict' })
    expect(strict).toMatchObject({ status: 400, json: { errors: { unknown: ['Unknown field.'] } } })
    expect(strict.json.errors).not.toHaveProperty('writes')
  })

  it.each<[number, object, Operation]>([
    [409, { 1: { value: ['The value is another one.'] } }, { op: 'test', path: '/name', value: 'b' }],
    [
      409,
      { 1: { path: ['There is nothing at this place; did you mean "name"?'] } },
      { op: 'replace', path: '/nmae', value: 'b' },
    ],
    [409, { 1: { path: ['There is nothing at this place.'] } }, { op: 'add', path: '/meta/a/b', value: 'b' }],
    [400, { 1: { path: ['Must be a JSON pointer.'] } }, { op: 'add', path: 'name', value: 'b' }],
    [400, { 1: { path: ['The whole cannot be removed.'] } }, { op: 'remove', path: '' }],
  ])('is %i as a whole with one operation that fails: %j', async (status, errors, operation) => {
    const client = await serveViews({ items: Items })
    const path = await storeItem()
    const first = { op: 'replace', path: '/note', value: 'changed' }
    expect(await refusalOf(client, path, [first, operation])).toEqual([status, errors])
    expect(await storedItem(path)).toMatchObject({ note: 'none', writes: 0 })
  })

  it('has codes and pointers in its messages', async () => {
    configure({ problemDetails: true })
    onTestFinished(() => configure({ problemDetails: undefined }))
    const { port } = await serveViews({ items: Items })
    const path = await storeItem()
    const { status, text } = await connectTo(port).send({
      method: 'PATCH',
      path,
      body: '[{"op":"test","path":"/name","value":"b"}]',
      headers: { ...PATCH, Accept: 'application/problem+json' },
    })
    expect([status, JSON.parse(text).errors]).toEqual([
      409,
      [{ pointer: '#/0/value', code: 'patch_test', detail: 'The value is another one.' }],
    ])
  })

  it('keeps all digits of numbers, those of the column and those that come', async () => {
    const { port } = await serveViews({ items: Items })
    const path = await storeItem({ meta: '{"list": [9007199254740992, 9007199254740993]}' })
    const send = (body: string) => connectTo(port).send({ method: 'PATCH', path, body, headers: PATCH })
    const test = (value: string) => `{"op":"test","path":"/meta/list/1","value":${value}}`
    expect((await send(`[${test('9007199254740992')}]`)).status).toBe(409)
    const changes = '{"op":"remove","path":"/meta/list/0"},{"op":"add","path":"/meta/n","value":0.12345678901234567891}'
    const { text } = await send(`[${test('9007199254740993')},${changes}]`)
    expect(text).toContain('"meta":{"n": 0.12345678901234567891, "list": [9007199254740993]}')
  })

  it('loses nothing that the queryset does not show of a column, and is not asked about it', async () => {
    class Masked extends Items {
      override getQueryset() {
        return super.getQueryset().select('items.*', database.knex.raw(`items.meta - 'hidden' as meta`) as never)
      }
    }
    const client = await serveViews({ items: Masked })
    const path = await storeItem({ meta: { hidden: 1, a: 1, b: 1 } })
    expect((await patched(client, path, [{ op: 'test', path: '/meta/hidden', value: 1 }])).status).toBe(409)
    const { json } = await patched(client, path, [
      { op: 'move', from: '/meta/a', path: '/meta/c' },
      { op: 'replace', path: '/meta/b', value: 2 },
    ])
    expect(json.meta).toEqual({ b: 2, c: 1 })
    expect((await storedItem(path))['meta']).toEqual({ hidden: 1, b: 2, c: 1 })
  })

  it('shows what the answer of a plain PATCH would, whatever of it is selected', async () => {
    const client = await serveViews({ items: Items })
    const path = await storeItem({ meta: { a: 1 } })
    const operations = [
      { op: 'test', path: '/name', value: 'a' },
      { op: 'copy', from: '/name', path: '/meta/name' },
    ]
    expect((await patched(client, `${path}?fields=meta`, operations)).json).toEqual({ meta: { a: 1, name: 'a' } })
  })
})

describe('what a caller cannot read', () => {
  it.each<Operation>([
    { op: 'test', path: '/secret', value: null },
    { op: 'test', path: '/secret/pin', value: 1 },
    { op: 'copy', from: '/secret', path: '/meta' },
    { op: 'copy', from: '/secret/pin', path: '/meta' },
    { op: 'move', from: '/secret', path: '/meta' },
    { op: 'copy', from: '/name', path: '/secret' },
    { op: 'move', from: '/note', path: '/secret' },
    { op: 'remove', path: '/secret' },
    { op: 'add', path: '/secret/pin', value: 1 },
    { op: 'replace', path: '/secret/pin', value: 1 },
  ])('is not told by %j, whether it is there or not', async (operation) => {
    const client = await serveViews({ items: Items })
    const member = String(operation['from']).startsWith('/secret') ? 'from' : 'path'
    for (const secret of [null, { pin: 1 }]) {
      const path = await storeItem({ secret, meta: {} })
      expect(await refusalOf(client, path, [operation])).toEqual([
        400,
        { 0: { [member]: ['This field cannot be read.'] } },
      ])
    }
  })

  it('can be set whole, whether it is there or not', async () => {
    const client = await serveViews({ items: Items })
    for (const op of ['add', 'replace']) {
      for (const secret of [null, { pin: 1 }]) {
        const path = await storeItem({ secret })
        const { status, json } = await patched(client, path, [{ op, path: '/secret', value: { pin: 2 } }])
        expect([status, 'secret' in json]).toEqual([200, false])
        expect((await storedItem(path))['secret']).toEqual({ pin: 2 })
      }
    }
  })

  it('is what the serializer leaves out for this caller, and stays', async () => {
    class Guarded extends ItemSerializer {
      static override schemaName = 'GuardedItem'
      override toRepresentation(item: Item) {
        const { note: _note, meta, ...shown } = super.toRepresentation(item) as Record<string, object>
        const { hidden: _hidden, ...rest } = (meta ?? {}) as Record<string, unknown>
        return { ...shown, meta: rest }
      }
    }
    const client = await serveViews({ items: Object.assign(class extends Items {}, { serializerClass: Guarded }) })
    const path = await storeItem({ note: 'n', meta: { hidden: 1, a: 1 } })
    const missing = { 0: { path: ['There is nothing at this place.'] } }
    expect(await refusalOf(client, path, [{ op: 'test', path: '/note', value: 'n' }])).toEqual([409, missing])
    expect(await refusalOf(client, path, [{ op: 'test', path: '/meta/hidden', value: 1 }])).toEqual([409, missing])
    const operations = [
      { op: 'replace', path: '/meta/a', value: 2 },
      { op: 'copy', from: '', path: '/meta/all' },
    ]
    expect((await patched(client, path, operations, { Prefer: 'return=minimal' })).status).toBe(204)
    const { meta, note } = (await storedItem(path)) as { meta: Record<string, object>; note: string }
    expect([meta['hidden'], meta['a'], note]).toEqual([1, 2, 'n'])
    expect(meta['all']).not.toHaveProperty('note')
    expect(meta['all']).not.toHaveProperty('secret')
  })

  it('is a row of somebody else', async () => {
    class Own extends Items {
      override getQueryset() {
        return super.getQueryset().where('note', 'mine')
      }
    }
    const client = await serveViews({ items: Own })
    const path = await storeItem({ note: 'theirs' })
    expect((await patched(client, path, [{ op: 'test', path: '/note', value: 'theirs' }])).status).toBe(404)
  })

  it('can be tested where a method shows it, and not changed', async () => {
    class Counted extends ModelSerializer<Item> {
      static override schemaName = 'CountedItem'
      static override model = ItemSerializer.model
      static override fields = ['id', 'name', 'length']
      static override declaredFields = { length: new SerializerMethodField<number>() }
      getLength({ name }: Item, _context?: SerializerContext) {
        return name.length
      }
    }
    const client = await serveViews({ items: Object.assign(class extends Items {}, { serializerClass: Counted }) })
    const path = await storeItem({ name: 'abc' })
    const { status, json } = await patched(client, path, [
      { op: 'test', path: '/length', value: 3 },
      { op: 'copy', from: '/length', path: '/name' },
    ])
    expect([status, json.errors]).toEqual([400, { name: ['Not a valid string.'] }])
    expect((await patched(client, path, [{ op: 'replace', path: '/length', value: 9 }])).json.length).toBe(3)
  })
})

describe('nested objects', () => {
  const store = async () => {
    await database.knex('places').insert({ name: 'Bern', info: { lat: 46 } })
    const path = await storeItem({ place_id: 1 })
    await database.knex('parts').insert([
      { item_id: 1, label: 'x', info: { a: 1 } },
      { item_id: 1, label: 'y' },
    ])
    return path
  }

  it('change by what is another of them', async () => {
    const client = await serveViews({ items: WholeItems })
    const path = await store()
    const texts = await countQueries(database.knex, async () => {
      const { json } = await patched(client, path, [
        { op: 'add', path: '/place/info/lon', value: 7 },
        { op: 'replace', path: '/parts/1/label', value: 'z' },
        { op: 'add', path: '/parts/0/info/b', value: 2 },
        { op: 'add', path: '/parts/-', value: { label: 'new' } },
      ])
      expect(json.place).toEqual({ id: 1, name: 'Bern', info: { lat: 46, lon: 7 } })
      expect(json.parts).toEqual([
        { id: 1, label: 'x', info: { a: 1, b: 2 } },
        { id: 2, label: 'z', info: null },
        { id: 3, label: 'new', info: null },
      ])
    })
    const update = texts.find((text) => text.startsWith('update "places"')) ?? ''
    expect(update).toContain('"info"')
    expect(update).not.toContain('"name" =')
  })

  it('are made and let go of', async () => {
    const client = await serveViews({ items: WholeItems })
    const path = await store()
    expect((await patched(client, path, [{ op: 'remove', path: '/place' }])).json.place).toBe(null)
    const made = await patched(client, path, [{ op: 'replace', path: '/place', value: { name: 'Basel' } }])
    expect(made.json.place).toMatchObject({ id: 2, name: 'Basel' })
  })

  it('of a list cannot be removed, and messages about them say where they stand', async () => {
    const client = await serveViews({ items: WholeItems })
    const path = await store()
    expect(await refusalOf(client, path, [{ op: 'remove', path: '/parts/0' }])).toEqual([
      400,
      { parts: ['An object of this list cannot be removed.'] },
    ])
    expect(
      await refusalOf(client, path, [
        { op: 'replace', path: '/parts/1/label', value: null },
        { op: 'replace', path: '/place/name', value: null },
      ]),
    ).toEqual([
      400,
      { parts: { 1: { label: ['This field may not be null.'] } }, place: { name: ['This field may not be null.'] } },
    ])
  })

  it('of a list that may be null cannot be removed with the list', async () => {
    class NullableItemSerializer extends ItemSerializer {
      static override schemaName = 'NullableItem'
      static override fields = ['id', 'writes', 'parts']
      static override declaredFields = {
        parts: new NestedSerializer(PartSerializer, { many: true, required: false, allowNull: true }),
      }
    }
    const view = Object.assign(class extends Items {}, { serializerClass: NullableItemSerializer })
    const client = await serveViews({ items: view })
    const path = await storeItem({})
    const changes = [{ op: 'remove' }, { op: 'replace', value: null }].map((change) => [{ ...change, path: '/parts' }])
    for (const change of changes) expect((await patched(client, path, change)).json.parts).toEqual([])
    await database.knex('parts').insert({ item_id: 1, label: 'x' })
    for (const change of changes)
      expect(await refusalOf(client, path, change)).toEqual([
        400,
        { parts: ['An object of this list cannot be removed.'] },
      ])
  })

  it('may be equal where a list shows no key of them', async () => {
    class LabelSerializer extends PartSerializer {
      static override schemaName = 'Label'
      static override fields = ['label', 'info']
    }
    class LabelledItemSerializer extends ItemSerializer {
      static override schemaName = 'LabelledItem'
      static override fields = ['id', 'writes', 'parts']
      static override declaredFields = { parts: new NestedSerializer(LabelSerializer, { many: true, required: false }) }
    }
    const view = Object.assign(class extends Items {}, { serializerClass: LabelledItemSerializer })
    const client = await serveViews({ items: view })
    const path = await storeItem({})
    await database.knex('parts').insert([1, 2].map(() => ({ item_id: 1, label: 'x' })))
    expect(await refusalOf(client, path, [{ op: 'remove', path: '/parts/0' }])).toEqual([
      400,
      { parts: ['An object of this list cannot be removed.'] },
    ])
    const { json } = await patched(client, path, [
      { op: 'replace', path: '/parts/0', value: { info: null, label: 'x' } },
      { op: 'add', path: '/parts/-', value: { label: 'y' } },
    ])
    expect(json.parts).toEqual(['x', 'x', 'y'].map((label) => ({ label, info: null })))
  })

  it('are told by their keys where they are shown in another order', async () => {
    class TurnedItemSerializer extends WholeItemSerializer {
      static override schemaName = 'TurnedItem'
      override toRepresentation(item: Item): unknown {
        const shown = super.toRepresentation(item) as { parts: unknown[] }
        return { ...shown, parts: [...shown.parts].reverse() }
      }
    }
    const view = Object.assign(class extends Items {}, { serializerClass: TurnedItemSerializer })
    const client = await serveViews({ items: view })
    const path = await store()
    await database
      .knex('parts')
      .where('id', 2)
      .update({ info: { c: 3 } })
    const { json } = await patched(client, path, [{ op: 'add', path: '/parts/0/info/b', value: 2 }])
    expect(json.parts).toMatchObject([
      { id: 2, info: { b: 2, c: 3 } },
      { id: 1, info: { a: 1 } },
    ])
  })

  it('are read anew once they are held', async () => {
    const client = await serveViews({ items: WholeItems })
    const path = await store()
    const other = await database.knex.transaction()
    onTestFinished(() => (other.isCompleted() ? undefined : other.rollback()) as never)
    await other('places')
      .where('id', 1)
      .update({ name: 'Basel', info: { lat: 46, theirs: [1] } })
    const waiting = patched(client, path, [
      { op: 'test', path: '/place/name', value: 'Basel' },
      { op: 'add', path: '/place/info/theirs/-', value: 2 },
    ])
    const isWaiting = async () => {
      const { rows } = await database.knex.raw('select 1 from pg_locks where not granted')
      return rows.length > 0
    }
    while (!(await isWaiting())) await new Promise(setImmediate)
    await other.commit()
    expect((await waiting).json.place).toEqual({ id: 1, name: 'Basel', info: { lat: 46, theirs: [1, 2] } })
  })
})

describe('JSON patches at once', () => {
  it('lose no change', async () => {
    const client = await serveViews({ items: Items })
    const path = await storeItem({ meta: { list: [], count: 0 } })
    const numbers = Array.from({ length: 24 }, (_, index) => index)
    const answers = await Promise.all(
      numbers.map((value) => patched(client, path, [{ op: 'add', path: '/meta/list/-', value }])),
    )
    expect(answers.map(({ status }) => status)).toEqual(numbers.map(() => 200))
    const { list } = (await storedItem(path))['meta'] as { list: number[] }
    expect(list.toSorted((one, other) => one - other)).toEqual(numbers)
  })

  it('are a lock by a test: one of them finds what it has read', async () => {
    const client = await serveViews({ items: Items })
    const path = await storeItem({ meta: { count: 0 } })
    const answers = await Promise.all(
      [1, 2, 3, 4].map((value) =>
        patched(client, path, [
          { op: 'test', path: '/meta/count', value: 0 },
          { op: 'replace', path: '/meta/count', value },
        ]),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(3)
    expect((await storedItem(path))['writes']).toBe(1)
  })

  it('are refused by If-Match before any test', async () => {
    class Versioned extends Items {
      static override concurrency: Concurrency = 'writes'
    }
    const client = await serveViews({ items: Versioned })
    const path = await storeItem()
    const { etag = '' } = (await client.get(path)).headers
    const operations = [
      { op: 'test', path: '/note', value: 'none' },
      { op: 'replace', path: '/note', value: 'x' },
    ]
    const first = await patched(client, path, operations, { 'If-Match': etag })
    expect(first.status).toBe(200)
    expect(first.headers['etag']).not.toBe(etag)
    expect((await patched(client, path, operations, { 'If-Match': etag })).status).toBe(412)
    expect((await patched(client, path, operations, { 'If-Match': first.headers['etag'] as string })).status).toBe(409)
  })
})

describe('a JSON patch with other things', () => {
  it('gives performUpdate() validated data, in the transaction that holds the row', async () => {
    const seen: unknown[] = []
    class Own extends Items {
      override async performUpdate(serializer: ItemSerializer) {
        seen.push(serializer.validatedData, this.body.data, this.trx !== undefined)
        return serializer.save({ note: 'hooked' })
      }
    }
    const client = await serveViews({ items: Own })
    const path = await storeItem({ meta: { a: 1 } })
    const { json } = await patched(client, path, [
      { op: 'test', path: '/name', value: 'a' },
      { op: 'add', path: '/meta/b', value: 2 },
      { op: 'add', path: '/secret', value: 1 },
    ])
    expect(json.note).toBe('hooked')
    const data = { meta: { a: 1, b: 2 }, secret: 1 }
    expect(seen).toEqual([data, data, true])
  })

  it.skipIf(runsAsRole())(
    'sees rows and columns by the policies of the database: what an update may not touch is 403',
    async () => {
      await database.knex.raw(`
      create role patch_reader_${process.pid};
      grant select, update on items to patch_reader_${process.pid};
      alter table items enable row level security;
      create policy seen on items for select using (note is distinct from 'hidden');
      create policy written on items for update using (note = 'mine') with check (note = 'mine')`)
      onTestFinished(
        () =>
          database.knex.raw(`
        drop policy seen on items; drop policy written on items; alter table items disable row level security;
        drop owned by patch_reader_${process.pid}; drop role patch_reader_${process.pid}`) as never,
      )
      class Secured extends Items {
        static override databaseRole = `patch_reader_${process.pid}`
      }
      const client = await serveViews({ items: Secured })
      const operations = [
        { op: 'test', path: '/name', value: 'a' },
        { op: 'add', path: '/meta', value: { a: 1 } },
      ]
      const statuses: number[] = []
      for (const note of ['mine', 'theirs', 'hidden']) {
        statuses.push((await patched(client, await storeItem({ note }), operations)).status)
      }
      expect(statuses).toEqual([200, 403, 404])
      const own = await storeItem({ note: 'mine' })
      const given = await patched(client, own, [{ op: 'replace', path: '/note', value: 'theirs' }])
      expect(given.status).toBe(403)
      expect((await storedItem(own))['writes']).toBe(0)
    },
  )

  it('is told by explain(), whose parsers name it', async () => {
    const api = routerOf({ items: Items })
    await api.prepare()
    const parsers = (await api.explain()).map(({ method, path, parsers: read }) => [method, path, read])
    expect(parsers).toContainEqual(['PATCH', '/items/{id}', ['JSONParser', 'MergePatchParser', 'JsonPatchParser']])
    expect(parsers).toContainEqual(['PUT', '/items/{id}', ['JSONParser']])
  })
})

describe('limits', () => {
  it('are the number of operations, and what copies add', async () => {
    class Few extends Items {
      static override parserClasses: Parsers = [new JsonPatchParser({ operations: 2, limit: 1000 })]
    }
    const client = await serveViews({ items: Few })
    const path = await storeItem({ meta: { text: 'x'.repeat(400) } })
    const test = { op: 'test', path: '/name', value: 'a' }
    expect(await refusalOf(client, path, [test, test, test])).toEqual([
      400,
      { non_field_errors: ['Give at most 2 operations.'] },
    ])
    const copy = (to: string) => ({ op: 'copy', from: '/meta/text', path: `/meta/${to}` })
    expect(await refusalOf(client, path, [copy('a'), copy('b')])).toEqual([
      400,
      { 1: { path: ['Make at most 1000 characters.'] } },
    ])
    expect((await patched(client, path, [copy('a')])).status).toBe(200)
    const api = routerOf({ items: Few })
    await api.prepare()
    const { paths } = api.getSchema() as unknown as { paths: Record<string, Record<string, { requestBody: object }>> }
    expect(paths['/items/{id}']?.['patch']?.requestBody).toMatchObject({
      content: {
        'application/json-patch+json': {
          schema: { type: 'array', maxItems: 2, items: { $ref: '#/components/schemas/JsonPatchOperation' } },
        },
      },
    })
  })

  it('hold for what has grown: a JSON column takes 64 levels', async () => {
    const client = await serveViews({ items: Items })
    const path = await storeItem({ meta: { a: 1 } })
    const nest = Array.from({ length: 70 }, (_, index) => ({
      op: 'add',
      path: `/meta${'/a'.repeat(index + 1)}`,
      value: {},
    }))
    expect(await refusalOf(client, path, nest)).toEqual([400, { meta: ['Nested too deeply: at most 64 levels.'] }])
    expect((await storedItem(path))['meta']).toEqual({ a: 1 })
  })

  it('leave no way for hostile bodies: nothing is written, and nothing fails within', async () => {
    const client = await serveViews({ items: WholeItems })
    const path = await storeItem({ meta: { a: 1 } })
    const before = await storedItem(path)
    const bodies = [
      '',
      '{}',
      'null',
      '5',
      '[null]',
      '[[]]',
      '[{"op":"add"}]',
      '[{"op":"add","path":"/meta/__proto__","value":{"x":1}}]',
      '[{"op":"add","path":"/meta","value":{"__proto__":{"x":1}}}]',
      '[{"op":"add","path":"/meta/constructor","value":{"prototype":{"x":1}}}]',
      '[{"op":"add","path":"/meta/x","value":"\\u0000"}]',
      '[{"op":"add","path":"/meta/\\u0000","value":1}]',
      '[{"op":"add","path":"/meta/\\ud800","value":1}]',
      '[{"op":"add","path":"/meta/x","value":1e99999}]',
      '[{"op":"replace","path":"/place","value":[]}]',
      '[{"op":"replace","path":"/parts","value":{}}]',
      '[{"op":"replace","path":"/parts","value":[[]]}]',
      '[{"op":"add","path":"/parts/-","value":5}]',
      '[{"op":"add","path":"/place/name","value":"x"}]',
      '[{"op":"test","path":"/meta/a","value":[1]}]',
      '[{"op":"test","path":"/name/length","value":1}]',
      `[{"op":"add","path":"${'/meta'.repeat(2000)}","value":1}]`,
      `[{"op":"add","path":"/meta","value":${'['.repeat(70)}${']'.repeat(70)}}]`,
      `[${'{"op":"test","path":"","value":0},'.repeat(101).slice(0, -1)}]`,
    ]
    for (const body of bodies) {
      const { status } = await connectTo(client.port).send({ method: 'PATCH', path, body, headers: PATCH })
      expect([body, body === '' ? 400 : status]).toEqual([body, status === 409 ? 409 : 400])
    }
    expect(await storedItem(path)).toEqual(before)
    expect(client.reported).toEqual([])
    expect({}).not.toHaveProperty('x')
  })
})

it('bulk paths, PUT and POST do not take JSON patches', async () => {
  class Bulk extends BulkModelViewSet<Item> {
    static override model = ItemSerializer.model
    static override serializerClass = ItemSerializer
    static override parserClasses: Parsers = [JSONParser, JsonPatchParser]
  }
  const { send } = await serveViews({ items: Bulk })
  const path = await storeItem()
  for (const [method, url] of [
    ['POST', '/items'],
    ['PUT', path],
    ['PATCH', '/items/bulk'],
  ] as const) {
    expect((await send(method, url, [], PATCH)).status).toBe(415)
  }
})

describe('a patch of JSON that rules mask', () => {
  const mine = { read: { name: 'mine' }, write: true, mask: (value: unknown) => ({ a: (value as { a: unknown }).a }) }
  const rules = [rule(Item, { fields: { meta: mine } }), rule(Place, { fields: { info: mine } })]
  const MERGE = { 'Content-Type': 'application/merge-patch+json' }
  const replaced = (path: string) => [{ op: 'replace', path, value: 2 }]

  it.each([
    ['mine', 'a merge patch', { meta: { a: 2 } }, { place: { info: { a: 2 } } }, MERGE],
    ['mine', 'a JSON patch', replaced('/meta/a'), replaced('/place/info/a'), PATCH],
    ['another', 'a merge patch', { meta: { a: 2 } }, { place: { info: { a: 2 } } }, MERGE],
    ['another', 'a JSON patch', replaced('/meta/a'), replaced('/place/info/a'), PATCH],
  ])('changes what is stored, and no mask: of %s by %s', async (name, _format, own, nested, headers) => {
    const [place] = await database.knex('places').insert({ name, info: '{"a":1,"b":1}' }).returning('id')
    const path = await storeItem({ name, meta: { a: 1, b: 1 }, place_id: place.id })
    for (const [view, patch] of [
      [Items, own],
      [WholeItems, nested],
    ] as const) {
      const { send } = await serveRouter(routerOf({ items: view }, { rules }))
      expect(await send('PATCH', path, patch, headers)).toMatchObject({ status: 200 })
    }
    expect(await storedItem(path)).toMatchObject({ meta: { a: 2, b: 1 } })
    expect(await database.knex('places').first()).toMatchObject({ info: { a: 2, b: 1 } })
  })
})
