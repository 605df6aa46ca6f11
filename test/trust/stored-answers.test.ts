/**
 * Answers to writes by chance: triggers of each kind, rules, foreign keys that pass changes on, hooks of models and views, JSON
 * columns, nested objects and lists of keys. The answer of each write is what the GET after it shows, byte for byte, and what
 * nobody has named stays as it is.
 */
import { Model } from 'objection'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NestedSerializer, PrimaryKeyRelatedField } from '../../lib/index.js'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { routerOf, serializerOf, tableOf, viewOf } from '../support/views.js'
import { Random } from './support/random.js'
import { report, seed, size } from './support/size.js'

const APPLICATIONS = size(2, 300)
const WRITES = 8

const SCHEMA = `
  create table orders (
    id int generated always as identity primary key, code text unique not null default gen_random_uuid()::text, name text,
    meta jsonb not null default '{}', n int not null default 0, total int not null default 0, linked int not null default 0,
    first_code text references orders (code) on update cascade
  );
  create table items (id int generated always as identity primary key, order_id int not null references orders, n int not null, doubled int);
  create table tags (id int primary key, label text);
  create table links (order_id int references orders, tag_id int references tags, primary key (order_id, tag_id));
  create function count_up() returns trigger language plpgsql as $$ begin
    if pg_trigger_depth() > 1 then return null; end if;
    update orders set n = n + 1 where id = new.id; return null; end $$;
  create function count_all() returns trigger language plpgsql as $$ begin
    if pg_trigger_depth() > 1 then return null; end if;
    update orders set n = n + 1 where id = (select max(id) from orders); return null; end $$;
  create function add_first() returns trigger language plpgsql as $$ begin
    update orders set total = total + new.n where id = new.order_id; new.doubled = 2 * new.n; return new; end $$;
  create function sum_up() returns trigger language plpgsql as $$ begin
    update orders set total = (select sum(n) from items where order_id = new.order_id) where id = new.order_id;
    return null; end $$;
  create function double_later() returns trigger language plpgsql as $$ begin
    if pg_trigger_depth() > 1 then return null; end if;
    update items set doubled = 3 * n where id = new.id; return null; end $$;
  create function count_links() returns trigger language plpgsql as $$ begin
    update orders o set linked = (select count(*) from links l where l.order_id = o.id) where id = coalesce(new.order_id, old.order_id);
    return null; end $$;
  create function own_code() returns trigger language plpgsql as $$ begin
    if new.first_code is null then new.first_code = new.code; end if; return new; end $$;
  insert into tags select n, 'tag ' || n from generate_series(1, 4) n;
`

/** What a database may do besides a write. */
const TRIGGERS: readonly string[] = [
  'trigger by_chance_1 after insert on orders for each row execute function count_up()',
  'trigger by_chance_2 after update of name, meta on orders for each row execute function count_up()',
  'trigger by_chance_3 after insert or update on orders for each statement execute function count_all()',
  // of columns that it leaves alone: what a deferred trigger updates would set it off again, without end
  'constraint trigger by_chance_4 after insert or update of name, meta on orders deferrable initially deferred for each row execute function count_up()',
  'trigger by_chance_5 before insert or update on orders for each row execute function own_code()',
  'trigger by_chance_6 before update on orders for each row execute function suppress_redundant_updates_trigger()',
  'trigger by_chance_7 before insert on items for each row execute function add_first()',
  'trigger by_chance_8 after insert or update on items for each row execute function sum_up()',
  'constraint trigger by_chance_9 after insert on items deferrable initially deferred for each row execute function double_later()',
  'trigger by_chance_a after insert or delete on links for each row execute function count_links()',
]

type Hook = 'none' | 'json' | 'afterInsert' | 'afterUpdate' | 'perform'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
})
afterAll(() => database.drop())

/** A view set of orders, as one application may have it. */
function ordersView(hook: Hook, hidesLists: boolean) {
  const Item = tableOf('items')
  const Tag = tableOf('tags')
  class Order extends Model {
    static override tableName = 'orders'
    declare id: number
    declare meta: object | undefined
    static override relationMappings = () => ({
      items: { relation: Model.HasManyRelation, modelClass: Item, join: { from: 'orders.id', to: 'items.order_id' } },
      tags: {
        relation: Model.ManyToManyRelation,
        modelClass: Tag,
        join: { from: 'orders.id', through: { from: 'links.order_id', to: 'links.tag_id' }, to: 'tags.id' },
      },
    })
  }
  const again = (id: number, transaction: unknown) =>
    Order.query(transaction as never)
      .findById(id)
      .patch({ linked: 100 } as never)
  class Hooked extends Order {
    override $beforeUpdate() {
      if (hook === 'json' && this.meta) this.meta = { ...this.meta, by: 'hook' }
    }
    override async $afterInsert(context: { transaction: unknown }) {
      if (hook === 'afterInsert') await again(this.id, context.transaction)
    }
    override async $afterUpdate({ old }: { old?: { id: number } }, context: { transaction: unknown }) {
      if (hook === 'afterUpdate' && old?.id)
        await Item.query(context.transaction as never)
          .patch({ doubled: 7 } as never)
          .where('order_id', old.id)
    }
  }
  const model = hook === 'none' || hook === 'perform' ? Order : Hooked

  const own = ['id', 'code', 'name', 'meta', 'n', 'total', 'linked', 'first_code']
  const lists = {
    items: new NestedSerializer(serializerOf(Item, ['id', 'n', 'doubled']), { many: true, required: false }),
    tags: new PrimaryKeyRelatedField({ queryset: Tag, many: true, required: false }),
  }
  const serializer = serializerOf(model, hidesLists ? own : [...own, 'items', 'tags'], hidesLists ? {} : lists)
  Object.assign(serializer, { readOnlyFields: ['n', 'total', 'linked', 'first_code'] })
  class Orders extends viewOf(model, serializer) {
    override async performCreate(saving: any) {
      const saved = await saving.save()
      if (hook === 'perform') await again(saved.id, this.trx)
    }
    override async performUpdate(saving: any) {
      const saved = await saving.save()
      if (hook === 'perform') await again(saved.id, this.trx)
    }
  }
  return hook === 'perform' ? Orders : viewOf(model, serializer)
}

