/** Requests that nobody well-meaning sends, and requests that are nearly right. */
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { anyCharacter } from '../../support/any-character.js'
import { BOUNDARY, MULTIPART } from '../../support/multipart.js'
import type { Shot } from './client.js'

/** Texts with a history. */
export const NASTY: readonly string[] = [
  ...['', ' ', '0', '-0', '-1', '1', '1.5', '1e3', '1e400', '0x10', '+1', '01', 'NaN', 'Infinity', 'null', 'undefined'],
  ...['2147483647', '2147483648', '-2147483649', '9007199254740993', '9223372036854775808', '9'.repeat(400)],
  ...['true', 'false', 't', 'on', '[]', '{}', '[object Object]', '__proto__', 'constructor', 'prototype', 'toString'],
  ...[
    'hasOwnProperty',
    'then',
    'toJSON',
    'id',
    '*',
    '%',
    '_',
    '\\',
    '%%',
    "'",
    '"',
    "''",
    '`',
    ';',
    '--',
    '/*',
    '$1',
    '?',
    '??',
  ],
  ...[
    ':x',
    ':x:',
    '{idx}',
    '~',
    '~raw',
    "' OR '1'='1",
    "'; DROP TABLE canary; --",
    '1; SELECT pg_sleep(5)',
    '1) OR (1=1',
  ],
  ...[
    '" OR 1=1 --',
    "\\'; UPDATE canary SET text='x'; --",
    '$$x$$',
    "E'\\x27'",
    'U&"d\\0061ta"',
    '$' + '{7*7}',
    '{{7*7}}',
  ],
  ...[
    '../../etc/passwd',
    '..%2f..%2f',
    '/etc/passwd',
    'C:\\x',
    'file:///etc/passwd',
    'javascript:alert(1)',
    '<script>',
    '\r\nX-Y: z',
  ],
  ...[
    '\0',
    'a\0b',
    '\ud800',
    'x\udfffy',
    '\ufeff',
    '\u2028',
    '\u202e',
    'é',
    'e\u0301',
    '💥',
    '１',
    'ß',
    'İ',
    'ﬁ',
    '\u0001',
    '\x7f',
  ],
  ...[
    '2024-02-30',
    '2024-01-01',
    '0000-00-00',
    '99999-01-01',
    '2024-01-01T25:00:00Z',
    '2024-01-01T00:00:00+99:99',
    'now',
  ],
  ...[
    'today',
    'epoch',
    '-infinity',
    '4714-11-24 BC',
    '294277-01-01',
    '00000000-0000-0000-0000-000000000000',
    '{00000000-0000',
  ],
  ...[
    '(',
    ')',
    '(a+)+$',
    '((a{1,30}){1,30}){1,30}',
    '[',
    '[[:alpha:]',
    '[[.x.]]',
    '\\y',
    '(?=a)',
    '***=x',
    'a{9999999}',
    '\\1',
  ],
  ...[
    'foo &',
    '!',
    ':*',
    '<->',
    "'x",
    'a <9999> b',
    'x'.repeat(300),
    'a,'.repeat(1200),
    '1,2,3',
    ',',
    ',,',
    'x|y',
    '\t\n\r\v\f',
  ],
]

