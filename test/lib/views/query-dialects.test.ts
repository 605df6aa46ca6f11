import { describe, expect, it } from 'vitest'
import { type QueryDialect, readDialect } from '../../../lib/views/query-dialects.js'

const names = {
  filters: new Set([
    'id',
    'id__in',
    'price',
    'price__gte',
    'price__ne',
    'price__nin',
    'title__icontains',
    'author__name',
    'search',
    'my_like',
    'id__range',
    'title__in',
    'title__contains',
    'tags__contains',
  ]),
  search: 'search',
  paginator: { limitQueryParam: 'limit', offsetQueryParam: 'offset', maxLimit: 100 },
}

/** What is asked, as text. */
const read = (dialect: QueryDialect, query: Record<string, string | string[]>) =>
  Object.entries(readDialect(dialect, query, names))
    .map(([name, value]) => `${name}=${[value].flat().join('|')}`)
    .sort()
    .join('&')

describe('simple-rest', () => {
  it.each([
    [{ sort: '["title","ASC"]', range: '[0,9]', filter: '{}' }, 'limit=10&offset=0&ordering=title'],
    [{ sort: '["author.name","DESC"]', range: '[20,24]' }, 'limit=5&offset=20&ordering=-author__name'],
    [{ filter: '{"id":[3,5]}' }, 'id__in=3,5&limit=100'],
    [
      { filter: '{"q":"ada","author":{"name":"b"},"price__gte":5,"done":true,"due":null}' },
      'author__name=b&done=true&due__isnull=true&limit=100&price__gte=5&search=ada',
    ],
    // the commas of one value are its own, and digits are kept
    [{ filter: '{"id":["a,b"]}' }, 'id=a,b&limit=100'],
    [
      { filter: '{"id":[9007199254740993],"price":12345678901234567890.5}' },
      'id__in=9007199254740993&limit=100&price=12345678901234567890.5',
    ],
    [{ fields: 'id', price: '5' }, 'fields=id&price=5'],
    // a link to another page
    [{ range: '[0,9]', limit: '10', offset: '10' }, 'limit=10&offset=10'],
    [{ filter: '{"price__ne":[1,2]}' }, 'limit=100&price__nin=1,2'],
    [
      { filter: '{"id__in":[1,2],"price__nin":[3],"id__range":[4,5]}' },
      'id__in=1,2&id__range=4,5&limit=100&price__nin=3',
    ],
    [{ filter: '{"tags__contains":["a","b"]}' }, 'limit=100&tags__contains=a,b'],
    [{ filter: '{"tags__contains":[]}' }, 'limit=100&tags__contains='],
    [{ filter: '{"title__contains":["a","b"]}' }, 'limit=100&title__contains__in=a,b'],
    [{ filter: '{"__proto__":1}' }, 'limit=100&__proto__=1'],
  ])('%j is %s', (query, expected) => {
    expect(read('simple-rest', query).split('&').sort()).toEqual(expected.split('&').sort())
  })

  it.each([
    'sort=title',
    'sort=["title"]',
    'sort={}',
    'range=[9,0]',
    'range=[0]',
    'range=[-1,2]',
    'range=[0,1.5]',
    'filter=[]',
    'filter=a',
  ])('refuses %s', (text) => {
    const [name = '', value = ''] = text.split('=')
    expect(() => read('simple-rest', { [name]: value })).toThrow(
      expect.objectContaining({ messages: { [name]: ['Invalid value.'] } }),
    )
  })

  it.each([
    ['simple-rest', { filter: '{"id":["a,b","c"]}' }, 'No item of a list may be empty or hold a comma.'],
    ['simple-rest', { filter: '{"id":[""]}' }, 'No item of a list may be empty or hold a comma.'],
    ['simple-rest', { filter: '{"id":[1,null]}' }, 'Ask for what has no value by a lookup: isnull.'],
    ['json-server', { id: ['a,b', 'c'] }, 'No item of a list may be empty or hold a comma.'],
  ] as const)('refuses, as %s, values of a list in %j that a list cannot have', (dialect, query, message) => {
    expect(() => read(dialect, query as never)).toThrow(expect.objectContaining({ messages: { id__in: [message] } }))
  })
})

describe('json-server', () => {
  it.each([
    [{ _start: '20', _end: '30', _sort: 'title,id', _order: 'desc,asc' }, 'limit=10&offset=20&ordering=-title,id'],
    [{ id: ['3', '5'] }, 'id__in=3,5&limit=100'],
    [
      { price_gte: '5', price_ne: '7', title_like: 'a', my_like: 'x' },
      'limit=100&my_like=x&price__gte=5&price__ne=7&title__icontains=a',
    ],
    // several values: none of them, else the last
    [
      { price_ne: ['7', '8'], price_gte: ['5', '6'], title_like: ['a', 'b'], q: ['ada', 'ben'] },
      'limit=100&price__gte=6&price__nin=7,8&search=ben&title__icontains=b',
    ],
    [{ q: 'ada', 'author.name': 'b' }, 'author__name=b&limit=100&search=ada'],
    [{ _start: '0', _end: '10', limit: '10', offset: '10' }, 'limit=10&offset=10'],
    // what it has no name for is the view set's, and so is what it has one for
    [{ price: '5', fields: ['a', 'b'], other_gte: '1' }, 'fields=a|b&other_gte=1&price=5'],
  ])('%j is %s', (query, expected) => {
    expect(
      read('json-server', query as never)
        .split('&')
        .sort(),
    ).toEqual(expected.split('&').sort())
  })

  it('refuses slices that are none', () => {
    for (const query of [{ _start: '5', _end: '2' }, { _start: 'a', _end: '2' }, { _start: '1' }])
      expect(() => read('json-server', query as never)).toThrow('Validation failed')
  })
})
