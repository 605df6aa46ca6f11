/** PATCH by JSON merge patches (RFC 7396). */
import { text } from 'node:stream/consumers'
import { ensureIdempotencyTable } from 'koa-viewsets/idempotency'
import { MergePatchParser } from 'koa-viewsets/patches'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type Authentications,
  action,
  BaseAuthentication,
  BulkModelViewSet,
  type Concurrency,
  type Context,
  IsAuthenticated,
  JSONParser,
  type Parsers,
  type Permissions,
} from '../../lib/index.js'
import { contentNegotiation } from '../../plugins/index.js'
import { serveApp } from '../support/client.js'
import { countQueries } from '../support/database.js'
import {
  database,
  Item,
  ItemSerializer,
  ItemViewSet,
  storedItem,
  storeItem,
  useItems,
  WholeItemSerializer,
} from '../support/patched-items.js'
import { connectTo } from '../support/server.js'
import { routerOf, serveViews } from '../support/views.js'

useItems()

const MERGE = { 'Content-Type': 'application/merge-patch+json' }
const parserClasses: Parsers = [JSONParser, MergePatchParser]

interface Described {
  readonly requestBody: { readonly content: object }
}

class Items extends ItemViewSet {
  static override parserClasses = parserClasses
}

class WholeItems extends Items {
  static override serializerClass = WholeItemSerializer
}

describe('a merge patch', () => {
  it('merges at any depth inside of a JSON column, where plain JSON replaces', async () => {
    const { send } = await serveViews({ items: Items })
    const path = await storeItem({ meta: { a: 1, b: { c: 2, d: [1, 2] } } })
    const merged = await send('PATCH', path, { meta: { a: null, b: { d: [3], e: null }, f: {} } }, MERGE)
    expect(merged).toMatchObject({ status: 200, json: { name: 'a' } })
    expect(merged.json.meta).toEqual({ b: { c: 2, d: [3] }, f: {} })
    const replaced = await send('PATCH', path, { meta: { a: null } })
    expect(replaced.json.meta).toEqual({ a: null })
  })

  it.each<[string, unknown, unknown, unknown]>([
    ['a list by an object', [1, 2], { a: 1, b: null }, { a: 1 }],
    ['an object by a list', { a: 1 }, [null, { a: null }], [null, { a: null }]],
    ['a text by an object', 'text', { a: { b: null } }, { a: {} }],
    ['nothing by an object', null, { a: { b: null } }, { a: {} }],
    ['an object by null', { a: 1 }, null, null],
    ['an object by false', { a: 1 }, false, false],
  ])('replaces %s', async (_name, meta, patch, expected) => {
    const { send } = await serveViews({ items: Items })
    const path = await storeItem({ meta: meta === null ? null : JSON.stringify(meta) })
    expect((await send('PATCH', path, { meta: patch }, MERGE)).json.meta).toEqual(expected)
  })

  it('sets null where that is taken, and is refused where it is not', async () => {
    const { send } = await serveViews({ items: Items })
    const path = await storeItem({ note: 'x', price: 5 })
    expect((await send('PATCH', path, { note: null, price: null }, MERGE)).json).toMatchObject({
      note: null,
      price: null,
    })
    const refused = await send('PATCH', path, { name: null, note: 'y' }, MERGE)
    expect(refused).toMatchObject({ status: 400, json: { errors: { name: ['This field may not be null.'] } } })
    expect(await storedItem(path)).toMatchObject({ name: 'a', note: null })
  })

  it('is refused by the messages of a plain PATCH', async () => {
    const { send } = await serveViews({ items: Items })
    const path = await storeItem()
    for (const body of [[], 'text', 5, null, [{ name: 'b' }]]) {
      expect(await send('PATCH', path, body, MERGE)).toEqual(
        expect.objectContaining({ status: 400, json: (await send('PATCH', path, body)).json }),
      )
    }
    expect(await send('PATCH', path, { price: { a: 1 } }, MERGE)).toMatchObject({ status: 400 })
    expect(await send('PATCH', path, { name: { a: null } }, MERGE)).toMatchObject({
      status: 400,
      json: { errors: { name: ['Not a valid string.'] } },
    })
  })

  it('leaves read-only fields alone, and says so where the client prefers', async () => {
    const { send } = await serveViews({ items: Items })
    const path = await storeItem()
    expect((await send('PATCH', path, { writes: 40, unknown: { a: 1 } }, MERGE)).json.writes).toBe(0)
    const strict = await send('PATCH', path, { unknown: { a: 1 } }, { ...MERGE, Prefer: 'handling=strict' })
    expect(strict).toMatchObject({ status: 400, json: { errors: { unknown: ['Unknown field.'] } } })
  })

  it('replaces a write-only field whole, and shows nothing of what was there', async () => {
    const { send } = await serveViews({ items: Items })
    const path = await storeItem({ secret: { pin: 1234, hint: 'year' } })
    const patched = await send('PATCH', path, { secret: { hint: 'other', pin: null } }, MERGE)
    expect(patched.json).not.toHaveProperty('secret')
    expect((await storedItem(path))['secret']).toEqual({ hint: 'other' })
  })

  it('keeps all digits of numbers, those of the column and those that come', async () => {
    const { send, port } = await serveViews({ items: Items })
    const path = await storeItem({ meta: '{"id": 9007199254740993, "list": [12345678901234567890]}' })
    const body = '{"meta":{"other":0.12345678901234567890}}'
    const answer = await connectTo(port).send({ method: 'PATCH', path, body, headers: MERGE })
    expect(answer.text).toContain(
      '"meta":{"id": 9007199254740993, "list": [12345678901234567890], "other": 0.12345678901234567890}',
    )
    expect((await send('GET', path)).text).toContain('9007199254740993')
  })

  it('writes what it names only, and nothing where it is empty', async () => {
    const { send } = await serveViews({ items: Items })
    const path = await storeItem({ meta: { a: 1 } })
    const texts = await countQueries(database.knex, () => send('PATCH', path, { meta: { b: 1 } }, MERGE))
    const update = texts.find((text) => /^update/i.test(text)) ?? ''
    expect(update).toContain('"meta"')
    expect(update).not.toContain('"name" =')
    expect((await send('PATCH', path, {}, MERGE)).json).toMatchObject({ meta: { a: 1, b: 1 }, writes: 1 })
  })

  it('loses nothing that the queryset does not show of a column', async () => {
    class Masked extends Items {
      override getQueryset() {
        return super.getQueryset().select('items.*', database.knex.raw(`items.meta - 'hidden' as meta`) as never)
      }
    }
    const { send } = await serveViews({ items: Masked })
    const path = await storeItem({ meta: { hidden: 1, a: 1 } })
    expect((await send('PATCH', path, { meta: { a: 2 } }, MERGE)).json.meta).toEqual({ a: 2 })
    expect((await storedItem(path))['meta']).toEqual({ hidden: 1, a: 2 })
  })

  it('refuses a value that has become too deep, and writes nothing', async () => {
    const { send } = await serveViews({ items: Items })
    const nested = (levels: number, inner: unknown): unknown =>
      levels === 0 ? inner : { a: nested(levels - 1, inner) }
    const path = await storeItem({ meta: nested(60, {}) as object })
    const { status, json } = await send('PATCH', path, { meta: nested(62, { b: { c: { d: 1 } } }) }, MERGE)
    expect([status, json.detail]).toEqual([400, 'JSON is nested deeper than 64 levels'])
    expect((await storedItem(path))['writes']).toBe(0)
  })
})

