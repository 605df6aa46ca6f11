/** Names in recorded changes: of what view sets of one table they are, whose histories, streams and webhooks are of the same changes. */

import { externalIds } from '../ids/external-ids.js'
import { getOrInsert } from '../kernel/maps.js'
import { oncePer } from '../kernel/once-per.js'
import { quote } from '../kernel/quote.js'
import { warnOnce } from '../kernel/warn-once.js'
import { catalogueOf, sourceOf } from '../models/describe-model.js'
import type { ModelClass } from '../models/objection.js'
import type { BoundField, SerializerClass } from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'

/** View set that records objects by a name, and what it records. */
interface Named {
  readonly view: string
  readonly what: string
}

/** By the database that catalogues were read of: the first that was recorded by each name, by the table's number and the name. */
const first = oncePer((_source: object) => new Map<string, Named>())
/** What no field is called. */
const KEY = ''
const TABLE = ' '

/** Warns where another view set of the table records something else by the same name, or names objects otherwise. */
export function noteNames(view: string, model: ModelClass, shown: SerializerClass): void {
  const known = first(sourceOf(model))
  const table = catalogueOf(model)?.table ?? model.tableName
  const note = (name: string, what: string, problem: (other: Named) => string) => {
    const other = getOrInsert(known, `${table} ${name}`, () => ({ view, what }))
    if (other.what !== what) warnOnce('KOA_VIEWSETS_CHANGES', `${view}: ${problem(other)}`)
  }
  note(
    TABLE,
    model.tableName,
    (other) =>
      `its changes are of "${model.tableName}", and those of ${other.view} of "${other.what}", which is the same table, so that neither are in the histories, streams and webhooks of the other; give both models the same tableName`,
  )
  const key = externalIds(model) ? 'external ids' : 'primary keys'
  note(
    KEY,
    key,
    (other) =>
      `its changes name objects by ${key}, and those of ${other.view} by ${other.what}, so that neither are in the histories, streams and webhooks of the other; give both models the same ids`,
  )
  for (const bound of serializerPlan(shown).readable) {
    const what = meaningOf(bound)
    note(
      bound.name,
      what,
      (other) =>
        `its changes have ${what} as ${quote(bound.name)}, and those of ${other.view} ${other.what}, in the same histories and webhooks; rename one of the fields, or leave it out of static changes`,
    )
  }
}

/** The same for fields that show the same. */
function meaningOf({ column, relation, source, method }: BoundField): string {
  if (method !== undefined) return 'what a method makes'
  return source.length > 1 ? source.join('.') : (column?.column ?? relation?.name ?? source.join('.'))
}
