/** What is decided of the answers of a serializer class, whichever view shows them. */

import { oncePerCatalogue } from '../models/describe-model.js'
import type { ModelClass } from '../models/objection.js'
import { Statements } from '../rows/row-access.js'
import { decideRows, type RowDecision, shownColumns } from '../rows/row-plan.js'
import type { SerializerClass } from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'

/** What is decided of the answers of a serializer class. */
export class AnswerPlan {
  readonly serializer: SerializerClass
  /** The model of what it shows; undefined for a serializer without one. */
  readonly model: ModelClass | undefined
  /** The answer is for known users only: it holds ids that are others for each user. */
  readonly needsUser: boolean
  /** How rows are written as it says, or why they cannot be. */
  readonly rows: RowDecision
  /** The model's columns that it shows as they are. */
  readonly columns: ReadonlySet<string>
  /** Those that read and insert its rows. */
  readonly statements = new Statements()

  constructor(serializer: SerializerClass) {
    const { model, needsUser } = serializerPlan(serializer)
    this.serializer = serializer
    this.model = model?.model
    this.needsUser = needsUser
    this.rows = decideRows(serializer)
    this.columns = shownColumns(serializer)
  }
}

/** The answers of a serializer class, the same for as long as the catalogue is. @throws {ConfigurationError} */
export const answerPlan = oncePerCatalogue((serializer: SerializerClass) => new AnswerPlan(serializer))