describe('a merge patch of nested objects', () => {
  const store = async () => {
    await database.knex('places').insert({ name: 'Bern', info: { lat: 46, tags: { a: 1 } } })
    const path = await storeItem({ place_id: 1 })
    await database.knex('parts').insert([
      { item_id: 1, label: 'x', info: { a: 1, b: 2 } },
      { item_id: 1, label: 'y', info: null },
    ])
    return path
  }

  it('merges the object that is there, and JSON inside of it', async () => {
    const { send } = await serveViews({ items: WholeItems })
    const path = await store()
    const { json } = await send('PATCH', path, { place: { info: { lat: null, tags: { b: 2 } } } }, MERGE)
    expect(json.place).toEqual({ id: 1, name: 'Bern', info: { tags: { a: 1, b: 2 } } })
  })

  it('makes one where there is none, for which null says nothing', async () => {
    const { send } = await serveViews({ items: WholeItems })
    const path = await storeItem()
    const { json } = await send('PATCH', path, { place: { name: 'Basel', info: { a: { b: null } } } }, MERGE)
    expect(json.place).toMatchObject({ name: 'Basel', info: { a: {} } })
    expect(await send('PATCH', await storeItem(), { place: { name: null } }, MERGE)).toMatchObject({
      status: 400,
      json: { errors: { place: { name: ['This field is required.'] } } },
    })
  })

  it('lets go of it by null', async () => {
    const { send } = await serveViews({ items: WholeItems })
    expect((await send('PATCH', await store(), { place: null }, MERGE)).json.place).toBe(null)
    expect(await database.knex('places')).toHaveLength(1)
  })

  it('takes a list as plain JSON does: elements that name an object change it, and JSON in them is replaced', async () => {
    const { send } = await serveViews({ items: WholeItems })
    const path = await store()
    const { json } = await send('PATCH', path, { parts: [{ id: 1, info: { a: null } }, { label: 'z' }] }, MERGE)
    expect(json.parts).toMatchObject([
      { id: 1, label: 'x', info: { a: null } },
      { id: 2, label: 'y' },
      { id: 3, label: 'z' },
    ])
  })
})

