/** What groups of filters ask about related objects: which rows they show, who may ask what, and what is refused. */
import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  APIRouter,
  BaseFilter,
  CursorPagination,
  configure,
  FieldFilter,
  type FilterRelations,
  type Filters,
  LimitOffsetPagination,
  ModelViewSet,
  NestedViewSetMixin,
  type Pagination,
} from '../../lib/index.js'
import type { AnyQueryBuilder } from '../../lib/models/objection.js'
import { formatExplanations } from '../../lib/tools/index.js'
import { type Client, serveApp, serving } from '../support/client.js'
import { countQueries, type TestDatabase } from '../support/database.js'
import { operationOf } from '../support/operation-of.js'
import { runsAsRole } from '../support/roles.js'
import { createShop, Items, Known, Makers, Orders, Review, ReviewSerializer, Reviews, Tags } from '../support/shop.js'

/** Reviews that are not hidden, by a declared query with an OR of its own. */
class Shown extends Reviews {
  static override model = null
  static override queryset = () => Review.query().where('hidden', false).orWhere('id', '<', 0).select('reviews.id')
}
/** Reviews of the caller, and nothing for anybody else. */
class Owned extends Reviews {
  static override permissionClasses = [Known]
  override getQueryset() {
    const { id } = this.ctx.state['user'] as { id: string }
    return super.getQueryset().where('owner', id)
  }
}
class OnlyGood extends BaseFilter {
  override filterQueryset(query: AnyQueryBuilder) {
    return query.where('stars', '>', 3).orWhere('stars', '<', 0)
  }
}
class Backed extends Reviews {
  static override filterBackends: Filters = [OnlyGood, new FieldFilter({ groupParam: 'filter' })]
}
class Narrowed extends Reviews {
  override filterQueryset(query: AnyQueryBuilder) {
    return super.filterQueryset(query).where('stars', '<', 3)
  }
}
class Hooked extends Reviews {
  override getQueryset() {
    return super
      .getQueryset()
      .runBefore((_result: unknown, query: AnyQueryBuilder) => void query.where('hidden', false))
  }
}

const related = (reviews: FilterRelations[string]) =>
  class extends Items {
    static override filterRelations: FilterRelations = { reviews, tags: Tags }
  }
const newest = (reviews: FilterRelations[string]) =>
  class extends Items {
    static override filterRelations: FilterRelations = { newest: reviews }
  }
class Instances extends Items {
  override getQueryset() {
    return super.getQueryset().where('items.id', '>', 0).orWhere('items.id', '<', 0)
  }
}
class Native extends Items {
  static override useNativeJson = true
}
class Cursors extends Items {
  static override paginationClass: Pagination = new CursorPagination({ pageSize: 2 })
  static override orderingFields = ['price']
}
class Offsets extends Items {
  static override paginationClass: Pagination = new LimitOffsetPagination({ defaultLimit: 2 })
}
class Strict extends Items {
  static override strictParams = true
}

let database: TestDatabase
let client: Client
let api: APIRouter

beforeAll(async () => {
  configure({ secretKey: 'a secret of the tests' })
  database = await createShop()
  api = new APIRouter()
    .register('items', Items, 'item')
    .register('instances', Instances, 'instance')
    .register('natives', Native, 'native')
    .register('makers', Makers, 'maker')
    .register('reviews', Reviews, 'review')
    .register('orders', Orders, 'order')
    .register('cursors', Cursors, 'cursor')
    .register('offsets', Offsets, 'offset')
    .register('strict', Strict, 'strict')
  const views = { shown: Shown, owned: Owned, backed: Backed, narrowed: Narrowed, hooked: Hooked }
  for (const [name, view] of Object.entries(views)) api.register(name, related(view), name)
  api.register('newest', newest(Reviews), 'newest').register('newestShown', newest(Shown), 'newestShown')
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client?.close()
  await database?.drop()
})
afterEach(() => expect(client.reported.splice(0)).toEqual([]))

const address = (path: string, text: string, more = {}) =>
  `/${path}?${new URLSearchParams({ filter: text, ...more }).toString()}`

async function found(path: string, text: string, headers = {}): Promise<number[]> {
  const { status, json } = await client.get(address(path, text), headers)
  expect([path, text, status, json]).toEqual([path, text, 200, json])
  const rows: { id: number }[] = json.results ?? json
  return rows.map(({ id }) => id).sort((one, other) => one - other)
}

