/** The actions `update` and `partialUpdate`. */
import { described } from '../../kernel/declarations.js'
import type { Serializer } from '../../serializers/serializer.js'
import { markBuiltIn } from '../built-in.js'
import type { GenericAPIView } from '../generic-api-view.js'
import { serializerOf } from '../generic-view.js'
import { holdingRows } from '../request/in-view-transaction.js'
import { answerSaved } from '../steps/answer-saved.js'
import { checkAnswer } from '../steps/selection.js'
import { updateByStatement } from '../steps/write-by-statement.js'
import type { ViewConstructor } from './mixin.js'

/** Adds `update` (PUT, the whole object) and `partialUpdate` (PATCH, the fields that were sent). */
export function UpdateMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    /**
     * Answers PUT: validates the body, stores it by `performUpdate()`, and shows the object. The row is held before, unless one
     * statement does (`explain()`). With `partial` missing fields stay as they are. @default partial: the static `partialPut`
     */
    update(options: { partial?: boolean } = {}): Promise<unknown> {
      return change(this, options.partial ?? this.viewClass.partialPut)
    }

    /** Answers PATCH: `update({ partial: true })`. */
    async partialUpdate(): Promise<unknown> {
      // a class may have taken PUT away, with nothing in its place
      const { update } = this as Partial<typeof this>
      return update ? update.call(this, { partial: true }) : change(this, true)
    }

    /** Stores the changes. Override it to add values. */
    // biome-ignore lint/suspicious/noExplicitAny: serializer and object are the subclass's own
    performUpdate(serializer: Serializer<any>, _instance: any): Promise<unknown> {
      return serializer.save()
    }
  }
  markBuiltIn(mixed.prototype)
  return described(mixed)
}

interface UpdatingView extends GenericAPIView {
  performUpdate(serializer: Serializer, instance: object): Promise<unknown>
}

async function change(view: UpdatingView, partial: boolean): Promise<unknown> {
  checkAnswer(view)
  const updated = await updateByStatement(view, partial)
  if (updated) {
    if (updated.text === undefined) view.ctx.append('Preference-Applied', 'return=minimal')
    return updated.text
  }
  return holdingRows(view, async () => {
    const instance = await view.getObjectToWrite()
    const serializer = serializerOf(view, 'getInputSerializer', { obj: instance, partial })
    await serializer.isValid({ raiseException: true })
    return answerSaved(view, serializer, 'update', () => view.performUpdate(serializer, instance))
  })
}
