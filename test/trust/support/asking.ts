/** What lists are asked in the fuzzer's run: groups of filters and QUERY bodies, right, nearly right and hostile. */
import fc from 'fast-check'
import { anyCharacter } from '../../support/any-character.js'
import type { Shot } from './client.js'
import { NASTY, safe } from './hostile.js'

const nasty = fc.constantFrom(...NASTY)

const name = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      ...['title', 'n', 'price', 'created', 'published', 'uid', 'is_admin', 'author__name', 'meta__k', 'title__in'],
      ...['n__in', 'n__nin', 'price__gte', 'title__icontains', 'tags__overlap', 'tags__contains', 'created__year'],
      ...['published__month', 'created__day', 'n__range', 'meta__k__ne', 'text', 'stars__gte', 'id__isnull'],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('secret', 'owner_id', 'meta', 'reviews', 'or', 'count(reviews)__gte'),
  },
  { weight: 1, arbitrary: nasty },
)
const relation = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('reviews', 'author') },
  { weight: 1, arbitrary: nasty },
)
const value = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('1', '2.5', '2026', 'title 1', 'true', '2026-01-01', 'book', '1,2'),
  },
  { weight: 2, arbitrary: nasty },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 20 }) },
)

/** A condition of books, mostly one that holds for some. */
const condition = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.constantFrom<[string, string]>(
      ['title', 'title 1'],
      ['n', '1'],
      ['price__gte', '2.5'],
      ['created__year', '2026'],
      ['meta__k', '3'],
      ['tags__overlap', 'book'],
      ['n__in', '1,2'],
      ['is_admin', 'true'],
      ['author__name', 'author 1'],
      ['published__month', '1'],
      ['n__ne', '2'],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom('title__icontains', 'meta__k', 'author__name__ne'), value),
  },
  { weight: 1, arbitrary: fc.tuple(name, value) },
)
const ofReviews = fc.constantFrom<[string, string]>(['stars', '3'], ['text__icontains', 'review'], ['stars__gte', '2'])

