/** A caller is known by kind and id: customer 1 is not employee 1, whatever both send. */
import { ensureIdempotencyTable } from 'koa-viewsets/idempotency'
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  APIRouter,
  type Authentications,
  BaseAuthentication,
  type Context,
  configure,
  FieldFilter,
  IDMixin,
  IsAuthenticated,
  modelSerializer,
  modelViewSet,
  NestedRouter,
  nestedViewSet,
  ServerCursorPagination,
  SimpleRateThrottle,
  table,
  UserRateThrottle,
} from '../../lib/index.js'
import { InMemoryMeteringEngine, MeteringMixin } from '../../lib/metering/index.js'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { seededRandom } from '../support/seeded-random.js'
import { serveViews } from '../support/views.js'
import { seed, size } from '../trust/support/size.js'

/** Users by their id in a header of their kind. */
class ByHeader extends BaseAuthentication {
  constructor(readonly header: string) {
    super()
  }
  override authenticate(ctx: Context) {
    const id = ctx.get(this.header)
    return id === '' ? null : { user: { id: Number(id) } }
  }
}
class Employees extends ByHeader {
  constructor() {
    super('X-Employee')
  }
}
class Customers extends ByHeader {
  constructor() {
    super('X-Customer')
  }
}

const schemes: Authentications = [Employees, Customers, new ByHeader('X-Machine'), new ByHeader('X-Guest')]
const policies = { authenticationClasses: schemes, permissionClasses: [IsAuthenticated] }

class Note extends IDMixin(Model) {
  static override tableName = 'notes'
  static override idConfig = {
    mode: 'signed',
    alphabet: '0123456789abcdef',
    hmacKeys: ['k'.repeat(32)],
    includeUser: true,
  } as const
  declare id: number
  declare text: string
}
const Plain = table('notes')
class Limit extends UserRateThrottle {
  static override budget = 'limit'
  override rate = '3/hour'
}
const plain = modelSerializer(Plain, { fields: ['id', 'text'] })
const views = {
  once: modelViewSet(Plain, { serializerClass: plain, ...policies, idempotent: true }),
  cursors: modelViewSet(Plain, {
    serializerClass: plain,
    ...policies,
    paginationClass: new ServerCursorPagination({ pageSize: 1, maxPerUser: 1, maxTotal: 8 }),
  }),
  limited: modelViewSet(Plain, { serializerClass: plain, ...policies, throttleClasses: [Limit] }),
  ids: modelViewSet(Note, { serializerClass: modelSerializer(Note, { fields: ['id', 'text'] }), ...policies }),
}

let database: TestDatabase
let client: Client
let api: APIRouter

beforeAll(async () => {
  configure({ secretKey: 'x'.repeat(32) })
  database = await createDatabase({
    schema: `create table notes (id int generated always as identity primary key, text text not null);
      insert into notes (text) select 'n' || n from generate_series(1, 5) n`,
  })
  Model.knex(database.knex)
  await ensureIdempotencyTable(database.knex)
  SimpleRateThrottle.memory.clear()
  api = new APIRouter()
  for (const [name, view] of Object.entries(views)) api.register(name, view, name)
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client.close()
  // cursors that are open hold connections
  await api.close()
  await database.drop()
})

/** What each caller has been given, by kind and id. */
interface Known {
  readonly answers: Map<string, string>
  readonly cursors: Set<string>
  ids: string[]
  count: number
}

it(
  'what one caller has is no other’s, though they have one id',
  async () => {
    const random = seededRandom(seed)
    const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T
    const callers = ['X-Employee', 'X-Customer', 'X-Machine', 'X-Guest'].flatMap((header) =>
      ['1', '2'].map((id) => ({ headers: { [header]: id }, name: `${header} ${id}` })),
    )
    const known = new Map<string, Known>(
      callers.map(({ name }) => [name, { answers: new Map(), cursors: new Set(), ids: [], count: 0 }]),
    )
    for (let step = 0; step < size(60, 20_000); step++) {
      const { headers, name } = pick(callers)
      const own = known.get(name) as Known
      const said = `seed ${seed}, step ${step}, ${name}`
      switch (random(4)) {
        case 0: {
          const key = `"key-${random(4)}"`
          const answer = await client.send('POST', '/once', { text: 'same' }, { ...headers, 'Idempotency-Key': key })
          const before = own.answers.get(key)
          const isReplayed = answer.headers['idempotency-replayed'] !== undefined
          expect([said, answer.status, isReplayed, answer.text]).toEqual([
            said,
            201,
            before !== undefined,
            before ?? answer.text,
          ])
          own.answers.set(key, answer.text)
          break
        }
        case 1: {
          const all = [...known].flatMap(([owner, { cursors }]) => [...cursors].map((cursor) => ({ owner, cursor })))
          if (all.length === 0 || random(3) === 0) {
            const opened = await client.get('/cursors', headers)
            expect([said, opened.status]).toEqual([said, own.cursors.size < 1 ? 200 : 429])
            if (opened.status === 200) own.cursors.add(opened.json.cursor_id)
            break
          }
          const { owner, cursor } = pick(all)
          const next = await client.get(`/cursors?server_cursor=${cursor}`, headers)
          expect([said, next.status]).toEqual([said, owner === name ? 200 : 404])
          if (next.json.exhausted === true) own.cursors.delete(cursor)
          break
        }
        case 2: {
          const { status } = await client.get('/limited/1', headers)
          expect([said, status]).toEqual([said, own.count < 3 ? 200 : 429])
          own.count++
          break
        }
        default: {
          own.ids = (await client.get('/ids', headers)).json.map(({ id }: { id: string }) => id)
          for (const [owner, { ids }] of known) {
            const id = ids[0]
            if (id === undefined) continue
            const { status } = await client.get(`/ids/${id}`, headers)
            expect([said, owner, status]).toEqual([said, owner, owner === name ? 200 : 404])
          }
        }
      }
    }
  },
  size(30_000, 600_000),
)

