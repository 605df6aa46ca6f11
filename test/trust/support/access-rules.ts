/** The rules of the atlas: its rows, and who may do what with them. It knows nothing of the library. */
import { expect } from 'vitest'
import { multipart } from '../../support/multipart.js'

// The rows. Alice owns what has an owner.

export const TABLES = ['countries', 'cities', 'lists', 'entries', 'photos']

/** Remembers every row that is written, as long as the transaction that wrote it is committed. */
export const WATCH = `
  create table written (name text not null);
  create function watch() returns trigger language plpgsql as
    $$ begin insert into written values (tg_op || ' ' || tg_table_name); return null; end $$;
  ${TABLES.map(
    (table) => `
    create trigger watch after insert or update or delete on ${table} for each row execute function watch();
    alter table ${table} alter id restart with 1000;`,
  ).join('')}`

export const ROWS = `
  delete from photos; delete from entries; delete from lists; delete from cities; delete from countries;
  insert into countries (id, name, official_name, cca2, cca3, region, latitude, longitude) overriding system value values
    (1, 'Land', 'The Land', 'LA', 'LND', 'Here', 1, 2),
    (2, 'Isle', 'The Isle', 'IS', 'ISL', 'There', 1, 2);
  insert into cities (id, geoname_id, name, country_id, latitude, longitude) overriding system value
    select n, n, 'City ' || n, 1, 0, 0 from generate_series(1, 4) n;
  insert into lists (id, owner_id, title, visibility, deleted_at) overriding system value values
    (1, 1, 'public', 'public', null),
    (2, 1, 'private', 'private', null),
    (3, 1, 'deleted', 'public', '2026-01-01');
  insert into entries (id, list_id, city_id, day) overriding system value values
    (1, 1, 1, '2026-05-01'), (2, 1, 1, '2026-05-02'), (3, 2, 1, '2026-05-01'), (4, 2, 1, '2026-05-02'), (5, 3, 1, '2026-05-01');
  insert into photos (id, owner_id, city_id, image) overriding system value values
    (1, 1, 1, '0123456789abcdef0123456789abcdef.png');
  delete from written`

// The rules.

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
export const ACTORS = ['anonymous', 'alice', 'bob', 'staff', 'forged'] as const
export const SUFFIXES = ['', '.json', '.csv', '.xml'] as const

export type Method = (typeof METHODS)[number]
export type Actor = (typeof ACTORS)[number]
export type Suffix = (typeof SUFFIXES)[number]

/** One thing that a path may lead to. */
export interface Target {
  readonly what: string
  /** The path, with the external ids of lists in place of `<public>`, `<private>` and `<deleted>`. */
  readonly path: string
  /** Who sees it. */
  readonly seenBy: readonly Actor[]
  /** Who may write it, of those who see it. */
  readonly writtenBy: readonly Actor[]
  /** Other rows refer to it. */
  readonly referenced?: boolean
  /** The caller has asked too often. */
  readonly exhausted?: boolean
  /** Bodies that differ from those of the path's other targets. */
  readonly bodies?: Bodies
}

type Bodies = Partial<Record<Method, unknown>>

/** The rules of one path. */
export interface Rules {
  /** The methods of the path as `getUrls()` has them, with the status of success. */
  readonly methods: Partial<Record<Method, number>>
  readonly suffixes: readonly Suffix[]
  /** Callers are told apart, and only those that are known may write. */
  readonly knowsCallers: boolean
  /** Answers in JSON are pages of a cursor of the database: each can be had once. */
  readonly answersOnce?: boolean
  readonly bodies?: Bodies
  readonly targets: readonly Target[]
  /** The path that a path with another suffix belongs to: a key may hold a full stop. */
  readonly elsewhere?: string
  /** Any suffix is part of a key where a method writes. */
  readonly isKeyToWrites?: boolean
}

const EVERYBODY = ACTORS
export const KNOWN: readonly Actor[] = ['alice', 'bob', 'staff']
export const OWNERS: readonly Actor[] = ['alice', 'staff']
export const NOBODY: readonly Actor[] = []
export const SAFE: readonly Method[] = ['GET', 'HEAD', 'OPTIONS']

const JSON_ONLY: readonly Suffix[] = ['', '.json']
const JSON_AND_CSV: readonly Suffix[] = ['', '.json', '.csv']

/** Bodies that need no parser but the multipart one. */
const PHOTO = multipart(
  { name: 'city_id', content: '2' },
  {
    name: 'image',
    filename: 'photo.png',
    type: 'image/png',
    content: Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(32)]),
  },
)
const COUNTRY = {
  name: 'N',
  official_name: 'New',
  cca2: 'NN',
  cca3: 'NNN',
  region: 'Here',
  latitude: '1',
  longitude: '2',
}
const CITY = { geoname_id: 99, name: 'New', country_id: 1, latitude: '1', longitude: '2' }
const LIST = { title: 'New' }
const ENTRY = { city_id: 2, day: '2026-06-01' }