/** As it stands in quotation marks. */
const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`

const { tree } = fc.letrec<{ tree: string }>((tie) => {
  const inner = fc.array(tie('tree'), { minLength: 1, maxLength: 3 }).map((parts) => parts.join(','))
  return {
    tree: fc.oneof(
      { maxDepth: 7, depthSize: 'medium' },
      {
        weight: 4,
        arbitrary: condition.map(([field, text]) => `${field}=${quote(text)}`),
      },
      {
        weight: 2,
        arbitrary: ofReviews.map(([field, text]) => `any(reviews,${field}=${quote(text)})`),
      },
      { weight: 1, arbitrary: relation.map((one) => `count(${one})__gte=1`) },
      {
        weight: 3,
        arbitrary: fc.tuple(fc.constantFrom('and', 'or'), inner).map(([how, all]) => `${how}(${all})`),
      },
      { weight: 1, arbitrary: tie('tree').map((one) => `not(${one})`) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.constantFrom('any', 'none'), relation, tie('tree'))
          .map(([how, one, all]) => `${how}(${one},${all})`),
      },
    ),
  }
})

/** A group with, now and then, a character too many or too few. */
const group = fc.oneof(
  { weight: 3, arbitrary: tree },
  {
    weight: 1,
    arbitrary: fc
      .tuple(tree, fc.nat(), fc.constantFrom('', '(', ')', '"', ',', '=', '\\', ' ', '\0', 'not('))
      .map(
        ([text, at, sign]) => text.slice(0, at % (text.length + 1)) + sign + text.slice((at % (text.length + 1)) + 1),
      ),
  },
)

const leaf = fc.oneof(
  { weight: 3, arbitrary: value },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown[]>(1, 1.5, -0, 1e308, true, false, null, [], {}, [[]], [null], ['']),
  },
  {
    weight: 1,
    arbitrary: fc.array(fc.oneof(value, fc.integer()), { maxLength: 4 }),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
)

const { filter } = fc.letrec<{ filter: unknown }>((tie) => ({
  filter: fc
    .array(
      fc.oneof(
        { maxDepth: 7 },
        { weight: 8, arbitrary: condition },
        { weight: 1, arbitrary: fc.tuple(name, leaf) },
        {
          weight: 4,
          arbitrary: fc.tuple(
            fc.constantFrom('and', 'or'),
            fc.oneof(
              {
                weight: 20,
                arbitrary: fc.array(tie('filter'), {
                  minLength: 1,
                  maxLength: 3,
                }),
              },
              { weight: 1, arbitrary: leaf },
            ),
          ),
        },
        {
          weight: 3,
          arbitrary: ofReviews.map((pair): [string, unknown] => ['any(reviews)', Object.fromEntries([pair])]),
        },
        fc.tuple(fc.constant('not'), tie('filter')),
        fc.tuple(
          fc.tuple(fc.constantFrom('any', 'none', 'count'), relation).map(([how, one]) => `${how}(${one})`),
          fc.oneof(tie('filter'), leaf),
        ),
      ),
      { minLength: 1, maxLength: 3 },
    )
    .map((pairs) => Object.fromEntries(pairs)),
}))

const order = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom('n', '-price', '-author__name,title'),
  },
  nasty,
)

/** Mostly the one, now and then anything. */
const mostly = (right: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 15, arbitrary: right }, { weight: 1, arbitrary: leaf })

const members = fc.record(
  {
    filter: mostly(fc.oneof({ weight: 3, arbitrary: filter }, { weight: 1, arbitrary: tree })),
    order: mostly(fc.constantFrom('n', '-price', ['author__name', '-title'], [])),
    search: mostly(fc.constantFrom('title', '1', 'isbn-2')),
    fields: mostly(fc.constantFrom('id', 'title,n', ['id', 'price'])),
    page: mostly(fc.constantFrom(1, '1')),
    page_size: mostly(fc.integer({ min: 1, max: 20 })),
  },
  { requiredKeys: ['filter'], noNullPrototype: true },
)

const body = fc.oneof(
  { weight: 8, arbitrary: members.map((one) => JSON.stringify(one)) },
  { weight: 1, arbitrary: leaf.map((one) => JSON.stringify(one) ?? '') },
  {
    weight: 1,
    arbitrary: fc.tuple(members, fc.nat()).map(([one, at]) => JSON.stringify(one).slice(0, at % 60)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '{"filter":{"__proto__":{"n":1}}}',
      `{"filter":{"not":${'{"not":'.repeat(60)}{}${'}'.repeat(62)}`,
      `{"filter":${'{"or":['.repeat(3_000)}`,
      `{"filter":{"n__in":[${'1,'.repeat(1_001)}1]}}`,
      `{"filter":{"or":[${'{"n":1},'.repeat(60)}{"n":1}]}}`,
      '{"filter":{"n":123456789012345678901234567890}}',
      '{"filter":{"n":1},"filter":{"n":"x"}}',
      '{"filter":{"title":"\\ud800"}}',
    ),
  },
)

const byBody = fc
  .tuple(
    fc.oneof(
      { weight: 9, arbitrary: fc.constant('asked') },
      fc.constantFrom('asked/1', 'books', 'asked.csv', 'events'),
    ),
    fc.oneof(
      { weight: 5, arbitrary: fc.constant('') },
      fc.constantFrom('?page=2', '?n=1', '?filter=n=1', '?ordering=n'),
    ),
    fc.oneof(
      {
        weight: 9,
        arbitrary: fc.constant<string | undefined>('application/json'),
      },
      fc.constantFrom(undefined, 'text/plain', 'application/x-www-form-urlencoded'),
    ),
    body,
  )
  .map(([list, query, type, text]): Shot => {
    const headers = type === undefined ? {} : { 'Content-Type': type }
    return {
      method: 'QUERY',
      path: `/api/${list}${query}`,
      headers,
      body: text,
    }
  })

const byUrl = fc.tuple(group, fc.option(fc.tuple(name, value)), fc.option(order)).map(([text, more, sort]): Shot => {
  const pairs = [['filter', text], ...(more ? [more] : []), ...(sort === null ? [] : [['ordering', sort]])]
  const query = pairs.map(([field, given]) => `${safe(field ?? '')}=${safe(given ?? '')}`).join('&')
  return { method: 'GET', path: `/api/asked?${query}` }
})

/** A GET with a group, or a QUERY. */
export const askingShot: fc.Arbitrary<Shot> = fc.oneof(byUrl, byBody)
