/** The action `create`. */
import { described } from '../../kernel/declarations.js'
import type { Serializer } from '../../serializers/serializer.js'
import { markBuiltIn } from '../built-in.js'
import type { GenericAPIView } from '../generic-api-view.js'
import { requireUser } from '../request/require-user.js'
import { readNewVersion } from '../steps/concurrency.js'
import { insertRow } from '../steps/insert-row.js'
import { locationOf } from '../steps/location.js'
import { representSaved, selectionOf } from '../steps/selection.js'
import type { ViewConstructor } from './mixin.js'

/** Adds `create`: 201 with the object as it was stored, and its `Location`. */
export function CreateMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    async create(): Promise<unknown> {
      requireUser(this)
      // a wrong name is refused before anything is written
      selectionOf(this)
      const row = await insertRow(this)
      if (row) return created(this, row.object, row.text)
      const serializer = this.getInputSerializer()
      await serializer.isValid({ raiseException: true })
      await this.performCreate(serializer)
      await readNewVersion(this, serializer.obj)
      return created(this, serializer.obj, await representSaved(this, serializer))
    }

    /** Stores a new object. Override it to add values: `return serializer.save({ owner_id: this.ctx.state.user.id })`. */
    // biome-ignore lint/suspicious/noExplicitAny: the serializer is the subclass's own
    async performCreate(serializer: Serializer<any>): Promise<unknown> {
      return serializer.save()
    }
  }
  markBuiltIn(mixed.prototype)
  return described(mixed)
}

function created(view: GenericAPIView, object: unknown, body: unknown): unknown {
  const { ctx } = view
  const location = locationOf(view, object)
  if (location !== undefined && !ctx.res.headersSent) ctx.res.setHeader('Location', location)
  ctx.status = 201
  return body
}