/** Any text, most of them with a history. */
export const text = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...NASTY) },
  { weight: 2, arbitrary: fc.string({ unit: anyCharacter, maxLength: 30 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme-ascii', maxLength: 60 }) },
)

const BOOKS = {
  title: text,
  isbn: text,
  n: fc.oneof(fc.integer(), fc.integer({ min: 0, max: 9 })),
  big: fc.oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)),
  price: fc.integer({ min: -999_999, max: 999_999 }).map((cents) => (cents / 100).toFixed(2)),
  published: fc
    .date({ min: new Date('0001-01-01'), max: new Date('9999-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10)),
  created: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  uid: fc.uuid(),
  meta: fc.jsonValue({ maxDepth: 4 }),
  is_admin: fc.boolean(),
  author_id: fc.integer({ min: 0, max: 7 }),
} satisfies Record<string, fc.Arbitrary<unknown>>

/** Any value of JSON. */
export const value = fc.oneof(
  { weight: 3, arbitrary: text },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(0, -1, 1e308, 2 ** 53, 2 ** 31, true, null, [], {}, [[]], [null], { a: { b: [1] } }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ id: 1 }, { id: 2, name: 'x' }, { '#id': 1 }, { '#ref': 'x' }, { '#dbRef': 1 }),
  },
)

/** Names of fields, and what looks like one. */
export const name = fc.oneof(
  fc.constantFrom(
    ...Object.keys(BOOKS),
    'id',
    'owner_id',
    'secret',
    'author',
    'author.name',
    'text',
    'name',
    'bio',
    'caption',
    'image',
    'stars',
    'book_id',
  ),
  fc.constantFrom(
    'meta:k',
    'meta:[x]',
    'title as x',
    '$beforeInsert',
    '#id',
    'toJSON',
    '__proto__',
    'constructor',
    'books.title',
  ),
  text,
)

/** A book, with some of its values replaced. */
export const book = fc
  .tuple(fc.record(BOOKS, { requiredKeys: [] }), fc.dictionary(name, value, { maxKeys: 3, noNullPrototype: true }))
  .map(([right, wrong]) => ({ ...right, ...wrong }))

const body = fc.oneof(
  { weight: 3, arbitrary: book },
  { weight: 1, arbitrary: fc.dictionary(name, value, { maxKeys: 4, noNullPrototype: true }) },
  value,
)

const LOOKUPS = [
  'exact',
  'iexact',
  'contains',
  'icontains',
  'in',
  'gt',
  'gte',
  'lt',
  'lte',
  'startswith',
  'endswith',
  'istartswith',
  'iendswith',
  'range',
  'isnull',
  'date',
  'year',
  'regex',
  'foo',
]
const PARAMETERS = [
  'search',
  'ordering',
  'page',
  'page_size',
  'limit',
  'offset',
  'cursor',
  'server_cursor',
  'format',
  'expand',
  'depth',
  'include',
  'version',
]

/** Any character as it may stand in a URL: most are encoded, some are not. */
const encoded = text.chain((one) => fc.constantFrom(safe(one), raw(one)))

const parameter = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(...Object.keys(BOOKS), 'author__name', 'rank', 'secret', 'id'),
      fc.constantFrom(...LOOKUPS),
      encoded,
    )
    .map(([field, lookup, given]) => `${field}__${lookup}=${given}`),
  fc.tuple(fc.constantFrom(...PARAMETERS), encoded).map(([field, given]) => `${field}=${given}`),
  fc.tuple(encoded, encoded).map(([field, given]) => `${field}=${given}`),
  fc.constantFrom(
    'ordering=n,-title',
    'ordering=-created',
    'page=2&page_size=3',
    'search=title',
    'n__in=1,2',
    'created__gt=2026-01-01',
    'a[b]=1',
    '&&=&',
  ),
)
const query = fc.array(parameter, { maxLength: 4 }).map((parts) => (parts.length === 0 ? '' : `?${parts.join('&')}`))

const LISTS = [
  'books',
  'native',
  'own',
  'whole',
  'authors',
  'events',
  'ft',
  'ftraw',
  'rx',
  'pub',
  'uploads',
  'limited',
  'sess',
  'private',
  'authors/1/books',
  'authors/2/books/1/reviews',
  'authors/9/books',
  '',
]
const WRITABLE = [
  'books',
  'native',
  'own',
  'whole',
  'authors',
  'pub',
  'uploads',
  'sess',
  'private',
  'authors/1/books',
  'authors/2/books/1/reviews',
]

const key = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 220 }).map(String) },
  { weight: 1, arbitrary: encoded },
)
const place = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...LISTS) },
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom(...LISTS), key).map(([list, id]) => `${list}/${id}`) },
  { weight: 1, arbitrary: fc.tuple(key, key).map(([a, b]) => `authors/${a}/books/${b}/reviews`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'books/recent',
      'books/recentx',
      'books/bulk',
      'books.csv',
      'books/1.json',
      'books/1.xml',
      'version',
      'exports',
    ),
  },
  { weight: 1, arbitrary: encoded },
)

const header = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      'Accept',
      'Authorization',
      'Cookie',
      'If-None-Match',
      'If-Match',
      'If-Modified-Since',
      'Origin',
      'Host',
      'X-Forwarded-Host',
      'X-Forwarded-For',
      'X-HTTP-Method-Override',
      'X-App-Requested-Version',
      'Range',
      'Accept-Language',
      'Sec-Fetch-Site',
      'Referer',
      'Prefer',
      'Idempotency-Key',
    ),
    text.map(toHeader),
  ),
  fc.constantFrom<[string, string]>(
    ...(['alice', 'bob', 'staff', 'nobody'] as const).map((user): [string, string] => [
      'Authorization',
      `Token ${user}`,
    ]),
    ['Authorization', 'Token'],
    ['Authorization', 'Token a b'],
    ['Authorization', 'Basic eA=='],
    ['Authorization', `Token ${'x'.repeat(9_000)}`],
    ['Accept', 'text/csv'],
    ['Accept', ';;;,,,/,q='],
    ['Accept', 'image/png'],
    ['Accept', '*/*;q=0'],
    ['If-None-Match', '*'],
    ['If-Match', '"x"'],
    ['Cookie', 'session=alice'],
    ['Cookie', '__proto__=1; ;=;'],
    ['Origin', 'null'],
    ['Idempotency-Key', '"k1"'],
    ['Idempotency-Key', '"k1", "k2"'],
    ['Idempotency-Key', 'x'.repeat(9_000)],
  ),
)
const headers = fc.array(header, { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs))