const open = (what: string, path: string, more: Partial<Target> = {}): Target => ({
  what,
  path,
  seenBy: EVERYBODY,
  writtenBy: EVERYBODY,
  ...more,
})
const missing = (path: string, what = 'missing'): Target => open(what, path, { seenBy: NOBODY })
const owned = (what: string, path: string, more: Partial<Target> = {}): Target =>
  open(what, path, { writtenBy: OWNERS, ...more })
const hidden = (what: string, path: string, more: Partial<Target> = {}): Target =>
  open(what, path, { seenBy: OWNERS, writtenBy: OWNERS, ...more })

const LIST_METHODS = { GET: 200, POST: 201 }
const OBJECT_METHODS = { GET: 200, PUT: 200, PATCH: 200, DELETE: 204 }
const READING = { GET: 200 }

/** A collection that everybody reads. */
const readOnly = (path: string, ...more: readonly Target[]): Rules => ({
  methods: READING,
  suffixes: JSON_ONLY,
  knowsCallers: false,
  targets: [open('the collection', path), ...more],
})
const city = (path: string, { readable }: { readable?: boolean } = {}): Rules => ({
  methods: readable ? READING : OBJECT_METHODS,
  suffixes: readable ? JSON_ONLY : JSON_AND_CSV,
  knowsCallers: false,
  bodies: { PUT: CITY, PATCH: { name: 'x' } },
  targets: [
    open('a city', `${path}/4`),
    open('a city on lists', `${path}/1`, { referenced: true }),
    missing(`${path}/99`),
    missing(`${path}/99999999999`, 'beyond all numbers'),
  ],
})
const cities = (path: string): Rules => ({
  methods: LIST_METHODS,
  suffixes: JSON_AND_CSV,
  knowsCallers: false,
  bodies: { POST: CITY },
  targets: [open('the collection', path)],
})
const exhausted = (path: string): Target => open('asked too often', path, { exhausted: true })

export const RULES: Readonly<Record<string, Rules>> = {
  '': { ...readOnly(''), suffixes: [''] },
  '/countries': {
    methods: LIST_METHODS,
    suffixes: JSON_ONLY,
    knowsCallers: false,
    bodies: { POST: COUNTRY },
    targets: [open('the collection', '/countries')],
  },
  '/countries/{id:int}': {
    methods: OBJECT_METHODS,
    suffixes: JSON_ONLY,
    knowsCallers: false,
    bodies: { PUT: COUNTRY, PATCH: { name: 'x' } },
    targets: [
      open('without cities', '/countries/2'),
      open('with cities', '/countries/1', { referenced: true }),
      missing('/countries/99'),
    ],
  },
  '/countries/{country_id:int}/cities': readOnly(
    '/countries/1/cities',
    missing('/countries/99/cities', 'of no country'),
  ),
  '/countries/{country_id:int}/cities/{id:int}': {
    ...readOnly('/countries/1/cities/1'),
    targets: [
      open('a city', '/countries/1/cities/1'),
      missing('/countries/1/cities/99'),
      missing('/countries/2/cities/1', 'of another country'),
      missing('/countries/99/cities/1', 'of no country'),
    ],
  },
  '/cities': cities('/cities'),
  '/cities/{id:int}': city('/cities'),
  '/cities-native': cities('/cities-native'),
  '/cities-native/{id:int}': city('/cities-native'),
  '/city-feed': readOnly('/city-feed'),
  '/city-feed/{id:int}': city('/city-feed', { readable: true }),
  '/city-export': { ...readOnly('/city-export'), answersOnce: true },
  '/city-export/{id:int}': city('/city-export', { readable: true }),
  '/city-search': readOnly('/city-search', exhausted('/city-search')),
  '/city-search/{id:int}': {
    ...readOnly(''),
    targets: [open('a city', '/city-search/1'), exhausted('/city-search/1')],
  },
  '/lists': {
    methods: LIST_METHODS,
    suffixes: JSON_ONLY,
    knowsCallers: true,
    bodies: { POST: LIST },
    targets: [open('the collection', '/lists')],
  },
  '/lists/changes': {
    methods: READING,
    suffixes: [''],
    knowsCallers: true,
    answersOnce: true,
    targets: [open('the stream', '/lists/changes')],
    elsewhere: '/lists/{id}',
    isKeyToWrites: true,
  },
  '/lists/recent': {
    methods: READING,
    suffixes: JSON_ONLY,
    knowsCallers: true,
    targets: [open('the newest', '/lists/recent')],
    elsewhere: '/lists/{id}',
    isKeyToWrites: true,
  },
  '/lists/{id}': {
    methods: OBJECT_METHODS,
    suffixes: JSON_ONLY,
    knowsCallers: true,
    bodies: { PUT: LIST, PATCH: { notes: 'x' } },
    targets: [
      owned('public', '/lists/<public>'),
      hidden('private', '/lists/<private>'),
      missing('/lists/<deleted>', 'deleted'),
      missing('/lists/1', 'by its number'),
      missing('/lists/nk.0000000000000000', 'forged'),
    ],
    elsewhere: '/lists/{id}',
  },
  '/lists/{id}/publish': {
    methods: { POST: 200 },
    suffixes: JSON_ONLY,
    knowsCallers: true,
    bodies: { POST: { published_on: '2026-05-01' } },
    targets: [
      owned('public', '/lists/<public>/publish'),
      hidden('private', '/lists/<private>/publish'),
      missing('/lists/<deleted>/publish', 'deleted'),
    ],
  },
  '/lists/{list_id}/entries': {
    methods: LIST_METHODS,
    suffixes: JSON_ONLY,
    knowsCallers: true,
    bodies: { POST: ENTRY },
    targets: [
      owned('of a public list', '/lists/<public>/entries'),
      hidden('of a private list', '/lists/<private>/entries'),
      missing('/lists/<deleted>/entries', 'of a deleted list'),
      missing('/lists/1/entries', 'by its number'),
    ],
  },
  '/lists/{list_id}/entries/bulk': {
    methods: { POST: 201, PATCH: 200, DELETE: 200 },
    suffixes: JSON_ONLY,
    knowsCallers: true,
    bodies: { POST: [ENTRY], PATCH: [{ id: 1, note: 'x' }], DELETE: [1, 2] },
    targets: [
      owned('of a public list', '/lists/<public>/entries/bulk'),
      hidden('of a private list', '/lists/<private>/entries/bulk', {
        bodies: { PATCH: [{ id: 3, note: 'x' }], DELETE: [3, 4] },
      }),
      missing('/lists/<deleted>/entries/bulk', 'of a deleted list'),
    ],
  },
  '/lists/{list_id}/entries/{id:int}': {
    methods: OBJECT_METHODS,
    suffixes: JSON_ONLY,
    knowsCallers: true,
    bodies: { PUT: ENTRY, PATCH: { note: 'x' } },
    targets: [
      owned('of a public list', '/lists/<public>/entries/1'),
      hidden('of a private list', '/lists/<private>/entries/3'),
      missing('/lists/<deleted>/entries/5', 'of a deleted list'),
    ],
  },
  '/photos': {
    methods: LIST_METHODS,
    suffixes: JSON_ONLY,
    knowsCallers: true,
    bodies: { POST: PHOTO },
    targets: [open('the collection', '/photos')],
  },
  '/photos/{id:int}': {
    methods: OBJECT_METHODS,
    suffixes: JSON_ONLY,
    knowsCallers: true,
    bodies: { PUT: PHOTO, PATCH: { caption: 'x' } },
    targets: [owned("Alice's", '/photos/1'), missing('/photos/99')],
  },
}