function bodyBy(random: Random, stored: any, hidesLists: boolean): Record<string, unknown> {
  const name = random.pick(['a', 'b', stored?.name ?? 'c'])
  const items = (stored?.items ?? []).filter(() => random.chance(0.5))
  const changed = items.map(({ id, n }: { id: number; n: number }) => ({ id, n: n + random.below(2) }))
  const body: Record<string, unknown> = { name, meta: random.pick([{ a: 1 }, [1, 'two'], stored?.meta ?? {}]) }
  if (stored && random.chance(0.3)) body['code'] = `code ${random.next()}`
  if (hidesLists) return body
  if (random.chance(0.7))
    body['items'] = [...changed, ...Array.from({ length: random.below(3) }, () => ({ n: random.below(9) }))]
  if (random.chance(0.6)) body['tags'] = random.some([1, 2, 3, 4])
  return body
}

it(`[P14] answers to writes are what is stored, in ${APPLICATIONS} applications by chance`, {
  timeout: 3_600_000,
}, async () => {
  const { knex } = database
  const random = new Random(seed)
  let writes = 0
  for (let application = 0; application < APPLICATIONS; application++) {
    const triggers = random.some(TRIGGERS, 0.3)
    const hook = random.pick<Hook>(['none', 'none', 'json', 'afterInsert', 'afterUpdate', 'perform'])
    const hidesLists = random.chance(0.3)
    await knex.raw(
      `truncate orders, items, links restart identity; ${triggers.map((one) => `create ${one};`).join(' ')}`,
    )
    const about = JSON.stringify({ seed, application, triggers, hook, hidesLists })
    const api = routerOf({ orders: ordersView(hook, hidesLists) })
    await api.prepare()
    const client = await serving(api.routes())
    try {
      await knex('orders').insert([{ name: 'first' }, { name: 'left alone' }])
      for (let write = 0; write < WRITES; write++) {
        await oneWrite(client, random, { hidesLists, about })
        writes++
      }
    } finally {
      await client.close()
      for (const one of triggers) {
        const [, name, table] = /trigger (\w+) .* on (\w+) /.exec(one) as unknown as [string, string, string]
        await knex.raw(`drop trigger ${name} on ${table}`)
      }
    }
  }
  report('answers to writes', { applications: APPLICATIONS, writes, seed })
})

async function oneWrite(client: Client, random: Random, { hidesLists, about }: { hidesLists: boolean; about: string }) {
  const alone = async () =>
    (await database.knex.raw(`select to_jsonb(o) - 'n' as row from orders o where name = 'left alone'`)).rows
  const before = await alone()
  const stored = (await client.get('/orders')).json.filter(({ name }: { name: string }) => name !== 'left alone')
  const one = random.pick<any>(stored)
  const other = stored.find(({ id }: { id: number }) => id !== one.id)
  const isBulk = random.chance(0.4)
  const method = isBulk ? random.pick(['POST', 'PATCH']) : random.pick(['POST', 'PATCH', 'PUT'])
  const target = (each: any) => (method === 'POST' ? undefined : each)
  const bodies = (isBulk && (method === 'POST' || other) ? [one, other] : [one]).map((each) =>
    bodyBy(random, target(each), hidesLists),
  )
  const named =
    isBulk && method === 'PATCH' ? bodies.map((body, index) => ({ id: [one, other][index].id, ...body })) : bodies
  const path = isBulk ? '/orders/bulk' : method === 'POST' ? '/orders' : `/orders/${one.id}`
  const answer = await client.send(method, path, isBulk ? named : bodies[0])
  const what = `${about} ${method} ${path} ${JSON.stringify(isBulk ? named : bodies[0])} ${answer.text}`
  expect({ what, isDone: answer.status < 300 }).toEqual({ what, isDone: true })
  const shown: any[] = [answer.json].flat()
  const read = await Promise.all(shown.map(({ id }) => client.get(`/orders/${id}`)))
  // but for the spaces in jsonb as PostgreSQL writes it
  const texts = read.map(({ json }) => JSON.stringify(json))
  const wanted = { what, shown: isBulk ? `[${texts.join(',')}]` : texts[0], alone: before }
  expect({ what, shown: JSON.stringify(answer.json), alone: await alone() }).toEqual(wanted)
}
