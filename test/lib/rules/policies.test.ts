/** Policies of PostgreSQL, as they are made of rules: what they say, and what is not printed. */

import knex from 'knex'
import { Model } from 'objection'
import { describe, expect, it } from 'vitest'
import { any, type Condition, none, readable, rule, sql } from '../../../lib/rules/index.js'
import { printPolicies } from '../../../lib/rules/policies.js'
import type { RuleCaller } from '../../../lib/rules/rule.js'
import { RuleSet } from '../../../lib/rules/rule-set.js'
import { describeTable } from '../../support/described.js'

class Author extends Model {
  static override tableName = 'authors'
}
class Book extends Model {
  static override tableName = 'books'
  static override relationMappings = () => ({
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'books.author_id', to: 'authors.id' },
    },
    reviews: {
      relation: Model.HasManyRelation,
      modelClass: Review,
      join: { from: 'books.id', to: 'reviews.book_id' },
    },
  })
}
class Review extends Model {
  static override tableName = 'reviews'
  static override relationMappings = () => ({
    book: { relation: Model.BelongsToOneRelation, modelClass: Book, join: { from: 'reviews.book_id', to: 'books.id' } },
  })
}
describeTable(Author, { id: 'int4', name: 'text', tenant: 'int4' })
describeTable(Book, { id: 'int4', title: 'text', tenant: 'int4', author_id: 'int4?' })
describeTable(Review, { id: 'int4', book_id: 'int4', stars: 'int4', seal: 'bytea?' })
Model.knex(knex({ client: 'pg' }))

type Make = Condition | ((caller: RuleCaller) => Condition)

/** The policy of reading books, or why there is none. */
function policyOf(read: Make, others: readonly ReturnType<typeof rule>[] = []): string {
  const { sql: text, left } = printPolicies(new RuleSet([rule(Book, { read }), ...others]))
  const found = /CREATE POLICY rule_read ON "books" FOR SELECT USING \((.*)\);/.exec(text)?.[1]
  expect(found === undefined).toBe(left.length > 0)
  const said = /RETURN (.*);\nCREATE POLICY rule_read ON "books"/.exec(text)?.[1]
  return found === undefined ? `${left[0]}` : said === undefined ? found : `${found}: ${said}`
}

const setting = (name: string) => `nullif(current_setting('app.${name}', true), '')`
const OWN = rule(Author, { read: ({ user }) => ({ tenant: user?.tenant }) })

