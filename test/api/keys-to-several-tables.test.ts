/** Keys that lead to rows of several tables, by relations of the model and by the queryset of a field: the rules of all hold. */
import { Model } from 'objection'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { IDMixin, IntegerField, PrimaryKeyRelatedField, SlugRelatedField } from '../../lib/index.js'
import { rule } from '../../lib/rules/index.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { routerOf, serializerOf, serveRouter, tableOf, viewOf } from '../support/views.js'

const SCHEMA = `
  create table writers (id int primary key, hidden bool not null, name text not null generated always as (chr(96 + id)) stored);
  create table profiles (id int primary key references writers, secret bool not null);
  create view listed_writers as select id, id = 3 as removed from writers;
  create view spelled_writers as select id::text, id = 3 as removed from writers;
  create table drafts (
    id int generated always as identity primary key,
    writer_id int references writers, foreign key (writer_id) references profiles
  );
  create table scripts (id int generated always as identity primary key, writer_id int references writers);
  create table writer_notes (id int primary key references writers, shown bool not null);
  insert into writers values (1, false), (2, true), (3, false), (4, false);
  insert into profiles values (1, false), (2, false), (3, false), (4, true);
  insert into writer_notes values (1, true), (2, false);`

const Writer = tableOf('writers')
const Profile = tableOf('profiles')
const WriterNote = tableOf('writer_notes')
const ListedWriter = tableOf('listed_writers', { idColumn: 'id' })
const SpelledWriter = tableOf('spelled_writers', { idColumn: 'id' })
const RULES = [
  rule(Writer, { read: { hidden: false } }),
  rule(Profile, { read: { secret: false } }),
  rule(ListedWriter, { read: { removed: false } }),
  rule(SpelledWriter, { read: { removed: false } }),
]

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
})
afterAll(() => database.drop())

function draftOf(relations: Record<string, typeof Model>, table = 'drafts'): typeof Model {
  return tableOf(table, {
    relationMappings: () =>
      Object.fromEntries(
        Object.entries(relations).map(([name, modelClass]) => [
          name,
          {
            relation: Model.BelongsToOneRelation,
            modelClass,
            join: { from: `${table}.writer_id`, to: `${modelClass.tableName}.id` },
          },
        ]),
      ),
  })
}

const chosenFrom = (queryset: typeof Model) => new PrimaryKeyRelatedField({ queryset })
const BOTH = { profile: Profile, writer: Writer }

it.each([
  ['a view over the table of its relation', { writer: Writer }, { writer: chosenFrom(ListedWriter) }],
  ['a view over the table of another relation', { writer: Writer }, { writer_id: chosenFrom(ListedWriter) }],
  ['a view that its relation leads to, a plain number', { writer: ListedWriter }, { writer_id: new IntegerField() }],
  ['a view that spells its key as a text', { writer: SpelledWriter }, { writer_id: new IntegerField() }],
])('a key of %s is of a row that both show', async (_name, relations, declared) => {
  const model = draftOf(relations)
  const [field] = Object.keys(declared) as [string]
  const view = viewOf(model, serializerOf(model, [field], declared))
  const client = await serveRouter(routerOf({ drafts: view }, { rules: RULES }))
  const statuses = []
  for (const key of [1, 2, 3]) statuses.push((await client.send('POST', '/drafts', { [field]: key })).status)
  expect(statuses).toEqual([201, 400, 400])
})

it('a key whose other relation leads to another database is of a row of its own', async () => {
  const other = await createDatabase({ schema: 'create table remotes (id int primary key, secret bool not null)' })
  onTestFinished(() => other.drop())
  const Remote = tableOf('remotes')
  Remote.knex(other.knex)
  const model = draftOf({ remote: Remote })
  const view = viewOf(model, serializerOf(model, ['writer_id'], { writer_id: new IntegerField() }))
  const rules = [...RULES, rule(Remote, { read: { secret: false } })]
  const client = await serveRouter(routerOf({ drafts: view }, { rules }))
  expect((await client.send('POST', '/drafts', { writer_id: 1 })).status).toBe(201)
})

