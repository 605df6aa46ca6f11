/**
 * Visibility columns: those of a row that decide who sees it, as far as that can be known before anybody asks: what is recorded of a row as
 * it was, so that those hear of a change who saw the object before it.
 */

import { ConfigurationError } from '../kernel/errors.js'
import { getOrInsert } from '../kernel/maps.js'
import { didYouMean } from '../kernel/near-miss.js'
import { oncePer } from '../kernel/once-per.js'
import { describeModel, sourceOf } from '../models/describe-model.js'
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

/** By the database that catalogues were read of: columns by which lists of view sets are asked who sees a row, by their tables. */
const asked = oncePer((_source: object) => new Map<string, Set<string>>())

/** Columns of a model's table that some view set records to tell who sees its objects. They may become more. */
export function askedColumns(model: ModelClass): ReadonlySet<string> {
  return askedOf(model)
}

/** Has all who write rows of the table record these columns, too: a list shows what another view set has written. */
export function noteAsked(model: ModelClass, deciding: readonly Column[]): void {
  const own = askedOf(model)
  for (const { column } of deciding) own.add(column)
}

function askedOf(model: ModelClass): Set<string> {
  return getOrInsert(asked(sourceOf(model)), model.tableName, () => new Set())
}

/**
 * The primary key, foreign keys, the mark of deleted rows, what the serializer shows of its own columns, and what the
 * application names; and what other view sets of the table know by; but nothing that is only written, or masked.
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
  const others = askedColumns(model)
  const isOfOthers = ({ property, column }: Column) =>
    others.has(column) && !kept.has(property) && !rules?.masks(model, property)
  return [...columns.values()].filter((column) => chosen.has(column.property) || isOfOthers(column))
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