describe('a policy', () => {
  it('is printed of each action', () => {
    const made = printPolicies(
      new RuleSet([rule(Book, { read: { tenant: 1 }, update: { title: "it's" }, create: true, delete: false })]),
    )
    expect(made).toEqual({
      left: [],
      sql: `-- The rules of the API, for roles that own no table: owners and superusers pass policies by.
BEGIN;

-- Book
ALTER TABLE "books" ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS rule_read ON "books";
CREATE POLICY rule_read ON "books" FOR SELECT USING ("books"."tenant" = '1');
DROP POLICY IF EXISTS rule_create ON "books";
CREATE POLICY rule_create ON "books" FOR INSERT WITH CHECK (true);
DROP POLICY IF EXISTS rule_update ON "books";
CREATE POLICY rule_update ON "books" FOR UPDATE USING ("books"."title" = 'it''s') WITH CHECK ("books"."title" = 'it''s');
DROP POLICY IF EXISTS rule_delete ON "books";
CREATE POLICY rule_delete ON "books" FOR DELETE USING (false);

COMMIT;
`,
    })
  })

  it('has settings for values of the caller, of their columns’ types', () => {
    expect(policyOf(({ user }) => ({ tenant: user?.tenant }))).toBe(
      `(${setting('user_tenant')} is not null and "books"."tenant" = (${setting('user_tenant')})::integer)`,
    )
    expect(policyOf(({ user }) => ({ title: user.team.name }))).toContain(`(${setting('user_team_name')})::text`)
    expect(policyOf(({ ctx }) => ({ title: ctx.state['region'] }))).toContain(`(${setting('region')})::text`)
    expect(policyOf(({ ctx }) => ({ title: ctx.state['user']?.name }))).toContain(`(${setting('user_name')})::text`)
    expect(policyOf(({ user }) => ({ tenant__in: [user?.id, 7] }))).toContain(
      `= any(array[(${setting('user_id')})::integer, '7']::integer[])`,
    )
    expect(policyOf(({ user }) => ({ tenant__in: user?.teams }))).toContain('jsonb_path_query')
  })

  it('has values without a type, which PostgreSQL finds as where they are bound', () => {
    expect(policyOf({ tenant: 5n })).toBe(`"books"."tenant" = '5'`)
    expect(policyOf({ title: true })).toBe(`"books"."title" = 'true'`)
    expect(policyOf({ tenant__in: [1, 2n] })).toContain(`'{"1","2"}'`)
  })

  it('has bytes as bytes', () => {
    const printed = (read: Condition) => printPolicies(new RuleSet([rule(Review, { read })])).sql
    expect(printed({ seal: Buffer.from([0, 255]) })).toContain(`("reviews"."seal" = E'\\\\x00ff')`)
    expect(printed({ seal__in: [Buffer.from([5])] })).toContain(`'{"\\\\\\\\x05"}'`)
  })

  it('holds of no row where a setting is missing, whatever stands around it', () => {
    for (const made of [{ tenant__ne: 1 }, { tenant__nin: 1 }]) {
      const [name] = Object.keys(made) as [string]
      expect(policyOf(({ user }) => ({ [name]: user?.id }))).toMatch(
        /^\(nullif\(.*?\) is not null and .* is not true\)$/,
      )
    }
    expect(policyOf(({ user }) => ({ not: { tenant: user?.id } }))).toMatch(
      /^\(nullif\(.*?\) is not null and .* is not true\)$/,
    )
    expect(policyOf(({ user }) => ({ not: sql`tenant = ${user?.id}::int` }))).toMatch(
      /^\(nullif\(.*?\) is not null and .* is not true\)$/,
    )
  })

  it('asks related tables by EXISTS, and those that have policies by themselves for what is readable', () => {
    expect(policyOf({ author__tenant: 1 })).toBe(
      `exists (select 1 from "authors" as "related 1" where "books"."author_id" = "related 1"."id" and "related 1"."tenant" = '1')`,
    )
    const readAuthor = 'exists (select 1 from "authors" as "rule 1" where "books"."author_id" = "rule 1"."id" and true)'
    expect(policyOf(any('author', readable), [OWN])).toBe(readAuthor)
    expect(policyOf(none('author', readable), [OWN])).toBe(
      'not exists (select 1 from "authors" as "rule 1" where "books"."author_id" = "rule 1"."id" and (false) is not true)',
    )
  })

  it('asks with the rights of the owner where policies of other tables would leave out what it is about', () => {
    for (const condition of [
      { author__tenant: 1 },
      none('author', { tenant: 1 }),
      any('author', { or: [readable, { tenant: 1 }] }),
      any('author', { not: readable }),
    ]) {
      expect(policyOf(condition, [OWN])).toMatch(/^rule_read\("books"\.\*\): .*exists/)
    }
    // the other table's policy would ask this one's
    const { sql: text } = printPolicies(
      new RuleSet([
        rule(Book, { read: { author__tenant: 1 }, update: any('reviews', readable) }),
        rule(Review, { read: any('book', readable) }),
      ]),
    )
    expect(text).toContain('CREATE POLICY rule_update ON "books" FOR UPDATE USING (rule_update("books".*))')
    expect(text).not.toContain('USING (rule_read("reviews".*))')
  })

  it('asks with the rights of the owner where the role lacks columns of the other table', () => {
    const rules = new RuleSet([
      rule(Book, { read: { author__tenant: 1 } }),
      rule(Author, { fields: { tenant: { read: false } } }),
    ])
    const own = 'CREATE POLICY rule_read ON "books" FOR SELECT USING (rule_read("books".*))'
    expect(printPolicies(rules, 'app').sql).toContain(own)
    expect(printPolicies(rules).sql).not.toContain(own)
  })

  it('looks at the row itself for a condition in SQL', () => {
    expect(policyOf(sql`tenant = ${1} and title ? 'a'`)).toBe(
      `(exists (select 1 from (select "books".*) as "books" where tenant = '1' and title ? 'a'))`,
    )
  })
})

