/**
 * Visibility columns: those of a row that decide who sees it, as far as that can be known before anybody asks: what is recorded of a row as
 * it was, so that those hear of a change who saw the object before it.
 */

import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { describeModel } from '../models/describe-model.js'
import type { Column, ModelDescription } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import type { RuleSet } from '../rules/rule-set.js'
import type { SerializerClass } from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'
import { isMasked } from './recorded-fields.js'

/** What is known of a model's columns. */
export interface DecidingChoice {
  /** What shows the objects that are recorded. */
  readonly shown: SerializerClass
  /** What takes them: values that it does not show again are never recorded. */
  readonly serializer: SerializerClass
  readonly rules: RuleSet | undefined
  /** The column that marks rows as deleted. */
  readonly mark?: Column | undefined
  /** Columns that the application names, as its querysets ask about them. */
  readonly named?: readonly string[] | undefined
}

/**
 * The primary key, foreign keys, the mark of deleted rows, what the serializer shows of its own columns, and what the
 * application names; but nothing that is only written, or masked.
 * @throws {ConfigurationError} the application names no column
 */
export function decidingColumns(
  model: ModelClass,
  { shown, serializer, rules, mark, named = [] }: DecidingChoice,
): readonly Column[] {
  const description = describeModel(model)
  const { columns, primaryKey, references, relations } = description
  for (const name of named) {
    if (!columns.has(name))
      throw new ConfigurationError(
        `changes: visibleBy names "${name}", which is no column of ${model.tableName}${didYouMean(name, columns.keys())}`,
      )
  }
  const kept = keptBack(serializer, description, rules)
  const leading = [...relations.values()].filter(({ kind }) => kind === 'belongs-to-one')
  const known = [
    ...references.flatMap(({ properties }) => properties),
    ...leading.flatMap(({ ownerProperties }) => ownerProperties),
    ...serializerPlan(shown).readable.map(({ column }) => column?.property),
    mark?.property,
  ]
  const chosen = new Set([...known.filter((one) => !kept.has(one)), ...primaryKey, ...named])
  return [...columns.values()].filter(({ property }) => chosen.has(property))
}

/** Properties that a serializer only takes, and those that are masked. */
function keptBack(
  serializer: SerializerClass,
  model: ModelDescription,
  rules: RuleSet | undefined,
): ReadonlySet<string | undefined> {
  const { fields, readable } = serializerPlan(serializer)
  const shown = new Set(readable.map(({ column }) => column?.property))
  // what the server says by itself, such as the owner, nobody has given
  const isOnlyTaken = ({ input, column }: (typeof fields)[number]) =>
    input !== 'nothing' && !shown.has(column?.property)
  const kept = fields.filter((bound) => isOnlyTaken(bound) || isMasked(bound, model, rules))
  return new Set(kept.map(({ column }) => column?.property))
}
