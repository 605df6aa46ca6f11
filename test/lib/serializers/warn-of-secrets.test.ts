import { APIRouter, ModelSerializer, ModelViewSet, NestedSerializer, StringField } from 'koa-viewsets'
import { Model, type Pojo } from 'objection'
import visibility from 'objection-visibility'
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
async function warnings(
  Post: typeof Model,
  statics: object,
  viewStatics: object = {},
  code = 'KOA_VIEWSETS_SECRETS',
): Promise<string[]> {
  class PostSerializer extends ModelSerializer {
    static override model = Post
  }
  class Posts extends ModelViewSet {
    static override model = Post
    static override serializerClass = Object.assign(PostSerializer, statics)
  }
  Object.assign(Posts, viewStatics)
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
  await new APIRouter().register('posts', Posts).prepare()
  const calls = [...warn.mock.calls] as unknown as [string, unknown][]
  vi.restoreAllMocks()
  return calls.map(([text, options]) => {
    expect(options).toEqual({ code })
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
    expect(await warnings(Post, { fields: ['id'], declaredFields: naming })).toEqual([])
    const hidden = { account: new NestedSerializer(AllSerializer, { writeOnly: true }) }
    expect(await warnings(Post, { fields: ['id'], declaredFields: hidden })).toEqual([])
    Account.jsonSchema = {
      type: 'object',
      properties: { name: { type: 'string' }, secret: { type: 'string', writeOnly: true } },
    }
    expect(await warnings(Post, { fields: ['id', 'account_id'], depth: 1 })).toEqual([])
  })

  it("of the view's own objects, where '__all__' shows them", async () => {
    const { Account } = models()
    const told = await warnings(Account, { fields: '__all__', extraKwargs: { apiToken: { label: 'Token' } } })
    expect(columnsOf(told)).toEqual([
      ['password_hash', 'Account'],
      ['APISecret', 'Account'],
      ['passwd', 'Account'],
      ['secret', 'Account'],
    ])
    expect(told[0]).toBe(
      'PostSerializer: shows "password_hash" of Account, though nothing names it (fields = \'__all__\'); name the fields to ' +
        'show, or mark it writeOnly in the jsonSchema of Account',
    )
    expect(await warnings(Account, { fields: '__all__' })).toEqual([
      expect.stringContaining('shows "apiToken" of Account, though nothing names it'),
    ])
    expect(await warnings(models().Account, { fields: ['id', 'password_hash'] })).toEqual([])
  })

  it('of what ?expand= shows', async () => {
    const { Post, Account } = models()
    class AllSerializer extends ModelSerializer {
      static override model = Account
      static override fields = '__all__'
    }
    const told = await warnings(Post, { fields: ['id'] }, { expandable: { account: AllSerializer } })
    expect(columnsOf(told)).toContainEqual(['password_hash', 'Account'])
  })
})

describe('a model that hides columns by objection-visibility', () => {
  const visible = visibility as unknown as (model: typeof Model) => typeof Model
  const names = (model: typeof Model, statics: object = {}) => {
    class Shown extends ModelSerializer {
      static override model = model
      static override fields = '__all__'
    }
    return Object.assign(Shown, statics).plan.fieldNames
  }

  it.each<[string, object, string[]]>([
    [
      'hidden',
      { hidden: ['password_hash', 'apiToken', 'APISecret', 'passwd', 'secret'] },
      ['id', 'name', 'team_id', 'hashtag', 'tokens'],
    ],
    ['visible', { visible: ['id', 'name'] }, ['id', 'name']],
    ['both', { visible: ['id', 'name', 'secret'], hidden: ['secret'] }, ['id', 'name']],
  ])('%s: is not shown them by __all__, nor a level below, and nothing warns', async (_name, statics, expected) => {
    class Account extends visible(Model) {
      static override tableName = 'accounts'
    }
    Object.assign(Account, statics).knex(database.knex)
    class Entry extends Model {
      static override tableName = 'posts'
      static override relationMappings = () => ({
        account: {
          relation: Model.BelongsToOneRelation,
          modelClass: Account,
          join: { from: 'posts.account_id', to: 'accounts.id' },
        },
      })
    }
    Entry.knex(database.knex)
    expect(await warnings(Account, { fields: '__all__' })).toEqual([])
    expect(names(Account)).toEqual(expected)
    expect(await warnings(Entry, { fields: ['id', 'account_id'], depth: 1 })).toEqual([])
    expect(names(Account, { fields: ['id', 'secret'] })).toEqual(['id', 'secret'])
  })

  it('cannot have what it hides among readOnlyFields', async () => {
    class Account extends visible(Model) {
      static override tableName = 'accounts'
      static hidden = ['secret']
    }
    Account.knex(database.knex)
    await expect(warnings(Account, { fields: '__all__', readOnlyFields: ['secret'] })).rejects.toThrow(
      'PostSerializer: readOnlyFields names no field "secret"',
    )
  })
})

describe('a model with a $formatJson of its own', () => {
  it('is told of once, as serializers do not ask it', async () => {
    class Account extends Model {
      static override tableName = 'accounts'
      override $formatJson(json: Pojo) {
        const { secret: _secret, ...rest } = super.$formatJson(json)
        return rest
      }
    }
    Account.knex(database.knex)
    class Below extends (visibility as unknown as (model: typeof Model) => typeof Model)(Account) {
      static hidden = ['secret']
    }
    const statics = { fields: ['id', 'name'] }
    expect(await warnings(Account, statics, {}, 'KOA_VIEWSETS_FORMAT_JSON')).toEqual([
      'PostSerializer: Account has a $formatJson of its own, which serializers do not ask; leave out of fields what it ' +
        'leaves out, and compute by a SerializerMethodField, or toRepresentation(), what it computes',
    ])
    expect(await warnings(Account, statics)).toEqual([])
    expect(await warnings(Below, statics, {}, 'KOA_VIEWSETS_FORMAT_JSON')).toHaveLength(1)
  })

  it.each(['toJSON', '$toJson'] as const)('is told of as one with a %s of its own', async (method) => {
    class Account extends Model {
      static override tableName = 'accounts'
    }
    Object.defineProperty(Account.prototype, method, { value: () => ({}) })
    Account.knex(database.knex)
    expect(await warnings(Account, { fields: ['id', 'name'] }, {}, 'KOA_VIEWSETS_FORMAT_JSON')).toEqual([
      expect.stringContaining(`PostSerializer: Account has a ${method} of its own, which serializers do not ask`),
    ])
  })
})
