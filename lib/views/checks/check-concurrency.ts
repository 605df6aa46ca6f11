/** What can be wrong with `static concurrency` before any request. */

import { ConfigurationError } from '../../kernel/errors.js'
import { didYouMean } from '../../kernel/near-miss.js'
import { getSecretKey } from '../../kernel/settings.js'
import { describeModel } from '../../models/describe-model.js'
import { traitsOf } from '../../models/model-traits.js'
import { type ModelClass, modelName } from '../../models/objection.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { positionTag } from '../../queryset/keyset.js'
import { overrideOf } from '../../serializers/model-serializer.js'
import { isBuiltIn } from '../built-in.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { declaredInput } from '../input-class.js'
import { concurrencyOf, resourceOf } from '../resource.js'
import { refuseWritable } from './check-writes.js'

/**
 * The columns must exist, have a string of their own, be out of the client's reach, and change with every write.
 * @throws {ConfigurationError} naming class, attribute and fix
 */
export async function checkConcurrency(view: GenericViewClass, knex: Queryable | undefined): Promise<void> {
  if (view.concurrency === null) return
  const { columns, model, table } = describeModel(view.modelClass())
  const properties = concurrencyOf(view)
  if (properties.length === 0) {
    throw new ConfigurationError(`${view.name}: concurrency is an empty list; name a column that every write changes`)
  }
  for (const property of properties) {
    const column = columns.get(property)
    if (!column) {
      throw new ConfigurationError(
        `${view.name}: concurrency names "${property}", which is no column of ${modelName(model)}${didYouMean(property, columns.keys())}`,
      )
    }
    try {
      positionTag(column)
    } catch {
      throw new ConfigurationError(
        `${view.name}: concurrency names "${property}" of type ${column.sqlType ?? column.type}; name a number, text, date or uuid`,
      )
    }
    refuseWritable(view, 'concurrency', property)
  }
  if (!('update' in view.prototype) || !isBuiltIn(view.prototype, 'performUpdate') || writesItself(view)) return
  if (!traitsOf(model).plainUpdates || table === undefined || !knex || (await hasUpdateTrigger(knex, table))) return
  throw new ConfigurationError(
    `${view.name}: concurrency names "${properties.join('", "')}", which nothing changes when a row is updated; ` +
      `set it by a trigger, or in ${modelName(model)}.$beforeUpdate`,
  )
}

/** What rules say of fields. */
interface FieldRules {
  fieldRules(model: ModelClass, property: string): readonly object[]
}

/** Versions of values that not everybody reads are made with the secret. @throws {ConfigurationError} there is none */
export function checkVersionSecret(view: GenericViewClass, rules: FieldRules | undefined): void {
  if (view.concurrency === null || !rules) return
  const isRuled = (property: string) => rules.fieldRules(view.modelClass(), property).length > 0
  if (resourceOf(view).versionTerms.some(({ property }) => isRuled(property))) getSecretKey()
}

/** True when the serializer has an update of the application's. */
function writesItself(view: GenericViewClass): boolean {
  const taking = declaredInput(view)
  return !taking || overrideOf(taking, ['update', 'save', 'validate']) !== null
}

/** A trigger, or a rule, that runs when a row is updated. */
async function hasUpdateTrigger(knex: Queryable, table: number): Promise<boolean> {
  const { rows } = await knex.raw<{ rows: { found: boolean }[] }>(
    `select exists (select from pg_trigger where tgrelid = ? and not tgisinternal and tgenabled <> 'D' and tgtype & 16 <> 0)
       or exists (select from pg_rewrite where ev_class = ? and ev_type = '2')
       or exists (select from pg_class where oid = ? and relkind <> 'r' and relkind <> 'p') as found`,
    [table, table, table],
  )
  return rows[0]?.found ?? false
}
