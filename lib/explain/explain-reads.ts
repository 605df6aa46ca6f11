/** The roads of requests that read: lists, figures, objects. */

import { isDescribed } from '../filters/filter.js'
import { CursorPagination } from '../pagination/cursor-pagination.js'
import { LimitOffsetPagination } from '../pagination/limit-offset-pagination.js'
import type { ListSource } from '../pagination/list-source.js'
import { PageNumberPagination } from '../pagination/page-number-pagination.js'
import type { BasePagination } from '../pagination/pagination.js'
import { InstanceList } from '../rows/instance-list.js'
import type { RowAccess } from '../rows/row-access.js'
import { RowList } from '../rows/row-list.js'
import { overridden } from '../views/built-in.js'
import { resourceOf } from '../views/resource.js'
import { openRows } from '../views/steps/open-rows.js'
import { describeFigures } from '../views/steps/read-aggregates.js'
import { cutPage, explainedList } from '../views/steps/read-list.js'
import type { ExplainedReading } from './explanation.js'
import { because, CHOOSING_OBJECTS, NOTHING, type Road, RoadBook } from './road-book.js'
import { isDecided, isDecidedOutside } from './subject.js'

const OURS: readonly (new () => BasePagination)[] = [PageNumberPagination, LimitOffsetPagination, CursorPagination]

/** Notes how a request reads, and the statements of each step. */
export class ReadingRoad extends RoadBook {
  async list(): Promise<Road> {
    const view = this.view
    const { paginator, filters } = resourceOf(view.viewClass)
    const own = this.overridden('list', 'getList')
    const asks = isDecided(this.subject, ...CHOOSING_OBJECTS, 'filterQueryset') || isDecidedOutside(this.subject)
    const asked =
      asks ||
      this.#isDecidedBy(
        filters.find((one) => !isDescribed(one)),
        'filterQueryset',
      )
    if (own || asked) return { ...NOTHING, reading: this.reading(this.#rowsOf('list')) }
    let list: ListSource | undefined
    const isOurs = !paginator || OURS.some(({ prototype }) => paginator.paginate === prototype.paginate)
    await this.step('list', async () => {
      list = explainedList(view, this.tell)
      if (paginator?.keepsConnections) {
        const cursor = await list.open({ name: 'explained', idleMilliseconds: 1_000 })
        await cursor.close()
      } else if (isOurs || !this.#isDecidedBy(paginator, 'paginate')) await cutPage(view, list, paginator)
    })
    const reading = list ? readingOf(list, this.because) : null
    if (reading?.from === 'instances') this.noteRelations()
    return { ...NOTHING, reading, statements: this.statements }
  }

  async figures(action: string): Promise<Road> {
    const asked = isDecided(this.subject, ...CHOOSING_OBJECTS, 'filterQueryset') || isDecidedOutside(this.subject)
    if (this.overridden(action) || asked) return NOTHING
    await this.step(action, () => describeFigures(this.view, this.subject.isAsked))
    return { ...NOTHING, statements: this.statements }
  }

  async object(): Promise<Road> {
    const view = this.view
    const asked = isDecided(this.subject, ...CHOOSING_OBJECTS, 'getObject') || isDecidedOutside(this.subject)
    if (this.overridden('retrieve', 'getDetail') || asked) {
      return { ...NOTHING, reading: this.reading(this.#rowsOf('retrieve')) }
    }
    let rows: RowAccess | undefined
    await this.step('object', async () => {
      rows = openRows(view, 'retrieve', { tell: this.tell })
      await view.getDetail()
    })
    const reading = this.reading(rows)
    if (reading.from === 'instances') this.noteRelations()
    return { ...NOTHING, reading, statements: this.statements }
  }

  /** Whether rows would do, as far as that is known before the queryset is. */
  #rowsOf(action: 'list' | 'retrieve'): RowAccess | undefined {
    if (overridden(this.view, 'getSerializerClass')) {
      return this.tell(`${this.view.viewClass.name} overrides getSerializerClass(): each of them is decided on`)
    }
    return openRows(this.view, action, { tell: this.tell })
  }

  #isDecidedBy(policy: object | undefined, method: string): boolean {
    if (!policy || this.subject.isAsked) return false
    this.subject.notes.push(`decided by ${policy.constructor.name}.${method}() on each request`)
    return true
  }
}

function readingOf(list: ListSource, reason: string | undefined): ExplainedReading {
  if (list instanceof InstanceList) return { from: 'instances', ...because(reason) }
  return { from: list instanceof RowList && list.isNative ? 'native' : 'rows' }
}
