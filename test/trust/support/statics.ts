/** What view sets of an application by chance say besides whose rows they show: names of objects, marks, pages, envelopes, keys of requests. */
import {
  type BasePagination,
  type BulkModelViewSet,
  CacheableMixin,
  type Context,
  CSVRenderer,
  CursorPagination,
  HeaderVersioning,
  IDMixin,
  IsAdminUser,
  JSONParser,
  JSONRenderer,
  LimitOffsetPagination,
  NDJSONRenderer,
  PageNumberPagination,
  PublicIDMixin,
  QueryParamVersioning,
  StreamMixin,
} from 'koa-viewsets'
import { ChangesMixin, HistoryMixin } from 'koa-viewsets/changes'
import { JsonPatchParser, MergePatchParser } from 'koa-viewsets/patches'
import { count, max, sum } from 'koa-viewsets/views'
import { Model } from 'objection'
import type { Resource } from './application.js'
import type { ModelClass } from './estate-views.js'
import type { Random } from './random.js'

export interface Statics {
  /** What paths name objects by, and items of bulk requests. */
  readonly lookup: 'id' | 'code'
  /** What clients see of keys. */
  readonly ids: keyof typeof IDS | 'filled'
  /** What DELETE does to a row; where the staff is told, it may see, restore and purge what is marked. */
  readonly deletes: 'removes' | 'marks' | 'marks and tells'
  /** Where lists have pages. */
  readonly pages: keyof typeof PAGES
  readonly envelope: keyof typeof ENVELOPES
  readonly creates: 200 | 201
  readonly destroys: 200 | 204
  readonly isIdempotent: boolean
  /** Each change is recorded. */
  readonly records: boolean
  /** They are shown by the history of their object. */
  readonly remembers: boolean
  /** Lists answer QUERY. */
  readonly answersQuery: boolean
  /** There are aggregates and facets. */
  readonly hasFigures: boolean
  /** Lists are streamed. */
  readonly streams: boolean
  /** Where pages are told by headers: they are asked for as clients of other APIs do, too. */
  readonly dialect: 'simple-rest' | 'json-server' | null
  /** What nothing reads is refused. */
  readonly isStrict: boolean
  /** A PUT need not have all that is required. */
  readonly hasPartialPut: boolean
  /** PATCH takes patch documents. */
  readonly takesPatches: boolean
  /** Where requests name the version in which two fields are called otherwise. */
  readonly versions: keyof typeof VERSIONINGS | null
  /** Answers have tags of their bytes, and shared caches may keep them. */
  readonly isKept: boolean
}

type ViewSetBase = typeof BulkModelViewSet<Model>

export const PAGE_SIZE = 3

export const PAGES = {
  numbers: new PageNumberPagination({ pageSize: PAGE_SIZE }),
  limits: new LimitOffsetPagination({ defaultLimit: PAGE_SIZE }),
  cursors: new CursorPagination({ pageSize: PAGE_SIZE }),
  /** The list alone, and what else there is of it in headers. */
  headers: new LimitOffsetPagination({ defaultLimit: PAGE_SIZE, countHeader: 'X-Total-Count' }),
} satisfies Record<string, BasePagination>

interface Names {
  readonly object?: string
  readonly list?: string
  readonly meta?: string
}

/** Names around objects, around lists, and around what pages have besides. */
export const ENVELOPES = {
  none: {},
  data: { object: 'data', list: 'data', meta: 'meta' },
  objects: { object: 'thing' },
  lists: { list: 'things', meta: 'page' },
  'lists beside': { object: 'thing', list: 'things' },
} satisfies Record<string, Names>

const ALPHABET = 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8'
const KEY = 'a key of more than sixteen characters'
const IDS = {
  plain: null,
  encoded: { mode: 'encoded', alphabet: ALPHABET, offset: 1000 },
  signed: { mode: 'signed', alphabet: ALPHABET, hmacKeys: [KEY] },
  stored: { mode: 'random' },
  digits: { mode: 'raw' },
  /** Nobody has any who is not known. */
  'of each caller': { mode: 'signed', alphabet: ALPHABET, hmacKeys: [KEY], includeUser: true },
} as const

const VERSIONS = { allowedVersions: ['1', '2'], defaultVersion: '2' }
const VERSIONINGS = { accept: new HeaderVersioning(VERSIONS), query: new QueryParamVersioning(VERSIONS) }

/** What fields are called in version 1, by their columns. */
export const FORMER_NAMES: Readonly<Record<string, string>> = { title: 'heading', n: 'amount' }

