/** What view sets of an application by chance say besides whose rows they show: names of objects, marks, pages, envelopes, keys of requests. */
import {
  type BasePagination,
  type Context,
  CSVRenderer,
  CursorPagination,
  IDMixin,
  IsAdminUser,
  JSONRenderer,
  LimitOffsetPagination,
  PageNumberPagination,
} from 'koa-viewsets'
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
}

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
const IDS = {
  plain: null,
  encoded: { mode: 'encoded', alphabet: ALPHABET, offset: 1000 },
  signed: { mode: 'signed', alphabet: ALPHABET, hmacKeys: ['a key of more than sixteen characters'] },
} as const

/** The class that models with such ids extend. */
export function baseModel(ids: Statics['ids'] = 'plain'): ModelClass {
  const config = IDS[ids]
  if (config === null) return Model
  return class extends IDMixin(Model) {
    static override idConfig = config
  }
}

/** Drawn apart from the resource, so that applications without them stay the same. */
export function randomStatics(random: Random, { shape, isAtomic }: Resource): Statics {
  const deletes = random.pick(['removes', 'removes', 'marks', 'marks and tells'] as const)
  return {
    lookup: random.pick(['id', 'code']),
    ids: random.pick(['plain', 'encoded', 'signed']),
    // relations lead to the plain model, of which nobody says that it is marked
    deletes: shape.model || shape.column ? 'removes' : deletes,
    pages: random.pick(['numbers', 'limits', 'cursors']),
    envelope: random.pick(['none', ...(Object.keys(ENVELOPES) as (keyof typeof ENVELOPES)[])]),
    creates: random.pick([200, 201]),
    destroys: random.pick([200, 204]),
    isIdempotent: random.chance(0.5) && isAtomic,
    records: random.chance(0.5) && isAtomic,
  }
}

const callerOf = ({ state }: Context): string => String((state['user'] as { id: number } | undefined)?.id ?? 'anybody')

/** What the class of a view set says of them. */
export function viewStatics({ lookup, deletes, envelope, creates, destroys, isIdempotent }: Statics): object {
  const told = { permissionClasses: [IsAdminUser], purgePermissionClasses: [IsAdminUser] }
  return {
    lookupField: lookup,
    softDelete: { removes: null, marks: 'deleted_at', 'marks and tells': { column: 'deleted_at', ...told } }[deletes],
    envelope: envelope === 'none' ? null : envelope === 'data' ? 'data' : ENVELOPES[envelope],
    statuses: { create: creates, destroy: destroys },
    ...(isIdempotent && { idempotent: true, idempotencyScope: callerOf }),
    rendererClasses: [JSONRenderer, CSVRenderer],
  }
}
