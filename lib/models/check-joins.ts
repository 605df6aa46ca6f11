import type { RelationProperty } from 'objection'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { describeModel } from './describe-model.js'
import { extrasOf } from './describe-relations.js'

import { comparedSql, type ModelDescription, type RelationDescription } from './model-description.js'
import { modelName } from './objection.js'

/** Columns of a table, and the properties that stand for them. */
interface Ends {
  readonly table: ModelDescription
  readonly names: Pick<RelationProperty, 'props' | 'cols'>
  /** They are shown with what is related, and not compared. */
  readonly areExtras?: boolean
}

/** Whether the tables have the columns that a relation is joined by. @throws {ConfigurationError} naming the one that is missing */
export function checkEnds(owner: ModelDescription, relation: RelationDescription): void {
  const mapping = `${modelName(owner.model)}.relationMappings.${relation.name}`
  for (const { table, names, areExtras } of endsOf(owner, relation)) {
    const { model, prepared, columns } = table
    const { props: properties, cols } = names
    // a join in the words of properties would be found by rows, and not by Objection
    const missing = prepared && cols.find((column, index) => columns.get(properties[index] ?? '')?.column !== column)
    const unequal = properties
      .map((property) => columns.get(property))
      .find((column) => column && comparedSql(column) !== '??')
    if (unequal && !areExtras) {
      throw new ConfigurationError(
        `${mapping}: "${unequal.property}" of "${model.tableName}" is of a domain over ${unequal.sqlType}, which PostgreSQL compares with nothing; give the column the type itself`,
      )
    }
    if (typeof missing !== 'string') continue
    const known = [...columns.values()].map(({ column }) => column)
    throw new ConfigurationError(
      `${mapping}: the table "${model.tableName}" has no column "${missing}"${didYouMean(missing, known) || '; correct the join'}`,
    )
  }
}

function endsOf(owner: ModelDescription, { name, model, through }: RelationDescription): readonly Ends[] {
  const relation = owner.model.getRelation(name)
  const ends = [
    { table: owner, names: relation.ownerProp },
    { table: describeModel(model), names: relation.relatedProp },
  ]
  if (!through) return ends
  const table = describeModel(through.model)
  const extras = extrasOf(relation)
  const extra = { props: extras.map((one) => one.joinTableProp), cols: extras.map((one) => one.joinTableCol) }
  return [
    ...ends,
    { table, names: relation.joinTableOwnerProp },
    { table, names: relation.joinTableRelatedProp },
    { table, names: extra, areExtras: true },
  ]
}