it.each([
  ['chosen from the table of the second', { writer_id: chosenFrom(Writer) }],
  ['chosen from the table of the first', { writer_id: chosenFrom(Profile) }],
  ['of the first', { profile: chosenFrom(Profile) }],
  ['of the second', { writer: chosenFrom(Writer) }],
  ['a plain number', { writer_id: new IntegerField() }],
])('a key of two relations is of rows that both show: %s', async (_name, declared) => {
  const model = draftOf(BOTH)
  const [field] = Object.keys(declared) as [string]
  const view = viewOf(model, serializerOf(model, [field], declared))
  const client = await serveRouter(routerOf({ drafts: view }, { rules: RULES }))
  const statuses = []
  for (const key of [1, 2, 4]) statuses.push((await client.send('POST', '/drafts', { [field]: key })).status)
  expect(statuses).toEqual([201, 400, 400])
})

it.each([
  ['a related field', { writer: chosenFrom(Writer) }],
  ['a field of the column', { writer_id: chosenFrom(Writer) }],
  ['a plain number', { writer_id: new IntegerField() }],
])('a key is of a row that a view shows, too, to which another relation leads: %s', async (_name, declared) => {
  const model = draftOf({ writer: Writer, listed: ListedWriter }, 'scripts')
  const [field] = Object.keys(declared) as [string]
  const view = viewOf(model, serializerOf(model, [field], declared))
  const client = await serveRouter(routerOf({ scripts: view }, { rules: RULES }))
  const answers = []
  for (const key of [1, 2, 3]) answers.push(await client.send('POST', '/scripts', { [field]: key }))
  expect(answers.map(({ status }) => status)).toEqual([201, 400, 400])
  expect(Object.keys(answers[2]?.json.errors)).toEqual([field])
  const bulk = await client.send('PATCH', '/scripts/1', { [field]: 3 })
  expect(bulk.status).toBe(400)
})

it('a slug of a row that the view of another relation hides is refused as one of none', async () => {
  const model = draftOf({ writer: Writer, listed: ListedWriter }, 'scripts')
  const writer = new SlugRelatedField({ queryset: Writer, slugField: 'name' })
  const view = viewOf(model, serializerOf(model, ['writer'], { writer }))
  const { send } = await serveRouter(routerOf({ scripts: view }, { rules: RULES }))
  const refusals = []
  for (const name of ['c', 'z']) refusals.push((await send('POST', '/scripts', { writer: name })).json.errors.writer)
  expect(refusals).toEqual([['Object with slug "c" does not exist.'], ['Object with slug "z" does not exist.']])
})

it('a plain number leads to an object of which the table of another relation has no row', async () => {
  const model = draftOf({ writer: Writer, note: WriterNote })
  const view = viewOf(model, serializerOf(model, ['writer_id'], { writer_id: new IntegerField() }))
  const rules = [rule(WriterNote, { read: { shown: true } })]
  const client = await serveRouter(routerOf({ drafts: view }, { rules }))
  const statuses = []
  for (const key of [1, 2, 3]) statuses.push((await client.send('POST', '/drafts', { writer_id: key })).status)
  expect(statuses).toEqual([201, 400, 201])
})

it('a key of two relations is shown as an external id of the one that has them', async () => {
  class HiddenWriter extends IDMixin(Model) {
    static override tableName = 'writers'
    static override idConfig = {
      mode: 'signed',
      alphabet: 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8',
      hmacKeys: ['an-hmac-key-of-these-tests-0123456789'],
    } as const
  }
  const model = draftOf({ profile: Profile, writer: HiddenWriter })
  await database.knex('drafts').insert({ writer_id: 3 })
  const client = await serveRouter(routerOf({ drafts: viewOf(model, serializerOf(model, ['writer_id'])) }))
  expect((await client.get('/drafts')).json).toContainEqual({ writer_id: HiddenWriter.encodeId(3) })
})