describe('two merge patches at once', () => {
  it('lose neither change, of one column or of one nested object', async () => {
    const { send } = await serveViews({ items: WholeItems })
    await database.knex('places').insert({ name: 'Bern', info: {} })
    const path = await storeItem({ meta: {}, place_id: 1 })
    const names = Array.from({ length: 24 }, (_, index) => `n${index}`)
    const answers = await Promise.all(
      names.map((name, index) =>
        send(
          'PATCH',
          path,
          index % 2 === 0 ? { meta: { [name]: index } } : { place: { info: { [name]: index } } },
          MERGE,
        ),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200))
    const { json } = await send('GET', path)
    expect(Object.keys({ ...json.meta, ...json.place.info }).sort()).toEqual([...names].sort())
  })

  it('sees what another transaction has written while it waited', async () => {
    const { send } = await serveViews({ items: WholeItems })
    await database.knex('places').insert({ name: 'Bern', info: { a: 1 } })
    const path = await storeItem({ meta: { a: 1 }, place_id: 1 })
    const other = await database.knex.transaction()
    onTestFinished(() => (other.isCompleted() ? undefined : other.rollback()) as never)
    await other('places')
      .where('id', 1)
      .update({ info: { a: 1, theirs: 1 } })
    const waiting = send('PATCH', path, { meta: { ours: 1 }, place: { info: { ours: 1 } } }, MERGE)
    // until it waits for the place
    const isWaiting = async () => {
      const { rows } = await database.knex.raw('select 1 from pg_locks where not granted')
      return rows.length > 0
    }
    while (!(await isWaiting())) await new Promise(setImmediate)
    await other.commit()
    expect((await waiting).json).toMatchObject({
      meta: { a: 1, ours: 1 },
      place: { info: { a: 1, ours: 1, theirs: 1 } },
    })
  })

  it('is refused by If-Match where the object is another by now', async () => {
    class Versioned extends Items {
      static override concurrency: Concurrency = 'writes'
    }
    const { send, get } = await serveViews({ items: Versioned })
    const path = await storeItem({ meta: {} })
    const { etag = '' } = (await get(path)).headers
    const answers = await Promise.all(
      ['a', 'b'].map((name) => send('PATCH', path, { meta: { [name]: 1 } }, { ...MERGE, 'If-Match': etag })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 412]))
    expect(Object.keys((await storedItem(path))['meta'] as object)).toHaveLength(1)
  })
})

