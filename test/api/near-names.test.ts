/** Names that are nearly right: who wrote them is told which was meant, in the words of snake case and of camel case, wherever it is. */
import { Model, snakeCaseMappers } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter,
  CursorPagination,
  FieldFilter,
  JSONParser,
  modelSerializer,
  modelViewSet,
  NestedRouter,
  NestedSerializer,
  OrderingFilter,
  PageNumberPagination,
  SearchFilter,
  SlugRelatedField,
  StringField,
  ViewSet,
} from '../../lib/index.js'
import { configure } from '../../lib/kernel/settings.js'
import { mcp } from '../../lib/mcp/index.js'
import { JsonPatchParser } from '../../lib/patches/index.js'
import { count, ModifierFilter, min } from '../../lib/views/index.js'
import { serveApp } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'

let database: TestDatabase

/** Properties are the names of columns, or those of columns in camel case. */
const SPELLINGS = [
  {
    spelled: 'snake case',
    born: 'born_on',
    home: 'home_town',
    wrongBorn: 'bornOn',
    wrongHome: 'homeTown',
    mappers: {},
  },
  {
    spelled: 'camel case',
    born: 'bornOn',
    home: 'homeTown',
    wrongBorn: 'born_on',
    wrongHome: 'home_town',
    mappers: { columnNameMappers: snakeCaseMappers() },
  },
]

beforeAll(async () => {
  database = await createDatabase({
    schema: `
      create table towns (id int generated always as identity primary key, town_name text not null);
      create table people (
        id int generated always as identity primary key,
        name text not null,
        born_on date,
        home_town_id int references towns
      );
      insert into towns (town_name) values ('Oslo');
      insert into people (name, born_on, home_town_id) values ('Ada', '1815-12-10', 1);
    `,
  })
})
afterAll(() => database.drop())

