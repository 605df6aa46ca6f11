/** Columns that objects are grouped or counted by, and the first days of the year, month or day that they are in. */

import { DateField } from '../fields/date-time-fields.js'
import { ExternalIdField } from '../fields/external-id-field.js'
import { fieldForColumn } from '../fields/field-for-column.js'
import type { FieldPath } from '../filters/field-path.js'
import { externalPath, resolvePaths, SEPARATOR } from '../filters/resolve-paths.js'
import { ConfigurationError } from '../kernel/errors.js'
import { ownerAt } from '../models/describe-model.js'
import { visibleNames } from '../models/hidden-attributes.js'
import type { Column, ModelDescription } from '../models/model-description.js'
import { modelName } from '../models/objection.js'
import type { BoundField, SerializerPlan } from '../serializers/contract.js'
import { Figure } from './figure.js'

/** The name of a period as the first day of it, in UTC. */
const PERIODS = ['year', 'month', 'day'] as const

/** SQL for the point in time of a column, in UTC and without its offset. */
const MOMENTS: Readonly<Record<string, (value: string) => string>> = {
  date: (value) => `${value}::timestamp`,
  timestamp: (value) => value,
  timestamptz: (value) => `${value} at time zone 'UTC'`,
}

const DAY = { oid: 1082, field: new DateField() } as const
/** Types of several values, which are compared as a whole. */
const MANIFOLD: ReadonlySet<string> = new Set(['array', 'json', 'jsonb'])

/** Where names are declared, and what is shown of their columns. */
export interface Declaring {
  /** The class and attribute, for messages. */
  readonly where: string
  readonly model: ModelDescription
  /** What the view's serializer shows; undefined where that depends on the request. */
  readonly serializer: SerializerPlan | undefined
}

/** @throws {ConfigurationError} the name leads to no value that objects can be grouped by, or to one that is hidden */
export function groupFigure(declaring: Declaring, name: string): Figure {
  const { column, period } = periodOf(declaring, name)
  const path = fieldPathOf(declaring, column)
  refuseHidden(declaring, path)
  const { where, model } = declaring
  const { type, sqlType } = path.column
  if (period) {
    const moment = MOMENTS[type]
    if (!moment) {
      throw new ConfigurationError(
        `${where} names "${name}", and "${column}" of type ${sqlType ?? type} has no ${period}; take a date or a point in time`,
      )
    }
    const wrap = (value: string) => `date_trunc('${period}', ${moment(value)})::date`
    return new Figure({ name, path, ...DAY, mayBeNull: holdsNull(path), wrap })
  }
  if (!path.column.isOrdered || MANIFOLD.has(type)) {
    throw new ConfigurationError(
      `${where} names "${name}" of type ${sqlType ?? type}, by which nothing can be grouped; take a column of single values`,
    )
  }
  const external = externalPath(where, model, path)
  if (external) {
    const { ids } = external
    const field = new ExternalIdField(ids)
    return new Figure({
      name,
      path: external.path,
      oid: external.path.column.oid ?? 0,
      field,
      mayBeNull: holdsNull(external.path),
    })
  }
  return new Figure({ name, path, ...shownAs(declaring, path), mayBeNull: holdsNull(path) })
}

/** The path that a name leads to. @throws {ConfigurationError} nowhere, or to many values of one object */
export function fieldPathOf({ where, model }: Declaring, name: string): FieldPath {
  const [path] = resolvePaths(where, model, [name]) as [FieldPath]
  if (path.single) return path
  throw new ConfigurationError(
    `${where} names "${name}", which leads to many objects, so that one would count several times; take columns of the model and of relations to one object`,
  )
}

/** How a column's value is shown: as the serializer does, where it shows the column by itself. */
export function shownAs(
  { serializer }: Declaring,
  path: FieldPath,
): Pick<Figure, 'field' | 'bound'> & { readonly oid: number } {
  const { column, related } = path
  const bound = related ? undefined : serializer?.readable.find((one) => showsColumn(one, column))
  return { oid: column.oid ?? 0, field: bound?.writer ?? fieldForColumn(column, {}), bound }
}

function showsColumn({ column, source, relation, ids, method }: BoundField, { property }: Column): boolean {
  return column?.property === property && source.length === 1 && !relation && !ids && method === undefined
}

/** A path over relations may lead nowhere. */
export function holdsNull({ column, related }: FieldPath): boolean {
  return related || column.holdsNull
}

/**
 * Refuses columns that the model or the serializer keeps from clients: groups, and ends, show their values.
 * @throws {ConfigurationError}
 */
export function refuseHidden({ where, model, serializer }: Declaring, { name, properties, related }: FieldPath): void {
  const property = properties.at(-1) as string
  const { model: owner } = ownerAt(model, properties) as ModelDescription
  if (visibleNames(owner, [property]).length === 0) {
    throw new ConfigurationError(`${where} names "${name}", which ${modelName(owner)} hides; take it out`)
  }
  if (related || !serializer) return
  const fields = serializer.fields.filter(({ column, source }) => column?.property === property && source.length === 1)
  if (fields.length === 0 || fields.some(({ readable }) => readable)) return
  throw new ConfigurationError(`${where} names "${name}", which the serializer takes and never shows; take it out`)
}

interface Period {
  readonly column: string
  readonly period: (typeof PERIODS)[number] | undefined
}

/** A column may be called as a period is: it comes first. */
export function periodOf({ where, model }: Pick<Declaring, 'where' | 'model'>, name: string): Period {
  const period = PERIODS.find((one) => name.endsWith(SEPARATOR + one))
  if (!period || leadsSomewhere(where, model, name)) return { column: name, period: undefined }
  return { column: name.slice(0, -(SEPARATOR + period).length), period }
}

function leadsSomewhere(where: string, model: ModelDescription, name: string): boolean {
  try {
    resolvePaths(where, model, [name])
    return true
  } catch (error) {
    if (error instanceof ConfigurationError) return false
    throw error
  }
}