async function refused(text: string, path = 'items'): Promise<string[]> {
  const { status, json } = await client.get(address(path, text))
  expect([text.slice(0, 80), status, Object.keys(json.errors ?? {})]).toEqual([text.slice(0, 80), 400, ['filter']])
  return json.errors.filter
}

const ALL = [1, 2, 3, 4, 5]

describe('groups about a relation that shows the first of several objects', () => {
  it.each([
    ['any(newest,stars=5)', [4], []],
    ['any(newest,stars=2)', [1], [1]],
    ['none(newest)', [5], [4, 5]],
    ['count(newest)=1', [1, 2, 3, 4], [1, 2, 3]],
  ])('ask %s of that one, the first of those that the view set shows', async (text, ofAll, ofShown) => {
    expect([text, await found('newest', text)]).toEqual([text, ofAll])
    expect([text, await found('newestShown', text)]).toEqual([text, ofShown])
  })
})

describe.each(['items', 'instances', 'natives'])('groups of %s', (path) => {
  it.each([
    ['any(reviews)', [1, 2, 3, 4]],
    ['none(reviews)', [5]],
    ['not(any(reviews))', [5]],
    ['not(none(reviews))', [1, 2, 3, 4]],
    ['any(reviews,stars__gte=4)', [1, 2, 4]],
    ['none(reviews,stars__gte=4)', [3, 5]],
    ['any(reviews,and(stars__gte=4,text__icontains=good))', [1, 2, 4]],
    ['any(reviews,not(stars__gte=4))', [1, 2, 3]],
    ['none(reviews,not(stars__gte=4))', [4, 5]],
    ['any(reviews,stars__isnull=true)', [2]],
    ['any(reviews,stars__ne=5)', [1, 2, 3]],
    ['and(any(reviews,stars=5),any(reviews,stars=2))', [1]],
    ['any(reviews,and(stars=5,stars=2))', []],
    ['any( reviews , text="very good" )', [1]],
    ['or(any(tags,name=old),price__lt=6)', [2, 4]],
    ['any(goodReviews,text__startswith=very)', [1]],
    ['none(goodReviews)', [3, 5]],
    ['any(tags,name=new)', [1, 3]],
    ['any(mainTags,name=new)', [1]],
    ['none(mainTags)', [3, 4, 5]],
    ['any(box)', [1, 2]],
    ['any(box,size__isnull=true)', [2]],
    ['any(box,size__gt=5)', [1]],
    ['any(maker)', [1, 2, 3, 4]],
    ['any(maker,name=Ada)', [1, 2]],
    ['any(maker,name__ne=Ada)', [3, 4]],
    ['none(maker,name=Ada)', [3, 4, 5]],
    ['any(maker,boss__name=Ada)', [3]],
    ['any(maker,any(boss,name=Ben))', [4]],
    ['any(maker,any(boss,any(boss,name=Ada)))', [4]],
    ['any(maker,none(workers))', [4]],
    ['any(maker,any(items,any(reviews,stars=2)))', [1, 2]],
    ['any(reviews,any(item,any(tags,name=old)))', [2]],
    ['any(reviews,item__title=lamp)', [3]],
    ['count(reviews)=2', [1, 2]],
    ['count(reviews)__eq=0', [5]],
    ['count(reviews)__ne=2', [3, 4, 5]],
    ['count(reviews)__gt=1', [1, 2]],
    ['count(reviews)__gte=1', [1, 2, 3, 4]],
    ['count(reviews)__lt=1', [5]],
    ['count(reviews)__lte=1', [3, 4, 5]],
    ['count(reviews)="2"', [1, 2]],
    ['count(tags)=2', [1]],
    ['count(mainTags)=1', [1, 2]],
    ['count(goodReviews)__gte=1', [1, 2, 4]],
    ['count(box)=1', [1, 2]],
    ['count(reviews)__gte=2147483647', []],
    ['not(count(reviews)__gt=1)', [3, 4, 5]],
    ['any(maker,count(items)=2)', [1, 2]],
    ['or(count(reviews)=0,any(maker,count(workers)=1))', [1, 2, 3, 5]],
  ])('answers %s', async (text, expected) => {
    expect([text, await found(path, text)]).toEqual([text, expected])
  })
})

