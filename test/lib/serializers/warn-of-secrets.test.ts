import { APIRouter, ModelSerializer, ModelViewSet, NestedSerializer, StringField } from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({
    schema: `
      create table teams (id serial primary key, name text, token text);
      create table accounts (id serial primary key, name text, team_id int references teams,
        password_hash text, "apiToken" text, "APISecret" text, passwd text, hashtag text, tokens int, secret text);
      create table posts (id serial primary key, title text, secret text, account_id int references accounts)`,
  })
})
afterAll(() => database.drop())
afterEach(() => {
  vi.restoreAllMocks()
})

/** The models, anew for each test: a column is told of once. */
function models() {
  class Team extends Model {
    static override tableName = 'teams'
  }
  class Account extends Model {
    static override tableName = 'accounts'
    static override relationMappings = () => ({
      team: {
        relation: Model.BelongsToOneRelation,
        modelClass: Team,
        join: { from: 'accounts.team_id', to: 'teams.id' },
      },
    })
  }
  class Post extends Model {
    static override tableName = 'posts'
    static override relationMappings = () => ({
      account: {
        relation: Model.BelongsToOneRelation,
        modelClass: Account,
        join: { from: 'posts.account_id', to: 'accounts.id' },
      },
    })
  }
  for (const model of [Team, Account, Post]) model.knex(database.knex)
  return { Team, Account, Post }
}

/** What `prepare()` warns of where posts are shown by this serializer. */
async function warnings(Post: typeof Model, statics: object): Promise<string[]> {
  class PostSerializer extends ModelSerializer {
    static override model = Post
  }
  class Posts extends ModelViewSet {
    static override model = Post
    static override serializerClass = Object.assign(PostSerializer, statics)
  }
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
  await new APIRouter().register('posts', Posts).prepare()
  const calls = [...warn.mock.calls] as unknown as [string, unknown][]
  vi.restoreAllMocks()
  return calls.map(([text, options]) => {
    expect(options).toEqual({ code: 'KOA_VIEWSETS_SECRETS' })
    return text
  })
}

const columnsOf = (texts: readonly string[]) => texts.map((text) => /shows "(\w+)" of (\w+)/.exec(text)?.slice(1))

describe('[A10] prepare() warns of columns called like secrets', () => {
  it('of related objects that depth shows, level by level, once each', async () => {
    const { Post } = models()
    const statics = { fields: ['id', 'title', 'secret', 'account_id'], depth: 1 }
    const told = await warnings(Post, statics)
    expect(columnsOf(told)).toEqual([
      ['password_hash', 'Account'],
      ['apiToken', 'Account'],
      ['APISecret', 'Account'],
      ['passwd', 'Account'],
      ['secret', 'Account'],
    ])
    expect(told[0]).toBe(
      'PostSerializer: shows "password_hash" of Account with its objects, though nothing names it (depth, or ' +
        "fields = '__all__' of AccountSerializer); mark it writeOnly in the jsonSchema of Account, or nest a serializer " +
        'whose fields name what to show',
    )
    expect(await warnings(Post, statics)).toEqual([])
    expect(await warnings(Post, { ...statics, depth: 2 })).toEqual([
      expect.stringContaining('AccountSerializer: shows "token" of Team'),
    ])
  })

  it("that a nested serializer shows by '__all__', but for those that it declares", async () => {
    const { Post, Account } = models()
    class AccountSerializer extends ModelSerializer {
      static override model = Account
      static override fields = '__all__'
      static override extraKwargs = { apiToken: { writeOnly: true } }
      static override declaredFields = { passwd: new StringField({ readOnly: true }) }
    }
    const account = new NestedSerializer(AccountSerializer, { readOnly: true })
    expect(columnsOf(await warnings(Post, { fields: ['id'], declaredFields: { account } }))).toEqual([
      ['password_hash', 'Account'],
      ['APISecret', 'Account'],
      ['secret', 'Account'],
    ])
  })

  it('but not of those that are writeOnly, that a serializer names, or that are not shown', async () => {
    const { Post, Account } = models()
    class NamingSerializer extends ModelSerializer {
      static override model = Account
      static override fields = ['id', 'secret']
    }
    class AllSerializer extends ModelSerializer {
      static override model = Account
      static override fields = '__all__'
    }
    const naming = { account: new NestedSerializer(NamingSerializer, { readOnly: true }) }
    expect(await warnings(Post, { fields: '__all__', declaredFields: naming })).toEqual([])
    const hidden = { account: new NestedSerializer(AllSerializer, { writeOnly: true }) }
    expect(await warnings(Post, { fields: '__all__', declaredFields: hidden })).toEqual([])
    Account.jsonSchema = {
      type: 'object',
      properties: { name: { type: 'string' }, secret: { type: 'string', writeOnly: true } },
    }
    expect(await warnings(Post, { fields: ['id', 'account_id'], depth: 1 })).toEqual([])
  })
})