describe.each(SPELLINGS)('in $spelled', ({ born, home, wrongBorn, wrongHome, mappers }) => {
  const key = `${home}${born === 'born_on' ? '_id' : 'Id'}`
  const wrongKey = `${wrongHome}${born === 'born_on' ? 'Id' : '_id'}`
  const townName = born === 'born_on' ? 'town_name' : 'townName'

  class Town extends Model {
    static override tableName = 'towns'
  }
  class Person extends Model {
    static override tableName = 'people'
    static override relationMappings = () => ({
      [home]: {
        relation: Model.BelongsToOneRelation,
        modelClass: Town,
        join: { from: 'people.home_town_id', to: 'towns.id' },
      },
    })
    static override modifiers = { [`${born}Known`]: (query: any) => query.whereNotNull(born) }
  }
  Object.assign(Town, mappers)
  Object.assign(Person, mappers)
  beforeAll(() => {
    for (const model of [Town, Person]) model.knex(database.knex)
  })

  const serializer = (statics: object = {}): any =>
    Object.assign(class Shown extends modelSerializer(Person as any, { fields: '__all__' } as any) {}, statics)
  const view = (statics: object = {}): any =>
    Object.assign(
      class People extends modelViewSet(
        Person as any,
        {
          serializerClass: serializer(),
          paginationClass: PageNumberPagination,
          filterBackends: [new FieldFilter({ groupParam: 'where' }), OrderingFilter],
          filtersetFields: [born, `${home}__${townName}`],
          orderingFields: [born],
          parserClasses: [JSONParser, JsonPatchParser],
          expandable: { [home]: modelSerializer(Town as any, { fields: '__all__' } as any) },
          queryMethod: true,
        } as any,
      ) {},
      statics,
    )
  const listed = (fields: string[]) => ({ serializerClass: serializer({ fields }) })
  const declared = (declaredFields: object) => ({ serializerClass: serializer({ declaredFields }) })
  const prepared = (statics: object) => new APIRouter().register('people', view(statics)).prepare()

  const DECLARED: [string, () => unknown, string][] = [
    ['fields', () => prepared(listed(['id', wrongBorn])), born],
    ['fields of a relation', () => prepared(listed(['id', wrongHome])), home],
    [
      'extraKwargs',
      () => prepared({ serializerClass: serializer({ fields: [born], extraKwargs: { [wrongBorn]: { label: 'x' } } }) }),
      born,
    ],
    [
      'readOnlyFields',
      () => prepared({ serializerClass: serializer({ fields: [born], readOnlyFields: [wrongBorn] }) }),
      born,
    ],
    [
      'the source of a field',
      () => prepared(declared({ day: new StringField({ source: wrongBorn, readOnly: true }) })),
      born,
    ],
    ['a field that is no column', () => prepared(declared({ [wrongBorn]: new StringField() })), born],
    [
      'a step of a source',
      () => prepared(declared({ town: new StringField({ source: `${wrongHome}.${townName}`, readOnly: true }) })),
      home,
    ],
    [
      'a nested serializer',
      () =>
        prepared(
          declared({ [wrongHome]: new NestedSerializer(modelSerializer(Town as any, { fields: '__all__' } as any)) }),
        ),
      home,
    ],
    [
      'slugField',
      () =>
        prepared(
          declared({
            [home]: new SlugRelatedField({
              slugField: townName === 'townName' ? 'town_name' : 'townName',
              queryset: () => Town.query(),
            } as never),
          }),
        ),
      townName,
    ],
    ['filtersetFields', () => prepared({ filtersetFields: [wrongBorn] }), born],
    ['filtersetFields over a relation', () => prepared({ filtersetFields: [`${wrongHome}__id`] }), home],
    ['orderingFields', () => prepared({ orderingFields: [wrongBorn] }), born],
    ['ordering', () => prepared({ ordering: [`-${wrongBorn}`] }), born],
    ['searchFields', () => prepared({ searchFields: [wrongBorn], filterBackends: [SearchFilter] }), born],
    [
      'the ordering of cursors',
      () => prepared({ paginationClass: new CursorPagination({ ordering: wrongBorn }) }),
      born,
    ],
    ['lookupField', () => prepared({ lookupField: wrongBorn }), born],
    ['groupBy', () => prepared({ groupBy: [wrongBorn], aggregates: { all: count() } }), born],
    ['an aggregate', () => prepared({ aggregates: { first: min(wrongBorn) } }), born],
    ['facets', () => prepared({ facets: [wrongBorn] }), born],
    [
      'expandable',
      () => prepared({ expandable: { [wrongHome]: modelSerializer(Town as any, { fields: '__all__' } as any) } }),
      home,
    ],
    ['a count in expandable', () => prepared({ expandable: { towns: count(wrongHome) } }), home],
    ['related', () => prepared({ related: { [wrongHome]: view() } }), home],
    ['filterRelations', () => prepared({ filterRelations: { [wrongHome]: view() } }), home],
    ['softDelete', () => prepared({ softDelete: wrongBorn }), born],
    ['concurrency', () => prepared({ concurrency: [wrongBorn] }), born],
    [
      'parentLookupField',
      () => {
        const towns = class extends modelViewSet(
          Town as any,
          {
            serializerClass: modelSerializer(Town as any, { fields: '__all__' } as any),
          } as any,
        ) {}
        const api = new APIRouter().register('towns', towns as any)
        new NestedRouter(api as any, 'towns', { lookup: 'town' } as any).register(
          'people',
          view({ parentLookupField: wrongKey }),
        )
        return api.prepare()
      },
      key,
    ],
    ['a modifier', () => new ModifierFilter(Person as any, [`${wrongBorn}Known`]), `${born}Known`],
  ]
  it.each(DECLARED)('%s: the application is told', async (_, make, meant) => {
    await expect((async () => make())()).rejects.toThrow(`did you mean "${meant}"?`)
  })

  it('a client is told, wherever it names what there is', async () => {
    const api = new APIRouter({ prefix: '/api' }).register('people', view())
    await api.prepare()
    const client = await serveApp(mcp(api, { tools: ['people'] }), api.routes())
    const strict = { Prefer: 'handling=strict' }
    const asked = async (method: string, path: string, body?: unknown, headers: Record<string, string> = strict) =>
      JSON.stringify((await client.send(method, `/api/people${path}`, body, headers)).json)
    const patched = { 'Content-Type': 'application/json-patch+json' }
    const answers: Record<string, [string, string]> = {
      'a parameter': [await asked('GET', `?${wrongBorn}=1815-12-10`), born],
      'a parameter with a lookup': [await asked('GET', `?${wrongBorn}__gte=1815-12-10`), `${born}__gte`],
      'the name of a parameter': [await asked('GET', '?orderng=id'), 'ordering'],
      ordering: [await asked('GET', `?ordering=${wrongBorn}`), born],
      fields: [await asked('GET', `?fields=id,${wrongBorn}`), born],
      expand: [await asked('GET', `/1?expand=${wrongHome}`), home],
      'a lookup': [await asked('GET', `?${home}__${townName}__icontain=o`, undefined, {}), 'icontains'],
      'a group': [await asked('GET', `?where=or(${wrongBorn}=1815-12-10)`, undefined, {}), born],
      'a member of a QUERY': [await asked('QUERY', '', { page_siz: 5 }, {}), 'page_size'],
      'a filter of a QUERY': [await asked('QUERY', '', { filter: { [wrongBorn]: 'x' } }, {}), born],
      'a body': [await asked('POST', '', { name: 'x', [wrongBorn]: null }), born],
      'a patch': [
        await asked('PATCH', '/1', [{ op: 'add', path: `/${wrongBorn}`, value: null }], { ...strict, ...patched }),
        born,
      ],
      'the path of a patch': [
        await asked('PATCH', '/1', [{ op: 'replace', path: `/${wrongBorn}`, value: null }], patched),
        born,
      ],
      'the operation of a patch': [
        await asked('PATCH', '/1', [{ op: 'replac', path: `/${born}`, value: null }], patched),
        'replace',
      ],
    }
    const call = async (name: string, given: object) => {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } }
      const { text } = await client.send('POST', '/mcp', message, {
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2025-06-18',
      })
      return text
    }
    answers['an argument of a tool'] = [await call('person_list', { [wrongBorn]: 'x' }), born]
    answers['a tool'] = [await call('person_lst', {}), 'person_list']
    const missed = Object.entries(answers).filter(
      ([, [text, meant]]) => !text.replaceAll('\\', '').includes(`did you mean "${meant}"?`),
    )
    expect(missed).toEqual([])
    expect(await client.get(`/api/people?ordering=${wrongBorn}`)).toMatchObject({ status: 200 })
  })
})

it('settings, routes and what is registered have names, too', () => {
  expect(() => configure({ secret_key: 'x' } as never)).toThrow('did you mean "secretKey"?')
  const api = new APIRouter().register(
    'people',
    class People extends ViewSet {
      list() {}
    },
    'person',
  )
  expect(() => new NestedRouter(api as never, 'peple', { lookup: 'person' })).toThrow('did you mean "people"?')
  expect(() => api.url('person-lst')).toThrow('did you mean "person-list"?')
})
