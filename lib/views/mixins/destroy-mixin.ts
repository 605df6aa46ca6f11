/** The action `destroy`. */

import type { Model } from 'objection'
import { begin, waitingFor } from '../../kernel/begun-work.js'
import { described } from '../../kernel/declarations.js'
import { markBuiltIn } from '../built-in.js'
import { holdingRows } from '../request/in-view-transaction.js'
import { answerMarked } from '../steps/answer-saved.js'
import { deleteObject, destroyObject, restoreObject } from '../steps/delete-objects.js'
import { loadShown, representObjects } from '../steps/represent.js'
import { checkAnswer } from '../steps/selection.js'
import { deleteByStatement } from '../steps/write-by-statement.js'
import type { ViewConstructor } from './mixin.js'

/** Adds `destroy`: 204, no body; and with `softDelete` also `restoreDeleted` and `purgeDeleted`, for whom that permits them. */
export function DestroyMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    /** Answers DELETE: finds the object, checks its permissions, and calls `performDestroy()`. */
    async destroy(): Promise<unknown> {
      if (await deleteByStatement(this)) return undefined
      return holdingRows(this, async () => {
        const object = (await this.getObjectToWrite()) as Model
        if (this.viewClass.statuses.destroy !== 200) {
          await waitingFor(object, () => this.performDestroy(object))
          return undefined
        }
        await loadShown(this, [object])
        const shown = representObjects(this, object)
        await waitingFor(object, () => this.performDestroy(object))
        if (!this.resource.deletion || this.resource.overrides.has('performDestroy')) return shown
        return (await answerMarked(this, 'deleted')) ?? shown
      })
    }

    /**
     * Deletes the object, and its uploads once that is committed; with `softDelete` it marks the row and keeps both. Override
     * it for a soft delete of another kind. A trigger or a rule may do that, too: a row that is no longer to be seen then is deleted.
     * @throws PermissionDenied no row was deleted: the database keeps it, by a policy, a trigger or a rule
     * @throws NotFound another request has deleted it, or given it to somebody else
     */
    // biome-ignore lint/suspicious/noExplicitAny: the object is the subclass's own
    performDestroy(instance: any): Promise<unknown> {
      return begin(instance as Model, destroyObject(this, instance as Model))
    }

    /** Takes back a soft delete, and shows the object. @throws NotFound there is none that is deleted */
    async restoreDeleted(): Promise<unknown> {
      checkAnswer(this)
      return holdingRows(this, async () => {
        const object = (await this.getObjectToWrite()) as Model
        await waitingFor(object, () => this.performRestore(object))
        const shown = await answerMarked(this, 'live')
        if (shown === undefined) this.ctx.append('Preference-Applied', 'return=minimal')
        return shown
      })
    }

    /**
     * Takes the mark of a soft delete away.
     * @throws PermissionDenied the database keeps it, by a policy, a trigger or a rule
     * @throws NotFound another request has taken it away
     */
    // biome-ignore lint/suspicious/noExplicitAny: the object is the subclass's own
    performRestore(instance: any): Promise<unknown> {
      return begin(instance as Model, restoreObject(this, instance as Model))
    }

    /** Deletes the row of an object that is deleted softly: 204, no body. @throws NotFound there is none */
    purgeDeleted(): Promise<void> {
      return holdingRows(this, async () => {
        const object = (await this.getObjectToWrite()) as Model
        await waitingFor(object, () => this.performPurge(object))
      })
    }

    /** Deletes the row, and its uploads once that is committed. */
    // biome-ignore lint/suspicious/noExplicitAny: the object is the subclass's own
    performPurge(instance: any): Promise<unknown> {
      return begin(instance as Model, deleteObject(this, instance as Model))
    }
  }
  markBuiltIn(mixed.prototype)
  return described(mixed)
}
