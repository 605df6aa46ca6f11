/** What a database error of a view is about, in terms of its client's fields. */
import { type ConstraintSubject, subjectOf } from '../../postgres/failed-statement.js'
import { constraintSubject } from '../../serializers/constraint-subject.js'
import { serializerPlan } from '../../serializers/plan.js'
import type { GenericView } from '../generic-view.js'
import { inputClassOf } from '../input-class.js'

/** Names what fails outside the serializer's own statements (in a hook, at COMMIT) by the client's fields. */
export function subjectOfView(view: GenericView): ConstraintSubject {
  const subject = subjectOf(view.ctx.method, view)
  try {
    const { data } = view.body
    const own = constraintSubject(serializerPlan(view.seenClass(inputClassOf(view))), subject.operation, data, {
      raw: true,
      view,
    })
    // what is wrong with a list has no field: its errors are keyed by position
    return Array.isArray(data) ? { ...subject, isMade: own.isMade } : own
  } catch {
    // a view without a serializer names no fields
    return subject
  }
}
