/** The contender `scaled`: tables of three sizes, and any number of resources beside them. */
import Koa from 'koa'
import {
  APIRouter,
  CursorPagination,
  configure,
  ModelSerializer,
  ModelViewSet,
  PageNumberPagination,
  type Pagination,
} from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
import { ReplicaSet } from 'koa-viewsets/replicas'
import { Model } from 'objection'
import type { ClientConfig } from 'pg'
import { Plain } from './books.js'
import { bindModels, openPool } from './ours.js'

/** Tables of books, and how many each has. */
export const SHELVES = { books_200k: 200_000, books_10k: 10_000, books_2m: 2_000_000 } as const

/** Where a list is, by how it is read. */
export const LISTS = { uncounted: '', cursor: '-cursor', counted: '-counted', estimated: '-estimated' } as const

const PAGINATIONS: Readonly<Record<keyof typeof LISTS, Pagination>> = {
  uncounted: new Plain(25),
  cursor: CursorPagination,
  counted: PageNumberPagination,
  estimated: new PageNumberPagination({ count: 'estimated' }),
}

export interface Scale {
  readonly resources: number
  /** Where it reads. */
  readonly replicas: readonly ClientConfig[]
}

/** An app with so many resources: first those of the tables, `books_200k` before all others. */
export async function createScaled(connection: ClientConfig, { resources, replicas }: Scale): Promise<Koa> {
  configure({ secretKey: 'a secret of the benchmark only' })
  const primary = await bindModels(connection)
  const readers = replicas.map(openPool)
  const set = readers.length > 0 ? { replicas: new ReplicaSet({ primary, replicas: readers }) } : {}
  const api = new APIRouter({ prefix: '/api', ...set })
  const own = Object.keys(SHELVES).flatMap(viewSetsOf).slice(0, resources)
  for (const { path, view } of own) api.register(path, view, path)
  const [{ view }] = own as [(typeof own)[number]]
  for (let index = own.length; index < resources; index++) api.register(`more-${index}`, view, `more-${index}`)
  await api.prepare()
  return new Koa().use(errors()).use(api.routes())
}

/** The view sets of a table, one for each way to read its list. */
function viewSetsOf(table: string) {
  class Shelved extends Model {
    static override tableName = table
  }
  class ShelvedSerializer extends ModelSerializer<Shelved> {
    static override model = Shelved
    static override fields = '__all__'
  }
  return Object.entries(LISTS).map(([kind, suffix]) => {
    class ShelfViewSet extends ModelViewSet<Shelved> {
      static override model = Shelved
      static override serializerClass = ShelvedSerializer
      static override paginationClass: Pagination = PAGINATIONS[kind as keyof typeof LISTS]
    }
    return { path: `${table}${suffix}`, view: ShelfViewSet }
  })
}
