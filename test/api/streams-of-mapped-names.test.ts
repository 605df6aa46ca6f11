/** A stream of a view set whose knex maps names. */
import knexLibrary from 'knex'
import {
  BulkModelViewSet,
  CSVRenderer,
  configure,
  JSONRenderer,
  NDJSONRenderer,
  NestedSerializer,
  ServerCursorPagination,
  StreamMixin,
} from 'koa-viewsets'
import { count } from 'koa-viewsets/views'
import { knexSnakeCaseMappers, Model, snakeCaseMappers } from 'objection'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serializerOf, serveViews, tableOf } from '../support/views.js'

let database: TestDatabase
let mapped: any
beforeAll(async () => {
  configure({ secretKey: '0123456789abcdef0123456789abcdef' })
  database = await createDatabase({
    schema: `
    create table people (id serial primary key, first_name text, born_on date); insert into people (first_name) select 'n' || n from generate_series(1, 5) n;
    create table pets (id serial primary key, pet_name text, owner_id int references people); insert into pets (pet_name, owner_id) values ('x', 1);`,
  })
  mapped = knexLibrary({
    client: 'pg',
    connection: { ...(database.connection as any) },
    pool: { min: 0, max: 10 },
    ...knexSnakeCaseMappers(),
  })
})
afterAll(async () => {
  await mapped.destroy()
  await database.drop()
})

it.each([
  ['plain', [], '', true],
  ['count', [], '?expand=petsCount', true],
  ['list', ['pets'], '', true],
  ['method', ['own'], '', true],
  ['plain', [], '', false],
  ['count', [], '?expand=petsCount', false],
  ['list', ['pets'], '', false],
  ['method', ['own'], '', false],
] as [string, string[], string, boolean][])('%s %s %s, by knex: %s', async (_, extra, query, byKnex) => {
  const knex = byKnex ? mapped : database.knex
  const Pet: any = tableOf('pets', byKnex ? {} : { columnNameMappers: snakeCaseMappers() })
  const Person: any = tableOf('people', byKnex ? {} : { columnNameMappers: snakeCaseMappers() })
  Person.relationMappings = () => ({
    pets: {
      relation: Model.HasManyRelation,
      modelClass: Pet,
      join: { from: 'people.id', to: byKnex ? 'pets.ownerId' : 'pets.owner_id' },
    },
  })
  for (const m of [Pet, Person]) m.knex(knex)
  const S: any = serializerOf(
    Person,
    ['id', 'firstName', 'bornOn'],
    extra.includes('pets')
      ? { pets: new NestedSerializer(serializerOf(Pet, ['petName']), { many: true, readOnly: true }) }
      : {},
  )
  class SI extends S {
    toRepresentation(o: any) {
      return super.toRepresentation(o)
    }
  }
  Object.assign(SI, { schemaName: `S${Math.random()}`.replace('.', '') })
  class View extends StreamMixin(BulkModelViewSet<Model>) {}
  Object.assign(View, {
    model: Person,
    serializerClass: extra.includes('own') ? SI : S,
    rendererClasses: [JSONRenderer, NDJSONRenderer, CSVRenderer],
    expandable: { petsCount: count('pets') },
  })
  const { get, reported } = await serveViews({ people: View })
  const list = (await get(`/people${query}`)).json
  let text: string
  try {
    text = (await get(`/people.ndjson${query}`)).text
  } catch (error) {
    console.log(reported.map((e: any) => e.stack))
    throw error
  }
  expect(
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(list)
})

it.each([true, false])('pages of a server cursor, by instances; by knex: %s', async (byKnex) => {
  const Person: any = tableOf('people', byKnex ? {} : { columnNameMappers: snakeCaseMappers() })
  Person.knex(byKnex ? mapped : database.knex)
  const S: any = serializerOf(Person, ['id', 'firstName'])
  class Own extends S {
    toRepresentation(o: any) {
      return super.toRepresentation(o)
    }
  }
  Object.assign(Own, { schemaName: `Own${byKnex}` })
  class View extends BulkModelViewSet<Model> {}
  Object.assign(View, {
    model: Person,
    serializerClass: Own,
    paginationClass: new ServerCursorPagination({ pageSize: 10, maxPerUser: 1 }),
  })
  const { get } = await serveViews({ people: View })
  expect((await get('/people')).json.results).toHaveLength(5)
})