describe('what is not printed', () => {
  const isStaff = ({ user }: RuleCaller) => user?.role === 'staff'
  const BANNED = new Set(['mallory'])
  it.each<[string, (caller: RuleCaller) => Condition, string]>([
    ['a branch', ({ user }) => (user?.isStaff ? true : { tenant: user?.tenant }), 'decides by user.isStaff'],
    ['a branch by the user', ({ user }) => (user ? { tenant: user.tenant } : { tenant: 1 }), 'decides by user'],
    ['a helper', (caller) => (isStaff(caller) ? true : { tenant: caller.user?.tenant }), 'decides by user.role'],
    ['a comparison', ({ user }) => (user?.role === 'guest' ? { tenant: 1 } : true), 'decides by user.role'],
    [
      'a value that is passed on, too',
      ({ user: { role } }) => (role === 'banned' ? false : { title__ne: role }),
      'decides by user.role',
    ],
    [
      'its type',
      ({ user }) => {
        const id: unknown = user?.id
        return typeof id === 'number' ? true : { id }
      },
      'decides by user.id',
    ],
    ['a default', ({ user }) => ({ tenant: user?.tenant ?? 1 }), 'decides by user'],
    [
      'another default',
      ({ user }) => {
        const { tenant = 1 } = user
        return { tenant }
      },
      'decides by user.tenant',
    ],
    ['a set', ({ user }) => !BANNED.has(user?.name), 'decides by user.name'],
    ['a sum', ({ user }) => ({ tenant: user?.tenant + 1 }), 'computes with user.tenant'],
    ['an order', ({ user }) => (user?.level > 3 ? true : { tenant: 1 }), 'computes with user.level'],
    ['a text', ({ user }) => ({ title: `of ${user?.name}` }), 'computes with user.name'],
    ['a list', ({ user }) => user?.roles.includes('x'), 'computes with its caller'],
    ['what the request holds', ({ ctx }) => ({ title: ctx.get('X-Title') }), 'reads ctx.get'],
    ['a copy of the user', ({ user }) => ({ ...user }), 'computes with user'],
    ['the user as a value', ({ user }) => ({ title: user }), 'has the user in the place of a value'],
    ['a value as a condition', ({ user }) => user?.sees, 'has user.sees in the place of a condition'],
    ['the time', () => ({ title: new Date().toISOString() }), 'asks for the time'],
    ['chance', () => ({ tenant: Math.random() }), 'asks for a random number'],
    [
      'an error',
      () => {
        throw new Error('x\n; drop table books')
      },
      'throws x ; drop table books',
    ],
    ['a pattern', ({ user }) => ({ title__contains: user?.name }), 'compares title'],
    ['SQL without a type', ({ user }) => sql`tenant = ${user?.tenant}`, 'has user.tenant in SQL without a type'],
    [
      'two values of one name',
      ({ user }) => ({ tenant: user?.team_id, id: user?.team?.id }),
      'in the setting app.user_team_id',
    ],
    ['an odd name', ({ user }) => ({ tenant: user?.['a-b'] }), 'reads "a-b" of user'],
  ])('is %s', (_, make, reason) => {
    expect(policyOf(make)).toContain(reason)
    expect(printPolicies(new RuleSet([rule(Book, { read: make })])).sql).not.toContain('CREATE POLICY')
  })

  it('is what depends on it', () => {
    const hidden = rule(Author, { read: ({ user }) => (user?.isStaff ? true : { tenant: 1 }) })
    for (const condition of [none('author', readable), any('author', readable)]) {
      const { sql: text, left } = printPolicies(new RuleSet([rule(Book, { read: condition, update: true }), hidden]))
      expect(left.filter((one) => one.startsWith('rule(Book)'))).toHaveLength(3)
      expect(text).toContain('CREATE POLICY rule_update ON "books"')
      expect(text).not.toContain('CREATE POLICY rule_read')
    }
    expect(policyOf(any('author', { tenant: 1 }), [])).toContain('exists')
  })
})

describe('grants of columns', () => {
  const fields = {
    title: { write: false },
    tenant: { read: false },
    author: { read: ({ user }: RuleCaller) => user?.isStaff === true, mask: null },
    reviews: { read: false },
  }

  it('are those that rules leave to all callers, of a role that is named', () => {
    const { sql: text, left } = printPolicies(new RuleSet([rule(Book, { fields })]), 'app')
    expect(text).toContain(`REVOKE SELECT ON "books" FROM "app";
GRANT SELECT ("id", "title", "author_id") ON "books" TO "app";
REVOKE INSERT, UPDATE ON "books" FROM "app";
GRANT INSERT ("id", "author_id"), UPDATE ("id", "author_id") ON "books" TO "app";`)
    expect(left).toEqual([
      'rule(Book).fields.author.read depends on the caller, or the row',
      'rule(Book).fields.author.write depends on the caller, or the row',
      'rule(Book).fields.reviews.read is of no single column',
      'rule(Book).fields.reviews.write is of no single column',
    ])
  })

  it('are not printed of nobody', () => {
    const { sql: text, left } = printPolicies(new RuleSet([rule(Book, { fields })]))
    expect(text).not.toContain('GRANT')
    expect(left.at(-1)).toBe('Book: who may not INSERT or UPDATE title, tenant; name the role by --role')
  })
})
