/** What view sets of an application by chance say besides whose rows they show: names of objects, marks, pages, envelopes, keys of requests. */
import {
  type BasePagination,
  type BulkModelViewSet,
  type Context,
  CSVRenderer,
  CursorPagination,
  IDMixin,
  IsAdminUser,
  JSONRenderer,
  LimitOffsetPagination,
  NDJSONRenderer,
  PageNumberPagination,
  StreamMixin,
} from 'koa-viewsets'
import { ChangesMixin, HistoryMixin } from 'koa-viewsets/changes'
import { count, max, sum } from 'koa-viewsets/views'
import { Model } from 'objection'
import type { Resource } from './application.js'
import type { ModelClass } from './estate-views.js'
import type { Random } from './random.js'

export interface Statics {
  /** What paths name objects by, and items of bulk requests. */
  readonly lookup: 'id' | 'code'
  /** What clients see of keys. */
  readonly ids: keyof typeof IDS
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
  /** What nothing reads is refused. */
  readonly isStrict: boolean
  /** A PUT need not have all that is required. */
  readonly hasPartialPut: boolean
}

type ViewSetBase = typeof BulkModelViewSet<Model>

export const PAGE_SIZE = 3

export const PAGES = {
  numbers: new PageNumberPagination({ pageSize: PAGE_SIZE }),
  limits: new LimitOffsetPagination({ defaultLimit: PAGE_SIZE }),
  cursors: new CursorPagination({ pageSize: PAGE_SIZE }),
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
  /** Nobody has any who is not known. */
  'of each caller': { mode: 'signed', alphabet: ALPHABET, hmacKeys: [KEY], includeUser: true },
} as const

/** The class that models with such ids extend. */
export function baseModel(ids: Statics['ids'] = 'plain'): ModelClass {
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
export function randomStatics(random: Random, { resource: { shape, isAtomic }, isOfCallers }: Drawn): Statics {
  const deletes = random.pick(['removes', 'removes', 'marks', 'marks and tells'] as const)
  const records = random.chance(0.5) && isAtomic && !isOfCallers
  // what a query is made of when it is built may be other columns, of which a history would tell
  const isKnown = !/^(onBuild|WITH|DISTINCT|GROUP)/.test(shape.name) && shape.column === undefined
  return {
    lookup: random.pick(['id', 'code']),
    ids: isOfCallers ? 'of each caller' : random.pick(['plain', 'encoded', 'signed', 'stored']),
    // relations lead to the plain model, of which nobody says that it is marked
    deletes: shape.model || shape.column ? 'removes' : deletes,
    pages: random.pick(['numbers', 'limits', 'cursors']),
    envelope: random.pick(['none', ...(Object.keys(ENVELOPES) as (keyof typeof ENVELOPES)[])]),
    creates: random.pick([200, 201]),
    destroys: random.pick([200, 204]),
    isIdempotent: random.chance(0.5) && isAtomic,
    records,
    remembers: records && isKnown,
    answersQuery: random.chance(0.5),
    hasFigures: random.chance(0.5),
    streams: random.chance(0.3),
    isStrict: random.chance(0.3),
    hasPartialPut: random.chance(0.3),
  }
}

const callerOf = ({ state }: Context): string => String((state['user'] as { id: number } | undefined)?.id ?? 'anybody')

/** What the class of a view set says of them. */
export function viewStatics(statics: Statics): object {
  const { lookup, deletes, envelope, creates, destroys, isIdempotent, answersQuery, hasFigures, streams } = statics
  const { isStrict, hasPartialPut } = statics
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
    strictParams: isStrict,
    strictBody: isStrict,
    partialPut: hasPartialPut,
  }
}

/** The class that a view set with them extends. */
export function mixedIn<Base extends ViewSetBase>(base: Base, { records, remembers, streams }: Statics): Base {
  const recording = records ? ChangesMixin(base) : base
  const remembering = remembers ? HistoryMixin(recording) : recording
  return streams ? StreamMixin(remembering) : remembering
}