describe('a QUERY about related objects', () => {
  class Queried extends Items {
    static override queryMethod = true
  }
  it.each([
    [{ 'any(reviews)': { stars__gte: 4, text__icontains: 'good' } }, [1, 2, 4]],
    [{ 'none(reviews)': { stars__gte: 4 } }, [3, 5]],
    [{ 'none(reviews)': {} }, [5]],
    [{ 'count(reviews)__gte': 2 }, [1, 2]],
    [{ 'count(reviews)': 0 }, [5]],
    [{ or: [{ 'any(tags)': { name: 'old' } }, { price__lt: 6 }] }, [2, 4]],
    [{ 'any(maker)': { 'any(items)': { 'any(reviews)': { stars: 2 } } } }, [1, 2]],
    [{ not: { 'any(reviews)': { or: [{ stars: 5 }, { stars: 4 }] } } }, [3, 5]],
    // the outer parameters are no parameters of the related list
    [{ price: 10, 'any(reviews)': {} }, [1]],
  ])('answers %j', async (filter, expected) => {
    const own = new APIRouter().register('items', Queried, 'item')
    await own.prepare()
    const { send } = await serveApp(own.routes())
    const { status, json } = await send('QUERY', '/items', { filter })
    expect([status, json]).toEqual([200, json])
    expect((json.results ?? json).map(({ id }: { id: number }) => id).toSorted()).toEqual(expected)
  })

  it.each([
    [{ 'any(reviews)': 1 }],
    [{ 'any(reviews)': { nope: 1 } }],
    [{ 'any(nope)': {} }],
    [{ 'any(reviews,stars=1)': {} }],
    [{ 'count(reviews)__gte': 'x' }],
    [{ 'count(reviews)__in': [1] }],
    [{ 'all(reviews)': {} }],
  ])('refuses %j', async (filter) => {
    const own = new APIRouter().register('items', Queried, 'item')
    await own.prepare()
    const { send } = await serveApp(own.routes())
    const { status, json } = await send('QUERY', '/items', { filter })
    expect([status, Object.keys(json.errors)]).toEqual([400, ['filter']])
  })
})

describe('relations of all kinds', () => {
  it('to the same table are told apart', async () => {
    expect(await found('makers', 'any(boss,name=Ada)')).toEqual([2])
    expect(await found('makers', 'any(workers,any(workers))')).toEqual([1])
    expect(await found('makers', 'any(boss,any(workers,any(boss,any(workers))))')).toEqual([2, 3])
    expect(await found('makers', 'none(workers,any(boss,name=Ada))')).toEqual([2, 3])
    expect(await found('makers', 'any(boss,boss__name=Ada)')).toEqual([3])
  })

  it('of several columns are joined by all of them', async () => {
    const { json } = await client.get(address('orders', 'any(lines,amount=7)'))
    expect(json).toEqual([
      { region: 'eu', number: 1 },
      { region: 'us', number: 1 },
    ])
    expect((await client.get(address('orders', 'count(lines)=2'))).json).toEqual([{ region: 'eu', number: 1 }])
    expect((await client.get(address('orders', 'none(lines)'))).json).toEqual([{ region: 'eu', number: 2 }])
  })
})

describe('beside all else that a list is asked for', () => {
  it('holds with other parameters, a search and an order', async () => {
    const { json } = await client.get(
      address('items', 'any(reviews)', { price__gte: '6', search: 'a', ordering: '-id' }),
    )
    expect(json).toMatchObject({ count: 2, results: [{ id: 1 }, { id: 2 }] })
  })

  it('is counted, and no row is shown twice', async () => {
    expect((await client.get(address('items', 'or(any(reviews),any(tags))'))).json).toMatchObject({
      count: 4,
      results: { length: 4 },
    })
  })

  it.each(['cursors', 'offsets'])('goes through the pages of %s', async (path) => {
    const seen: number[] = []
    let next: string | null = address(path, 'any(reviews)')
    while (next) {
      const { json }: { json: { next: string | null; results: { id: number }[] } } = await client.get(next)
      seen.push(...json.results.map(({ id }) => id))
      next = json.next
    }
    expect(seen).toEqual([1, 2, 3, 4])
  })

  it('shows parts of objects', async () => {
    const { json } = await client.get(address('items', 'none(reviews)', { fields: 'title' }))
    expect(json.results).toEqual([{ title: 'vase' }])
  })
})