it('what each has used is counted by itself where their schemes say whose users they know; else the bare id is the account', async () => {
  const engine = new InMemoryMeteringEngine()
  const metered = (authenticationClasses: Authentications) =>
    modelViewSet(Plain, {
      serializerClass: plain,
      authenticationClasses,
      mixins: [MeteringMixin],
      meteringEngine: engine,
    })
  class Staff extends Employees {
    override readonly userKind = 'staff'
  }
  const { get } = await serveViews({ several: metered([Staff, Customers]), one: metered([Customers]) })
  for (const header of ['X-Employee', 'X-Customer']) await get('/several', { [header]: '1' })
  await get('/one', { 'X-Customer': '1' })
  await get('/several')
  await vi.waitFor(() =>
    expect(engine.events.map(({ account_id }) => account_id)).toEqual(['["staff","1"]', '1', '1', 'anonymous']),
  )
})

describe('view sets that meet', () => {
  const named = (name: string, authenticationClasses: Authentications, { model = Plain, ...more }: any = {}) =>
    Object.defineProperty(
      modelViewSet(model, {
        serializerClass: plain,
        authenticationClasses,
        filterBackends: [new FieldFilter({ groupParam: 'filter' })],
        ...more,
      } as never),
      'name',
      { value: name },
    )
  class Below extends nestedViewSet(Plain, { serializerClass: plain, parentLookupField: 'id' as never }) {}

  it.each<[string, Authentications, Authentications, boolean]>([
    ['the same schemes', [Employees, Customers], [Customers, Employees], true],
    [
      'schemes of one kind',
      [
        new (class A extends Employees {
          override readonly userKind = 'people'
        })(),
      ],
      [
        new (class B extends Customers {
          override readonly userKind = 'people'
        })(),
      ],
      true,
    ],
    ['none of their own', [], [Customers], true],
    ['another instance', [new Employees()], [new Employees()], false],
    ['other schemes', [Employees], [Customers], false],
    ['some of the schemes', [Employees], [Employees, Customers], false],
  ])('start with %s, or not', async (_name, parents, children, starts) => {
    const api = new APIRouter().register('parents', named('Parents', parents))
    class Children extends Below {
      static override authenticationClasses = children
    }
    new NestedRouter(api, 'parents', { lookup: 'parent_id' }).register('children', Children, 'child')
    const prepared = api.prepare().then(
      () => true,
      (error: Error) => error.message,
    )
    expect(await prepared).toEqual(
      starts
        ? true
        : expect.stringContaining(
            'Children: is nested in Parents: Children knows its callers by other authenticationClasses',
          ),
    )
  })

  it('do not start over one that knows nobody', async () => {
    const api = new APIRouter().register('parents', named('Parents', [Employees]))
    const below = new NestedRouter(api, 'parents', { lookup: 'parent_id' })
    class Between extends Below {
      static override authenticationClasses: Authentications = []
    }
    class Children extends Below {
      static override authenticationClasses: Authentications = [Customers]
    }
    below.register('between', Between, 'between')
    new NestedRouter(below, 'between', { lookup: 'between_id' }).register('children', Children, 'child')
    await expect(api.prepare()).rejects.toThrow(
      /^Children: is nested in Parents: Children knows its callers by other authenticationClasses than Parents/,
    )
  })

  it('do not start where one names another that names one of other schemes', async () => {
    class Linked extends Plain {
      static override relationMappings = () => ({
        self: { relation: Model.BelongsToOneRelation, modelClass: Linked, join: { from: 'notes.id', to: 'notes.id' } },
      })
    }
    const linked = { model: Linked, serializerClass: modelSerializer(Linked, { fields: ['id'] }) }
    const last = named('Last', [Customers], linked)
    const next = named('Next', [], { ...linked, filterRelations: { self: last } })
    const first = named('First', [Employees], { ...linked, filterRelations: { self: next } })
    const api = new APIRouter().register('first', first)
    await expect(api.prepare()).rejects.toThrow(/First knows its callers by other authenticationClasses than Last/)
  })
})
