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
import { Model } from 'objection'
import type { ClientConfig } from 'pg'
import { Plain } from './books.js'
import { bindModels } from './ours.js'

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

/** An app with so many resources: first those of the tables, `books_200k` before all others. */
export async function createScaled(connection: ClientConfig, resources: number): Promise<Koa> {
  configure({ secretKey: 'a secret of the benchmark only' })
  await bindModels(connection)
  const api = new APIRouter({ prefix: '/api' })
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