describe('who takes merge patches', () => {
  class Bulk extends BulkModelViewSet<Item> {
    static override model = Item
    static override serializerClass = ItemSerializer
    static override parserClasses = parserClasses

    @action({ methods: ['PATCH'], detail: true })
    async touch(this: { body: { data: unknown } }) {
      return this.body.data
    }
  }

  it('is PATCH of one object, as OPTIONS, a 415 and the document say', async () => {
    const { send } = await serveViews({ items: Bulk })
    const path = await storeItem()
    const refused: [string, string, string, string][] = [
      ['POST', '/items', 'accept-post', 'application/json'],
      ['PUT', path, 'accept-post', 'application/json'],
      ['PATCH', '/items/bulk', 'accept-patch', 'application/json'],
      ['PATCH', `${path}/touch`, 'accept-patch', 'application/json'],
    ]
    for (const [method, url, header, types] of refused) {
      const answer = await send(method, url, {}, MERGE)
      expect([method, url, answer.status, answer.headers[header]]).toEqual([method, url, 415, types])
    }
    const other = await send('PATCH', path, {}, { 'Content-Type': 'text/plain' })
    const types = 'application/json, application/merge-patch+json'
    expect([other.status, other.headers['accept-patch']]).toEqual([415, types])
    expect((await send('OPTIONS', path)).headers['accept-patch']).toBe(types)
    expect((await send('OPTIONS', '/items/bulk')).headers['accept-patch']).toBe('application/json')
    expect((await send('OPTIONS', '/items')).headers).not.toHaveProperty('accept-patch')
    const api = routerOf({ items: Bulk })
    await api.prepare()
    const { paths } = api.getSchema() as unknown as { paths: Record<string, Record<string, Described>> }
    const typesOf = (url: string, method: string) => Object.keys(paths[url]?.[method]?.requestBody.content ?? {})
    expect(typesOf('/items/{id}', 'patch')).toEqual(['application/json', 'application/merge-patch+json'])
    expect(typesOf('/items/{id}', 'put')).toEqual(['application/json'])
    expect(typesOf('/items', 'post')).toEqual(['application/json'])
    expect(typesOf('/items/bulk', 'patch')).toEqual(['application/json'])
  })

  it('is nobody by default', async () => {
    const { send } = await serveViews({ items: ItemViewSet })
    expect((await send('PATCH', await storeItem(), {}, MERGE)).status).toBe(415)
  })

  it('is an overridden partialUpdate() with getObjectToWrite(), which finds the changes as plain data', async () => {
    const seen: unknown[] = []
    class Own extends Items {
      override async partialUpdate() {
        const item = await this.getObjectToWrite()
        seen.push(this.body.data, (this.ctx.request as { body?: unknown }).body)
        const serializer = this.getInputSerializer({ obj: item, partial: true })
        await serializer.isValid({ raiseException: true })
        await serializer.save()
        return serializer.data
      }
    }
    const { send } = await serveViews({ items: Own })
    const path = await storeItem({ meta: { a: 1 } })
    expect((await send('PATCH', path, { meta: { b: 1 } }, MERGE)).json.meta).toEqual({ a: 1, b: 1 })
    expect(seen).toEqual([{ meta: { a: 1, b: 1 } }, { meta: { a: 1, b: 1 } }])
  })

  it('is no code that never asked for the object: that is a mistake, and nothing is written', async () => {
    class Own extends Items {
      override async partialUpdate() {
        const serializer = this.getInputSerializer({ obj: await this.getObject(), partial: true })
        await serializer.isValid({ raiseException: true })
        return serializer.save()
      }
    }
    const { send, reported } = await serveViews({ items: Own })
    const path = await storeItem()
    expect((await send('PATCH', path, { name: 'b' }, MERGE)).status).toBe(500)
    expect(String(reported[0])).toContain('call it before getInputSerializer()')
    expect(await storedItem(path)).toMatchObject({ name: 'a' })
  })

  it('is performUpdate(), which sees validated data', async () => {
    const seen: unknown[] = []
    class Own extends Items {
      override async performUpdate(serializer: ItemSerializer) {
        seen.push(serializer.validatedData)
        return serializer.save({ note: 'hooked' })
      }
    }
    const { send } = await serveViews({ items: Own })
    const path = await storeItem({ meta: { a: 1 } })
    expect((await send('PATCH', path, { meta: { b: 1 } }, MERGE)).json).toMatchObject({ note: 'hooked' })
    expect(seen).toEqual([{ meta: { a: 1, b: 1 } }])
  })

  it('is a body that other middleware has read, too', async () => {
    const { send } = await serveViews({ items: Items }, async (ctx, next) => {
      Object.assign(ctx.request, { body: JSON.parse((await text(ctx.req)) || '{}') })
      await next()
    })
    const path = await storeItem({ meta: { a: 1, b: { c: 2, d: 3 } } })
    const { json } = await send('PATCH', path, { meta: { a: null, b: { c: null } } }, MERGE)
    expect(json.meta).toEqual({ b: { d: 3 } })
    expect((await send('PATCH', path, { meta: { b: null } })).json.meta).toEqual({ b: null })
  })

  it('is a route written by hand, which gets the document', async () => {
    const { send } = await serveApp(contentNegotiation({ parsers: [JSONParser, MergePatchParser] }), (ctx) => {
      ctx.body = { got: (ctx.request as { body?: unknown }).body }
    })
    expect((await send('PATCH', '/any', { a: null }, MERGE)).json).toEqual({ got: { a: null } })
    expect((await send('POST', '/any', { a: null }, MERGE)).status).toBe(415)
  })
})

describe('a merge patch with other headers', () => {
  it('is answered with nothing where the client prefers', async () => {
    const { send } = await serveViews({ items: Items })
    const path = await storeItem({ meta: { a: 1 } })
    const answer = await send('PATCH', path, { meta: { b: 1 } }, { ...MERGE, Prefer: 'return=minimal' })
    expect(answer).toMatchObject({ status: 204, text: '' })
    expect((await storedItem(path))['meta']).toEqual({ a: 1, b: 1 })
  })

  it('is done once for a key, and is another request than the same text as plain JSON', async () => {
    await ensureIdempotencyTable(database.knex)
    class Caller extends BaseAuthentication {
      override async authenticate(ctx: Context) {
        ctx.state['user'] = { id: 1 }
        return { user: ctx.state['user'] }
      }
    }
    class Once extends Items {
      static override idempotent = true
      static override authenticationClasses: Authentications = [Caller]
      static override permissionClasses: Permissions = [IsAuthenticated]
    }
    const { send } = await serveViews({ items: Once })
    const path = await storeItem({ meta: { a: 1 } })
    const headers = { ...MERGE, 'Idempotency-Key': 'one' }
    for (let time = 0; time < 2; time++) {
      expect((await send('PATCH', path, { meta: { b: 1 } }, headers)).json.writes).toBe(1)
    }
    expect((await send('PATCH', path, { meta: { b: 1 } }, { 'Idempotency-Key': 'one' })).status).toBe(422)
  })
})