export interface Case {
  readonly rules: Rules
  readonly target: Target
  readonly method: Method
  readonly actor: Actor
  readonly suffix: Suffix
}

export interface Expectation {
  readonly status: number
  /** The rules that the path has, with its suffix; undefined for one that is none of the API's. */
  readonly rules: Rules | undefined
}

/** What the rules say: the first of them that refuses decides. */
export function expectationOf({ rules: own, target, method, actor, suffix }: Case): Expectation {
  const isKey =
    own.isKeyToWrites && suffix !== '' && method in (RULES[own.elsewhere ?? '']?.methods ?? {}) && method !== 'GET'
  const isOwn = own.suffixes.includes(suffix) && !isKey
  const rules = isOwn ? own : RULES[own.elsewhere ?? 'nowhere']
  const isSafe = SAFE.includes(method)
  const isKnown = KNOWN.includes(actor)
  if (!rules) return { status: 404, rules }
  const success = method === 'OPTIONS' ? 200 : rules.methods[method === 'HEAD' ? 'GET' : method]
  if (success === undefined) return { status: 405, rules }
  if (rules.knowsCallers && actor === 'forged') return { status: 401, rules }
  if (rules.knowsCallers && !isSafe && !isKnown) return { status: 401, rules }
  if (target.exhausted) return { status: 429, rules }
  if (method === 'OPTIONS') return { status: success, rules }
  if (!isOwn || !target.seenBy.includes(actor)) return { status: 404, rules }
  if (!isSafe && !target.writtenBy.includes(actor)) return { status: 403, rules }
  if (method === 'DELETE' && target.referenced) return { status: 409, rules }
  return { status: success, rules }
}

/** The text of the refusal. */
export function detailOf(status: number, { method, actor }: Case): unknown {
  const details: Record<number, unknown> = {
    401: actor === 'forged' ? 'Invalid token' : 'Authentication required',
    403: 'Permission denied',
    404: 'Not found',
    405: `Method ${method} not allowed`,
    409: 'Object is referenced by other objects.',
    429: expect.stringMatching(/^Request was throttled\. Retry after \d+ seconds$/),
  }
  return details[status] ?? `no text for ${status}`
}

/** Where the atlas's API is. */
export const PREFIX = '/api/v1'

/** What every caller sends. */
export function headersOf(actor: Actor): Record<string, string> {
  return actor === 'anonymous' ? {} : { Authorization: `Token ${actor}-demo-token` }
}

/** The body of a request; what writes has one. */
export function bodyOf({ rules, target, method }: Pick<Case, 'rules' | 'target' | 'method'>): unknown {
  const isWriting = ['POST', 'PUT', 'PATCH'].includes(method)
  return { ...rules.bodies, ...target.bodies }[method] ?? (isWriting ? {} : undefined)
}