describe('what a client may not see', () => {
  it('is not there: rows that the declared query leaves out', async () => {
    expect(await found('items', 'any(reviews,stars=5)')).toEqual([1, 4])
    expect(await found('shown', 'any(reviews,stars=5)')).toEqual([1])
    expect(await found('shown', 'none(reviews)')).toEqual([4, 5])
    expect(await found('shown', 'count(reviews)__gte=1')).toEqual([1, 2, 3])
    expect(await found('shown', 'any(reviews,any(item,any(reviews,stars=5)))')).toEqual([1])
  })

  it('is not there: rows that a query of each request leaves out', async () => {
    expect(await found('owned', 'any(reviews)', { 'X-User': 'ada' })).toEqual([1, 2, 3, 4])
    expect(await found('owned', 'any(reviews)', { 'X-User': 'ben' })).toEqual([1, 2])
    expect(await found('owned', 'count(reviews)=1', { 'X-User': 'ben' })).toEqual([1, 2])
    expect(await found('owned', 'any(reviews,text=good)', { 'X-User': 'ben' })).toEqual([2])
  })

  it('is not there: rows that filters of the application leave out, whose parameters are not read', async () => {
    expect(await found('backed', 'any(reviews)')).toEqual([1, 2, 4])
    expect(await found('narrowed', 'any(reviews)')).toEqual([1, 3])
    expect(await found('backed', 'any(reviews,stars__lt=5)')).toEqual([2])
  })

  // a run under a role has no rights to make others
  it.skipIf(runsAsRole())('is not there: rows that policies of the database leave out', async () => {
    const role = `reader_${randomBytes(6).toString('hex')}`
    const { knex } = database
    await knex.raw(`
      create role ${role}; grant ${role} to current_user; grant select on all tables in schema public to ${role};
      alter table reviews enable row level security;
      create policy own on reviews to ${role} using (owner = current_setting('app.user', true));
      create policy rest on reviews to public using (current_user <> '${role}');`)
    onTestFinished(async () => {
      await knex.raw(`drop policy own on reviews; drop policy rest on reviews; alter table reviews disable row level security;
        drop owned by ${role}; drop role ${role}`)
    })
    const secured = new APIRouter({
      databaseRole: role,
      databaseSettings: ({ state }) => ({ 'app.user': (state['user'] as { id: string }).id }),
    }).register('items', Items, 'item')
    await secured.prepare()
    const own = await serveApp(secured.routes())
    const shown = async (text: string, user: string) => {
      const { json } = await own.get(address('items', text), { 'X-User': user })
      return json.results.map(({ id }: { id: number }) => id)
    }
    expect(await shown('any(reviews)', 'ben')).toEqual([1, 2])
    expect(await shown('count(reviews)=2', 'ada')).toEqual([])
    expect(await shown('none(reviews,stars__gte=4)', 'ada')).toEqual([2, 3, 5])
  })

  it('is refused where the permissions of its own list refuse', async () => {
    const denied = await client.get(address('owned', 'or(price__gt=0,not(any(reviews)))'))
    expect(denied.status).toBe(401)
    expect((await client.get(address('owned', 'count(reviews)=0'))).status).toBe(401)
    // what does not ask is not refused
    expect(await found('owned', 'any(tags)')).toEqual([1, 2, 3])
    expect((await client.get('/owned')).status).toBe(200)
  })

  it('is no field: of the related view set only those that its own clients may ask for', async () => {
    expect(await refused('any(reviews,secret=s)')).toEqual([
      'Character 13: Unknown field. Use one of: id, stars, text, item__title.',
    ])
    expect(await refused('any(reviews,title=s)')).toEqual([expect.stringContaining('Character 13: Unknown field.')])
    expect(await refused('any(reviews,any(tags))')).toEqual(['Character 17: Unknown relation. Use one of: item.'])
    expect(await refused('any(tags,any(items))')).toEqual(['Character 14: Unknown relation.'])
  })

  it('cannot be told by a query that runs code of its own', async () => {
    const { status } = await client.get(address('hooked', 'any(reviews)'))
    expect(status).toBe(500)
    expect(String(client.reported.splice(0)[0])).toContain('runs code before or after it is read')
  })
})

