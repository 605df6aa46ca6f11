/** The action `bulkUpdate`. */
import { described } from '../../kernel/declarations.js'
import type { Serializer } from '../../serializers/serializer.js'
import { markBuiltIn } from '../built-in.js'
import { serializerOf } from '../generic-view.js'
import { holdingRows } from '../request/in-view-transaction.js'
import { answerSaved } from '../steps/answer-saved.js'
import { bulkItems, bulkObjects, DEFAULT_BULK_SIZE, ownItemHook, saveEach, withoutKeys } from '../steps/bulk-objects.js'
import { checkAnswer } from '../steps/selection.js'
import type { ViewConstructor } from './mixin.js'

/**
 * Adds `bulkUpdate` (`PATCH /<prefix>/bulk`): changes all objects of a list, each with its id and the fields that change,
 * or none. 200 with the objects as they were stored.
 */
export function BulkUpdateMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    /** The most items of one bulk request. @default 100 */
    static maxBulkSize = DEFAULT_BULK_SIZE

    /**
     * Answers `PATCH /<prefix>/bulk`: 200 and the objects; 400 where one is not there, or not for this
     * caller, by its position.
     */
    async bulkUpdate(): Promise<unknown> {
      checkAnswer(this)
      return holdingRows(this, async () => {
        const items = bulkItems(this)
        const objects = await bulkObjects(this, items)
        const inputData = withoutKeys(this, items)
        const serializer = serializerOf(this, 'getInputSerializer', {
          inputData,
          obj: objects,
          many: true,
          partial: true,
        })
        await serializer.isValid({ raiseException: true })
        return answerSaved(this, serializer, 'bulkUpdate', () => this.performBulkUpdate(serializer, objects))
      })
    }

    /**
     * Stores changes of a list of objects. Override it to add values to all of them. Where the view set has a
     * `performUpdate` of its own, that is called for each item; otherwise they are stored by one statement.
     */
    // biome-ignore lint/suspicious/noExplicitAny: serializer and objects are the subclass's own
    performBulkUpdate(serializer: Serializer<any>, instances: readonly any[]): Promise<unknown> {
      const own = ownItemHook(this, 'performUpdate')
      return own ? saveEach(serializer, (item, position) => own(item, instances[position])) : serializer.save()
    }
  }
  markBuiltIn(mixed.prototype)
  return described(mixed, { maxBulkSize: 'size' })
}
