/** View sets whose objects belong to those of another. */
import type { QueryBuilder } from 'objection'
import { described } from '../../kernel/declarations.js'
import { isBuiltIn, markBuiltIn } from '../built-in.js'
import { addConditions } from '../steps/visible-query.js'
import type { ViewConstructor } from './mixin.js'

/**
 * Narrows a view set that a `NestedRouter` has registered to the objects of the parent on the path. New objects get the
 * parent's key whatever the input says, and no update changes it. Without a NestedRouter it changes nothing.
 * @example
 * class ReviewViewSet extends NestedViewSetMixin(ModelViewSet<Review>) {
 *   static override model = Review
 *   static override serializerClass = ReviewSerializer
 *   static override parentLookupField = 'book_id'
 * }
 */
export function NestedViewSetMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    /** The foreign key to the parent, as a property of the model; or the relation of that key. */
    static parentLookupField = ''

    // biome-ignore lint/suspicious/noExplicitAny: a query of the view's own model
    override getQueryset(): QueryBuilder<any> {
      const scope = this.parentScope()
      const made = super.getQueryset()
      if (!scope) return made
      // an application may give one query to all requests
      const query = this.resource.isWholeTable ? made : made.clone()
      addConditions(this, query as never, scope)
      return query
    }
  }
  // what the application has put below is still its own
  if (isBuiltIn(base.prototype as object, 'getQueryset')) markBuiltIn(mixed.prototype, 'getQueryset')
  return described(mixed, { parentLookupField: 'text' })
}
