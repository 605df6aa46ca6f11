/** What a database error of a view is about, in terms of its client's fields. */
import { type ConstraintSubject, subjectOf } from '../../postgres/failed-statement.js'
import { constraintSubject } from '../../serializers/constraint-subject.js'
import { serializerPlan } from '../../serializers/plan.js'
import type { GenericView } from '../generic-view.js'

/** Names what fails outside the serializer's own statements (in a hook, at COMMIT) by the client's fields. */
export function subjectOfView(view: GenericView): ConstraintSubject {
  const subject = subjectOf(view.ctx.method, view)
  try {
    // what is wrong with a list has no field: its errors are keyed by position
    if (Array.isArray(view.body.data)) return subject
    return constraintSubject(serializerPlan(view.getSerializerClass()), subject.operation, view.body.data, {
      raw: true,
      view,
    })
  } catch {
    // a view without a serializer names no fields
    return subject
  }
}
