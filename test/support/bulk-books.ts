/** View sets that write lists of books, as rows and as instances. */
import { APIRouter, BulkModelViewSet, ModelSerializer, SerializerMethodField } from '../../lib/index.js'
import type { Client } from './client.js'
import { Book, BookSerializer } from './library.js'
import { serveRouter } from './views.js'

export class BookViewSet extends BulkModelViewSet<Book> {
  static override model = Book
  static override serializerClass: any = BookSerializer
}

/** Needs instances, so that no row is written past Objection. */
export class Labelled extends ModelSerializer<Book> {
  static override model = Book
  static override fields = '__all__'
  static override declaredFields = { label: new SerializerMethodField() }
  getLabel(book: Book) {
    return `${book.title}!`
  }
}

export class LabelledViewSet extends BookViewSet {
  static override serializerClass: any = Labelled
}

/** The two ways in which lists are written: as rows, and as instances. */
export const WAYS = [
  ['rows', BookViewSet],
  ['instances', LabelledViewSet],
] as const

export type View = Parameters<APIRouter['register']>[1]

export const titles = async () => (await Book.query().orderBy('id')).map(({ title }) => title)

export const three = () =>
  Book.query().insert([{ title: 'One', isbn: '1' }, { title: 'Two', isbn: '2' }, { title: 'Three' }])

/** Statements that write. */
export const writing = (texts: readonly string[]) =>
  texts.filter((text) => /^(with inserted as \()?(insert|update|delete)/i.test(text))

/** Serves the books under `/api/books`, and others beside them, until the test ends. */
export function api(books: View, others: Record<string, View> = {}): Promise<Client> {
  const router = new APIRouter({ prefix: '/api' }).register('books', books)
  for (const [prefix, view] of Object.entries(others)) router.register(prefix, view)
  return serveRouter(router)
}
