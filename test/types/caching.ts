/** What TypeScript refuses of caching, concurrency and metering. Checked by `tsc`, never run. */
import { CacheableMixin, ModelViewSet, ReadOnlyModelViewSet } from 'koa-viewsets'
import { InMemoryMeteringEngine, MeteringMixin } from 'koa-viewsets/metering'
import { etag, metering } from 'koa-viewsets/plugins'
import { Model } from 'objection'

class Book extends Model {
  static override tableName = 'books'
  declare title: string
}

export class Books extends MeteringMixin(CacheableMixin(ModelViewSet<Book>)) {
  static override cacheMaxAge = 60
  static override cachePrivate = false
  static override meteringEngine = new InMemoryMeteringEngine()
  static override concurrency = ['version'] as const
  static override requireIfMatch = true

  override async performDestroy(): Promise<void> {
    const { title } = await this.getObjectToWrite()
    title satisfies string
  }
}

export class Misspelt extends CacheableMixin(ReadOnlyModelViewSet<Book>) {
  // @ts-expect-error there is no such static
  static override cacheMaxage = 60
}

// @ts-expect-error seconds are a number
export class Text extends CacheableMixin(ModelViewSet<Book>) {
  static override cacheMaxAge = '60'
}

// @ts-expect-error a column is named by text
export class Numbered extends ModelViewSet<Book> {
  static override concurrency = 7
}

// @ts-expect-error an engine records
export class Deaf extends MeteringMixin(ModelViewSet<Book>) {
  static override meteringEngine = { close() {} }
}

// @ts-expect-error the option is maxAge
export const misspelt = etag({ max_age: 60 })

// @ts-expect-error the option is meterName
export const unnamed = metering({ meter: 'reports' })