const TYPES = [
  'application/json',
  'application/json',
  'application/json',
  'APPLICATION/JSON; charset=utf-8',
  'application/json;',
  'application/json; charset=utf-16le',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  MULTIPART['Content-Type'],
  'application/json foo',
  '',
]

const read = fc.record({
  method: fc.oneof(
    { weight: 9, arbitrary: fc.constant('GET') },
    { weight: 1, arbitrary: fc.constantFrom('HEAD', 'OPTIONS', 'DELETE', 'PROPFIND', 'TRACE', 'POST') },
  ),
  path: fc.tuple(place, query).map(([where, what]) => `/api/${where}${what}`),
  headers,
})

const target = fc.oneof(
  fc.constantFrom(...WRITABLE),
  fc.tuple(fc.constantFrom(...WRITABLE), key).map(([list, id]) => `${list}/${id}`),
  key.map((id) => `books/${id}/publish`),
  fc.constantFrom(...['books', 'native', 'pub', 'authors/1/books'].map((list) => `${list}/bulk`)),
)

/** A method and a path, mostly of one route. */
const goal = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...WRITABLE).map((list) => ['POST', list] as const) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom('PUT', 'PATCH', 'PATCH'), fc.constantFrom(...WRITABLE), fc.integer({ min: 1, max: 150 }))
      .map(([method, list, id]) => [method, `${list}/${id}`] as const),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom('POST', 'PATCH', 'PUT', 'DELETE'),
        fc.constantFrom('books', 'native', 'pub', 'authors/1/books'),
      )
      .map(([method, list]) => [method, `${list}/bulk`] as const),
  },
  { weight: 1, arbitrary: key.map((id) => ['DELETE', `books/${id}`] as const) },
  { weight: 1, arbitrary: key.map((id) => ['POST', `books/${id}/publish`] as const) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE'), target) },
)

const written = fc.oneof(
  { weight: 6, arbitrary: body.map((one) => JSON.stringify(one)) },
  {
    weight: 2,
    arbitrary: fc
      .array(
        fc.oneof(
          body,
          fc
            .tuple(fc.integer({ min: 0, max: 9 }), body)
            .map(([id, one]) =>
              typeof one === 'object' && one !== null && !Array.isArray(one) ? { ...one, id } : one,
            ),
        ),
        { maxLength: 5 },
      )
      .map((items) => JSON.stringify(items)),
  },
  { weight: 2, arbitrary: body.chain((one) => mutate(Buffer.from(JSON.stringify(one) ?? ''))) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '{"title":"x","__proto__":{"is_admin":true}}',
      '{"n":1,"n":"x"}',
      '['.repeat(3000),
      `${'{"a":'.repeat(80)}1${'}'.repeat(80)}`,
      'null',
      '{"title":1e999}',
      '\ufeff{}',
      '{"title":"\\u0000"}',
      '{"title":"\\ud800"}',
    ),
  },
)

const writeHeaders = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('alice', 'bob', 'staff').map((user) => ({
      'Content-Type': 'application/json',
      Authorization: `Token ${user}`,
    })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...TYPES), headers, fc.constantFrom(null, 'alice', 'bob', 'staff', 'alice'))
      .map(([type, others, user]) => ({
        ...(type === '' ? {} : { 'Content-Type': type }),
        ...(user === null ? {} : { Authorization: `Token ${user}` }),
        ...others,
      })),
  },
)

/** Keys that come again, with the same request and with others. */
const idempotencyKey = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 200 }).map((n) => ({ 'Idempotency-Key': `"key-${n}"` })) },
)

const write: fc.Arbitrary<Shot> = fc
  .tuple(
    goal,
    fc.oneof({ weight: 4, arbitrary: fc.constant('') }, { weight: 1, arbitrary: query }),
    fc.tuple(idempotencyKey, writeHeaders).map(([key, given]) => ({ ...key, ...given })),
    written,
  )
  .map(([[method, where], what, given, content]) => ({
    method,
    path: `/api/${where}${what}`,
    headers: given,
    body: content,
  }))

const formPair = fc
  .tuple(name, value)
  .map(([field, given]) => `${safe(field)}=${safe(typeof given === 'string' ? given : (JSON.stringify(given) ?? ''))}`)
