/** The action `bulkDestroy`. */
import { begin, waitingFor } from '../../kernel/begun-work.js'
import { described } from '../../kernel/declarations.js'
import { markBuiltIn } from '../built-in.js'
import { holdingRows } from '../request/in-view-transaction.js'
import { bulkItems, bulkObjects, DEFAULT_BULK_SIZE, ownItemHook, shownKeys } from '../steps/bulk-objects.js'
import { deleteObjects } from '../steps/delete-objects.js'
import type { ViewConstructor } from './mixin.js'

/**
 * Adds `bulkDestroy` (`DELETE /<prefix>/bulk`): deletes all objects of a list of ids, or of objects each with its id, or
 * none. 200 with the ids, `{ "deleted": [1, 2] }`.
 */
export function BulkDestroyMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    /** The most items of one bulk request. @default 100 */
    static maxBulkSize = DEFAULT_BULK_SIZE

    /**
     * Answers `DELETE /<prefix>/bulk`: 200 and the ids; 400 where one is not there, or not for this caller,
     * by its position.
     */
    bulkDestroy(): Promise<unknown> {
      return holdingRows(this, async () => {
        const objects = await bulkObjects(this, bulkItems(this))
        const deleted = shownKeys(this, objects)
        await waitingFor(this, () => this.performBulkDestroy(objects))
        return { deleted }
      })
    }

    /**
     * Deletes a list of objects. Where the view set has a `performDestroy` of its own, such as a soft delete, that is
     * called for each; otherwise they are deleted by one statement.
     */
    // biome-ignore lint/suspicious/noExplicitAny: the objects are the subclass's own
    performBulkDestroy(instances: readonly any[]): Promise<unknown> {
      const own = ownItemHook(this, 'performDestroy')
      return begin(this, own ? destroyEach(instances, own) : deleteObjects(this, instances))
    }

    override readsBody(): boolean {
      return this.action === 'bulkDestroy' || super.readsBody()
    }
  }
  markBuiltIn(mixed.prototype)
  return described(mixed, { maxBulkSize: 'size' })
}

async function destroyEach(instances: readonly object[], destroy: (one: object) => Promise<unknown>): Promise<unknown> {
  for (const instance of instances) await waitingFor(instance, () => destroy(instance))
  return instances
}