describe('what asks nothing', () => {
  const relations = 'maker, reviews, goodReviews, tags, mainTags, box'
  it.each([
    ['any(price)', 5, `Unknown relation. Use one of: ${relations}.`],
    ['any(title,title=a)', 5, `Unknown relation. Use one of: ${relations}.`],
    ['count(reviews__item)=1', 7, `Unknown relation. Use one of: ${relations}.`],
    ['none(__proto__)', 6, `Unknown relation. Use one of: ${relations}.`],
    ['any()', 5, 'Expected the name of a relation.'],
    ['any("reviews")', 5, 'Expected the name of a relation.'],
    ['count()=1', 7, 'Expected the name of a relation.'],
    ['any(reviews', 12, 'Expected "," or ")".'],
    ['any(reviews=1)', 12, 'Expected "," or ")".'],
    ['any(reviews,)', 13, 'Expected a condition such as name=value, or and(…), or(…), not(…).'],
    ['any(reviews,stars=1,stars=2)', 20, 'Expected ")".'],
    ['any(any(reviews))', 8, 'Expected "," or ")".'],
    ['any (reviews)', 4, 'Expected "=" behind a name.'],
    ['any(reviews)=1', 13, 'Expected nothing more.'],
    ['count(reviews)', 15, 'Expected "=" behind a name.'],
    ['count(reviews,stars=1)=1', 14, 'Expected ")".'],
    ['count(reviews)>=1', 16, 'A valid integer is required.', 'Unknown lookup. Use one of: eq, ne, gt, gte, lt, lte.'],
    ['count(reviews)__in=1', 15, 'Unknown lookup. Use one of: eq, ne, gt, gte, lt, lte.'],
    ['count(reviews)gte=1', 15, 'Unknown lookup. Use one of: eq, ne, gt, gte, lt, lte.'],
    ['count(reviews)__gte=x', 21, 'A valid integer is required.'],
    ['count(reviews)=', 16, 'A valid integer is required.'],
    ['count(reviews)=1.0', 16, 'A valid integer is required.'],
    ['count(reviews)=-1', 16, 'Ensure this value is at least 0.'],
    ['count(reviews)=2147483648', 16, 'Ensure this value is at most 2147483647.'],
    ['any(reviews,stars=x)', 19, 'A valid integer is required.'],
    ['any(reviews,text="a)', 18, 'The quotation mark is not closed.'],
    ['reviews=1', 1, 'Unknown field. Use one of: title, price.'],
  ])('%j is 400 at its place', async (text, at, message, other?: string) => {
    if (other === undefined) expect(await refused(text)).toEqual([`Character ${at}: ${message}`])
    else expect(await refused(text)).toEqual([`Character 15: ${other}`])
  })

  it('is told of at once, before the database is asked', async () => {
    const texts = await countQueries(database.knex, async () => {
      expect(await refused('or(any(nope),count(reviews)__x=y,any(reviews,or(nope=1,stars=z)))')).toEqual([
        `Character 8: Unknown relation. Use one of: ${relations}.`,
        'Character 28: Unknown lookup. Use one of: eq, ne, gt, gte, lt, lte.',
        'Character 32: A valid integer is required.',
        'Character 49: Unknown field.',
        'Character 62: A valid integer is required.',
      ])
    })
    expect(texts).toEqual([])
  })

  it('[C8] is too deep, or asks too much', async () => {
    const deep = (levels: number) => `${'any(maker,any(items,'.repeat(levels / 2)}price__gt=0${'))'.repeat(levels / 2)}`
    expect(await found('items', deep(4))).toEqual([1, 2, 4])
    expect(await found('items', `not(${deep(4)})`)).toEqual([3, 5])
    expect(await refused(deep(6))).toEqual([expect.stringContaining('Give at most 5 groups in each other.')])
    const many = (count: number) =>
      `or(${Array.from({ length: count }, (_, index) => `count(reviews)=${index}`).join()})`
    expect(await found('items', many(50))).toEqual(ALL)
    expect(await refused(many(51))).toEqual([expect.stringContaining('Give at most 50 conditions.')])
    expect(await refused(`or(${Array(51).fill('any(tags)').join()})`)).toEqual([
      expect.stringContaining('Give at most 50 conditions.'),
    ])
  })

  it('is read with strictParams, too', async () => {
    expect(await found('strict', 'any(reviews)')).toEqual([1, 2, 3, 4])
    expect((await client.get('/strict?any=reviews')).json.errors).toHaveProperty('any')
  })
})