const form = fc.record({
  method: fc.constantFrom('POST', 'PUT', 'PATCH'),
  path: target.map((where) => `/api/${where}`),
  headers: fc
    .constantFrom('alice', 'staff')
    .map((user) => ({ 'Content-Type': 'application/x-www-form-urlencoded', Authorization: `Token ${user}` })),
  body: fc.oneof(
    fc.array(formPair, { maxLength: 6 }).map((pairs) => pairs.join('&')),
    fc.constantFrom('a[b][c][d][e][f][g]=1', '%zz=%', '=', '&&&', 'a&'.repeat(1500), 'title[]=1&title[]=2'),
  ),
})

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3])
const partHeader = fc.oneof(
  fc
    .tuple(name, text)
    .map(
      ([field, file]) =>
        `Content-Disposition: form-data; name="${toHeader(field)}"; filename="${toHeader(file)}.png"\r\nContent-Type: image/png`,
    ),
  name.map((field) => `Content-Disposition: form-data; name="${toHeader(field)}"`),
  fc.constantFrom(
    'Content-Disposition: form-data; name="image"; filename="a.png"\r\nContent-Type: image/png',
    'Content-Disposition: form-data',
    'X: y',
    '',
    `X: ${'y'.repeat(20_000)}`,
    'Content-Disposition: form-data; name="caption"',
  ),
)
const file = fc.oneof(
  fc.constant(PNG),
  fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
  text.map((one) => Buffer.from(one)),
)
const upload = fc.record({
  method: fc.constantFrom('POST', 'PUT', 'PATCH'),
  path: fc.constantFrom('/api/uploads', '/api/uploads/1', '/api/books', '/api/whole'),
  headers: fc
    .constantFrom('alice', 'alice', 'nobody')
    .map((user) => ({ ...MULTIPART, Authorization: `Token ${user}` })),
  body: fc
    .array(fc.tuple(partHeader, file), { maxLength: 4 })
    .map((parts) =>
      Buffer.concat([
        ...parts.map(([head, content]) =>
          Buffer.concat([Buffer.from(`--${BOUNDARY}\r\n${head}\r\n\r\n`), content, Buffer.from('\r\n')]),
        ),
        Buffer.from(`--${BOUNDARY}--\r\n`),
      ]),
    )
    .chain((whole) => fc.oneof({ weight: 3, arbitrary: fc.constant(whole) }, { weight: 2, arbitrary: mutate(whole) })),
})

const packed = fc.record({
  method: fc.constant('POST'),
  path: fc.constant('/api/books'),
  headers: fc.constantFrom('gzip', 'br', 'deflate', 'foo', 'gzip, gzip', '').map((coding) => ({
    'Content-Type': 'application/json',
    'Content-Encoding': coding,
    Authorization: 'Token alice',
  })),
  body: fc.oneof(
    fc.constant(gzipSync('{"title":"x"}')),
    mutate(gzipSync('{"title":"x"}')),
    fc.constant(gzipSync(Buffer.alloc(3_000_000, 32))),
    fc.constant('{}'),
  ),
})

/** One request of any kind. */
export const anyShot: fc.Arbitrary<Shot> = fc.oneof(
  { weight: 10, arbitrary: read },
  { weight: 8, arbitrary: write },
  { weight: 2, arbitrary: form },
  { weight: 2, arbitrary: upload },
  { weight: 1, arbitrary: packed },
)

/** Bytes with some cut, doubled, flipped or put in. */
function mutate(bytes: Buffer): fc.Arbitrary<Buffer> {
  const last = bytes.length
  return fc
    .tuple(
      fc.constantFrom('cut', 'double', 'flip', 'insert'),
      fc.nat(last),
      fc.nat(last),
      fc.uint8Array({ minLength: 1, maxLength: 4 }),
    )
    .map(([how, one, two, extra]) => {
      const [from, to] = one < two ? [one, two] : [two, one]
      const [head, middle, tail] = [bytes.subarray(0, from), bytes.subarray(from, to), bytes.subarray(to)]
      if (how === 'cut') return Buffer.concat([head, tail])
      if (how === 'double') return Buffer.concat([head, middle, middle, tail])
      if (how === 'insert') return Buffer.concat([head, extra, middle, tail])
      return Buffer.concat([head, middle.map((byte) => byte ^ (extra[0] as number)), tail])
    })
}

/** Encoded for a URL; what has no UTF-8 as the three bytes of its code unit. */
export function safe(given: string): string {
  return [...Buffer.from(given, 'utf8')]
    .map((byte) =>
      /[\w.~-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0')}`,
    )
    .join('')
}

/** As little encoded as a client of Node's can send. */
function raw(given: string): string {
  return given.replace(/[\x00-\x20#?\x7f-\uffff]/g, safe)
}

/** What a header can hold of it. */
export function toHeader(given: string): string {
  return given.replace(/[^\x20-\xff]|\x7f/g, '~')
}