/** The class that models with such ids extend. */
export function baseModel(ids: Statics['ids'] = 'plain'): ModelClass {
  if (ids === 'filled') {
    return class extends PublicIDMixin(Model) {
      static override publicIdConfig = { strategy: 'encoded_pk', alphabet: ALPHABET, width: 6 }
    }
  }
  const config = IDS[ids]
  if (config === null) return Model
  return class extends IDMixin(Model) {
    static override idConfig = config
  }
}

interface Drawn {
  readonly resource: Resource
  /** Ids differ from caller to caller, on all levels. */
  readonly isOfCallers: boolean
}

/** Drawn apart from the resource, so that applications without them stay the same. */
export function randomStatics(random: Random, { resource, isOfCallers }: Drawn): Statics {
  const { shape, isAtomic, mayLeave } = resource
  const deletes = random.pick(['removes', 'removes', 'marks', 'marks and tells'] as const)
  // a row that has left what a model's own hook finds is gone to some records, and to others not
  const isHidden = shape.model !== undefined && mayLeave
  const records = random.chance(0.5) && isAtomic && !isOfCallers && !isHidden
  // what a query is made of when it is built may be other columns, of which a history would tell
  const isKnown = !/^(onBuild|WITH|DISTINCT|GROUP)/.test(shape.name) && shape.column === undefined
  return {
    lookup: random.pick(['id', 'code']),
    ids: isOfCallers ? 'of each caller' : random.pick(['plain', 'encoded', 'signed', 'stored', 'digits', 'filled']),
    // relations lead to the plain model, of which nobody says that it is marked
    deletes: shape.model || shape.column ? 'removes' : deletes,
    pages: random.pick(['numbers', 'limits', 'cursors', 'headers']),
    envelope: random.pick(['none', ...(Object.keys(ENVELOPES) as (keyof typeof ENVELOPES)[])]),
    creates: random.pick([200, 201]),
    destroys: random.pick([200, 204]),
    isIdempotent: random.chance(0.5) && isAtomic,
    records,
    remembers: records && isKnown,
    answersQuery: random.chance(0.5),
    hasFigures: random.chance(0.5),
    streams: random.chance(0.3),
    dialect: random.pick([null, 'simple-rest', 'json-server'] as const),
    isStrict: random.chance(0.3),
    hasPartialPut: random.chance(0.3),
    takesPatches: random.chance(0.4),
    versions: random.pick([null, null, 'accept', 'query'] as const),
    isKept: random.chance(0.3),
  }
}

const callerOf = ({ state }: Context): string => String((state['user'] as { id: number } | undefined)?.id ?? 'anybody')

/** What the class of a view set says of them. */
export function viewStatics(statics: Statics, isPaginated: boolean): object {
  const { lookup, deletes, envelope, creates, destroys, isIdempotent, answersQuery, hasFigures, streams } = statics
  const { isStrict, hasPartialPut, takesPatches, pages, dialect, versions, isKept } = statics
  const told = { permissionClasses: [IsAdminUser], purgePermissionClasses: [IsAdminUser] }
  return {
    lookupField: lookup,
    softDelete: { removes: null, marks: 'deleted_at', 'marks and tells': { column: 'deleted_at', ...told } }[deletes],
    envelope: envelope === 'none' ? null : envelope === 'data' ? 'data' : ENVELOPES[envelope],
    statuses: { create: creates, destroy: destroys },
    ...(isIdempotent && { idempotent: true, idempotencyScope: callerOf }),
    rendererClasses: [JSONRenderer, CSVRenderer, ...(streams ? [NDJSONRenderer] : [])],
    ...(streams && { streamFormats: ['ndjson'] }),
    queryMethod: answersQuery,
    ...(hasFigures && {
      aggregates: { things: count(), total: sum('n'), most: max('n') },
      groupBy: ['open'],
      facets: ['open', 'archived'],
    }),
    queryDialect: isPaginated && pages === 'headers' ? dialect : null,
    strictParams: isStrict,
    strictBody: isStrict,
    partialPut: hasPartialPut,
    ...(isKept && { cachePrivate: false, cacheMaxAge: 60 }),
    versioningClass: versions && VERSIONINGS[versions],
    ...(takesPatches && { parserClasses: [JSONParser, MergePatchParser, JsonPatchParser] }),
  }
}

/** The class that a view set with them extends. */
export function mixedIn<Base extends ViewSetBase>(base: Base, { records, remembers, streams, isKept }: Statics): Base {
  const kept = isKept ? CacheableMixin(base) : base
  const recording = records ? ChangesMixin(kept) : kept
  const remembering = remembers ? HistoryMixin(recording) : recording
  return streams ? StreamMixin(remembering) : remembering
}
