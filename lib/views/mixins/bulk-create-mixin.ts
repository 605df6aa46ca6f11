/** The action `bulkCreate`. */
import { described, exclusiveTo } from '../../kernel/declarations.js'
import type { Serializer } from '../../serializers/serializer.js'
import { markBuiltIn } from '../built-in.js'
import { serializerOf } from '../generic-view.js'
import { atomically } from '../request/in-view-transaction.js'
import { answerSaved } from '../steps/answer-saved.js'
import { bulkItems, DEFAULT_BULK_SIZE, ownItemHook, saveEach } from '../steps/bulk-objects.js'
import { insertBulk } from '../steps/insert-row.js'
import { checkAnswer } from '../steps/selection.js'
import type { ViewConstructor } from './mixin.js'

/** Adds `bulkCreate` (`POST /<prefix>/bulk`): all objects of a list, or none. 201 with the objects as they were stored. */
export function BulkCreateMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    /** The most items of one bulk request. @default 100 */
    static maxBulkSize = DEFAULT_BULK_SIZE

    /** Answers `POST /<prefix>/bulk`: 201 and the objects, in the order of the list. */
    async bulkCreate(): Promise<unknown> {
      checkAnswer(this)
      bulkItems(this)
      const rows = await insertBulk(this)
      this.ctx.status = 201
      if (rows) return rows
      return atomically(this, async () => {
        const serializer = serializerOf(this, 'getInputSerializer', { many: true })
        await serializer.isValid({ raiseException: true })
        return answerSaved(this, serializer, 'bulkCreate', () => this.performBulkCreate(serializer))
      })
    }

    /**
     * Stores a list of new objects. Override it to add values to all of them:
     * `return serializer.save({ owner_id: this.ctx.state.user.id })`. Where the view set has a `performCreate` of its own,
     * that is called for each item; otherwise they are stored by one statement.
     */
    // biome-ignore lint/suspicious/noExplicitAny: the serializer is the subclass's own
    performBulkCreate(serializer: Serializer<any>): Promise<unknown> {
      const own = ownItemHook(this, 'performCreate')
      return own ? saveEach(serializer, (item) => own(item)) : serializer.save()
    }
  }
  markBuiltIn(mixed.prototype)
  return described(mixed, { maxBulkSize: 'size' })
}

exclusiveTo('the bulk mixins', 'view', { maxBulkSize: 'size' })
