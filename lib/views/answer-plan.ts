/** What is decided of the answers that a serializer class writes, before any request. */
import type { ModelClass } from '../models/objection.js'
import { oncePerCatalogue } from '../models/once-per-catalogue.js'
import { decideRows, type RowDecision, shownColumns } from '../rows/row-plan.js'
import type { SerializerClass } from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'

export interface AnswerPlan {
  readonly serializer: SerializerClass
  /** The model of what it shows; undefined for a serializer without one. */
  readonly model: ModelClass | undefined
  /** The answer is for known users only: it holds ids that are others for each user. */
  readonly needsUser: boolean
  /** How rows are written as it says, or why they cannot be. */
  readonly rows: RowDecision
  /** The model's columns that it shows as they are. */
  readonly columns: ReadonlySet<string>
}

/** The answers of a serializer class, the same for as long as the catalogue is. @throws {ConfigurationError} */
export const answerPlan = oncePerCatalogue((serializer: SerializerClass): AnswerPlan => {
  const { model, needsUser } = serializerPlan(serializer)
  return {
    serializer,
    model: model?.model,
    needsUser,
    rows: decideRows(serializer),
    columns: shownColumns(serializer),
  }
})