describe('the SQL', () => {
  it('is read as rows, and is not prepared: clients cannot fill what is kept', async () => {
    const names = async () =>
      (await database.knex.raw<{ rows: { n: number }[] }>('select count(*)::int n from pg_prepared_statements')).rows[0]
        ?.n
    await found('items', 'any(reviews)')
    const before = await names()
    for (let shape = 0; shape < 40; shape++)
      await found(
        'items',
        `or(${Array((shape % 20) + 1)
          .fill('any(reviews,stars=1)')
          .join()})`,
      )
    expect(await names()).toBe(before)
  })

  it('of a negation is a join, and not all rows of the other table', async () => {
    for (const text of ['not(any(reviews,stars=1))', 'any(reviews,not(item__title=x))', 'not(count(reviews)__gte=1)']) {
      const texts = await countQueries(database.knex, () => found('items', text))
      expect(texts.join()).toMatch(/ not \((exists|\(select count)/)
    }
  })

  it('[C3] binds what it compares with', async () => {
    const texts = await countQueries(database.knex, async () => {
      for (const value of ["' or 1=1 --", '?', '??', '$1', '"; drop table reviews; --']) {
        const quoted = `"${value.replaceAll('"', '\\"')}"`
        expect(await found('items', `any(reviews,text=${quoted})`)).toEqual([])
      }
    })
    expect(new Set(texts).size).toBeLessThan(4)
    expect(texts.join()).not.toContain('drop')
  })
})

describe('declarations', () => {
  const prepared = (view: typeof Items) => new APIRouter().register('items', view, 'item').prepare()
  class NoMore extends Items {}
  const never = undefined as unknown as { readonly seen: typeof Items }

  it.each([
    ['no relation', { nope: Reviews }, 'filterRelations["nope"] is no relation of Item'],
    ['no view set', { reviews: null }, 'filterRelations["reviews"] is no view set'],
    ['a model', { reviews: Review }, 'filterRelations["reviews"] is no view set'],
    ['a function of nothing', { reviews: () => undefined }, 'filterRelations["reviews"] is no view set'],
    ['a function that throws', { reviews: () => never.seen }, 'filterRelations["reviews"] is no view set'],
    ['a view set of another model', { reviews: Tags }, 'a view set of Tag; name one of Review'],
  ])('that name %s are refused', async (_what, relations, message) => {
    class Wrong extends NoMore {
      static override filterRelations = relations as never
    }
    await expect(prepared(Wrong)).rejects.toThrow(message)
  })

  it('that name a view set whose rows only a request of its own would tell are refused', async () => {
    class Nested extends NestedViewSetMixin(ModelViewSet<Review>) {
      static override model = Review
      static override serializerClass = ReviewSerializer
      static override parentLookupField = 'item_id'
    }
    class Listed extends Reviews {
      override async list() {
        return [] as never
      }
    }
    class Limited extends Reviews {
      override getQueryset() {
        return super.getQueryset().limit(1)
      }
    }
    class Finding extends Review {
      static override beforeFind = () => undefined
    }
    class Found extends Reviews {
      static override model = Finding
    }
    for (const [view, message] of [
      [Nested, 'name a view set that is not nested'],
      [Listed, 'whose own list() may leave out objects'],
      [Limited, 'its queryset has a limit'],
      [Found, 'has hooks (beforeFind, afterFind)'],
    ] as const) {
      await expect(prepared(related(view as never))).rejects.toThrow(message)
    }
  })

  it('that name a view set which reads under another role, or in another database, are refused', async () => {
    class Role extends Reviews {
      static override databaseRole = 'reader'
    }
    class Settings extends Reviews {
      static override databaseSettings = () => ({ 'app.user': '1' })
    }
    class Elsewhere extends Reviews {
      override getKnex() {
        return super.getKnex()
      }
    }
    for (const [view, what] of [
      [Role, 'databaseRole'],
      [Settings, 'databaseSettings'],
      [Elsewhere, 'getKnex()'],
    ] as const) {
      await expect(prepared(related(view))).rejects.toThrow(`${view.name} has another ${what} than`)
    }
  })

  it('without a parameter of groups are refused', async () => {
    class Ungrouped extends Items {
      static override filterBackends: Filters = [FieldFilter]
    }
    await expect(prepared(Ungrouped)).rejects.toThrow(
      "set filterBackends = [new FieldFilter({ groupParam: 'filter' })]",
    )
  })

  it('are described, and explained', async () => {
    const parameter = operationOf(api.getSchema(), '/items').parameters?.find(({ name }) => name === 'filter')
    expect(parameter).toMatchObject({ description: expect.stringContaining('any(relation,…)') })
    expect(parameter).toMatchObject({ description: expect.stringContaining('(maker, reviews, goodReviews,') })
    const [list] = await api.explain('owned-list')
    expect(list?.relations).toEqual(['reviews (Owned)', 'tags (Tags)'])
    expect(formatExplanations(await api.explain('owned-list'))).toContain('relations    reviews (Owned), tags (Tags)')
    expect(Object.keys(api.getSchema().paths['/owned']?.['get']?.responses ?? {})).toEqual(
      expect.arrayContaining(['401', '403']),
    )
  })
})
