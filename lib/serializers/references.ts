/**
 * Foreign keys looked up as the caller. PostgreSQL checks them by the rights of the table's owner: it would take the key of
 * a row that the caller may not see, and tell by an error which rows there are not.
 */

import type { RelatedField } from '../fields/related-field.js'
import { areOfOneDatabase, describeModel } from '../models/describe-model.js'
import { exactAt } from '../models/exact-types.js'
import type { Column, ForeignKeyReference, ModelDescription, RelationDescription } from '../models/model-description.js'
import { escaped, quoteIdentifier } from '../models/table-reference.js'
import { missingReference } from '../postgres/constraint-errors.js'
import type { Queryable } from '../postgres/pg-types.js'
import { runsAsRole } from '../postgres/scoped-knex.js'
import { areComparable } from '../queryset/key-rows.js'
import { namesOfKeys } from '../queryset/same-keys.js'
import type { SqlPart } from '../queryset/sql-part.js'
import { leaveOutUnseen, type SeenRows, visibleRowsIn } from '../queryset/visible-rows.js'
import { constraintSubject } from './constraint-subject.js'
import type { AnySerializer, BoundField, WrittenReference } from './contract.js'
import { leadingOf } from './validate-related.js'
import { forcedBy, type Item, isForced, refuse, type ValidationScope } from './validated-item.js'
import { parts } from './write-rows.js'

/** The foreign keys of a model that these fields write, whole or in part. */
export function referencesOf(
  model: ModelDescription | undefined,
  writable: readonly BoundField[],
): readonly WrittenReference[] {
  if (!model) return []
  return model.references.flatMap((reference) => {
    const parts = reference.properties.flatMap((property) => {
      const column = model.columns.get(property)
      const fields = writable.filter(({ column, input }) => column?.property === property && input !== 'objects')
      return column ? [{ column, fields }] : []
    })
    const isWhole = parts.length === reference.properties.length
    if (!isWhole || parts.every(({ fields }) => fields.every(({ input }) => input === 'nothing'))) return []
    const [only] = parts.length === 1 ? parts : []
    return [{ ...reference, parts, found: only?.fields.filter((field) => looksUp(field, reference)) ?? [] }]
  })
}

/** True of a field that finds the object which the foreign key leads to. */
function looksUp({ input, relation }: BoundField, { table, columns }: ForeignKeyReference): boolean {
  if (input !== 'keys' || relation?.kind !== 'belongs-to-one') return false
  const related = describeModel(relation.model)
  return related.table === table && related.columns.get(relation.relatedProperties[0] ?? '')?.column === columns[0]
}

/** A key that an object would have; undefined for a column whose value is not known yet. */
interface Wanted {
  readonly item: Item
  readonly reference: WrittenReference
  readonly key: readonly unknown[]
  /** What the object has; undefined where nothing is stored. */
  readonly kept: readonly unknown[]
  /** The field that has read it, and found the object; undefined where none has. */
  readonly finder: BoundField | undefined
}

/**
 * Refuses keys of rows that the caller does not see, by the message for those that there are not. Asked where a role or
 * row-level security hides rows; one statement for all keys of all items.
 */
export function checkReferences(
  serializer: AnySerializer,
  items: readonly Item[],
  scope: ValidationScope,
): Promise<void> | undefined {
  const { references, trusted, model } = serializer.plan
  if (references.length === 0 || !model) return undefined
  const knex = serializer.context.knex ?? (model.model.knex() as Queryable | undefined)
  if (!knex) return undefined
  const isRole = runsAsRole(knex)
  const isTrusted = (bound: BoundField) => scope.trustKeys === true && trusted.has(bound)
  const wanted = references.flatMap((reference) => {
    // the field that has found an object asked for its own table alone
    const isElsewhere = seenElsewhere(serializer, reference).length > 0
    if (!isElsewhere && isFoundByAll(reference) && !reference.found.some(isTrusted)) return []
    if (!(isElsewhere || reference.secured || isRole || seenThrough(serializer, reference))) return []
    const made = keysOfNew(serializer, items, reference)
    const all = items.flatMap((item) => wantedOf(serializer, item, reference, scope) ?? [])
    return all.filter(({ key, finder }) => (isElsewhere || !finder) && !(made.size > 0 && made.has(keyName(key))))
  })
  return wanted.length === 0
    ? undefined
    : changedKeys(wanted, knex).then((keys) => refuseUnseen(serializer, knex, keys))
}

/** True of a foreign key of which every field finds the object itself. */
function isFoundByAll({ parts: columns, found }: WrittenReference): boolean {
  return columns.every(({ fields }) => fields.every((field) => found.includes(field)))
}

/** The keys that items of a list will be inserted with, to which others of the list may refer. */
function keysOfNew(
  { plan: { model, writable } }: AnySerializer,
  items: readonly Item[],
  { table, nativeNames }: WrittenReference,
): ReadonlySet<string> {
  const made = model?.table === table ? items.filter(({ current }) => !current) : []
  const fields = nativeNames.map((name) => writable.findLast(({ column }) => column?.nativeName === name)?.name ?? '')
  return new Set(made.map(({ value }) => keyName(fields.map((name) => value[name]))))
}

function keyName(key: readonly unknown[]): string {
  return JSON.stringify(key.map(String))
}

/** The rows that the caller sees of those which a foreign key may lead to. */
function seenThrough(serializer: AnySerializer, reference: WrittenReference) {
  const visible = visibleRowsIn(serializer.context)
  const { model } = serializer.plan
  if (!visible || !model) return undefined
  const { table } = reference
  const relation = relationsOver(model, reference).find((one) => describeModel(one.model).table === table)
  return visible.ofTable({ owner: model.model, table }, leadingOf(serializer, { relation }))
}

/** Rows of another table to which relations over the same key lead, such as a view of its own. */
interface SeenElsewhere {
  readonly relation: RelationDescription
  readonly seen: SeenRows
}

function seenElsewhere(serializer: AnySerializer, reference: WrittenReference): SeenElsewhere[] {
  const visible = visibleRowsIn(serializer.context)
  const { model } = serializer.plan
  if (!visible || !model) return []
  return relationsOver(model, reference).flatMap((relation) => {
    const leading = leadingOf(serializer, { relation })
    const isSame = describeModel(relation.model).table === reference.table
    const seen = isSame || !leading ? undefined : visible.related(leading)
    return seen ? [{ relation, seen }] : []
  })
}

/** Relations over the same key, within the database: no statement here knows of another one's rows. */
function relationsOver({ model, relations }: ModelDescription, { properties }: WrittenReference) {
  return [...relations.values()].filter(({ kind, ownerProperties: own, model: target }) => {
    const isOver = own.length === properties.length && own.every((name) => properties.includes(name))
    return kind === 'belongs-to-one' && isOver && areOfOneDatabase(model, target)
  })
}

/** Those that are not what is stored already. */
async function changedKeys(wanted: readonly Wanted[], knex: Queryable): Promise<readonly Wanted[]> {
  const changed = new Set(wanted.filter(({ kept }) => kept.includes(undefined)))
  for (const reference of new Set(wanted.map((one) => one.reference))) {
    const stored = wanted.filter((one) => one.reference === reference && !changed.has(one))
    const columns = reference.parts.map(({ column }) => column)
    const names = await namesOfKeys(columns, [...stored.map(({ key }) => key), ...stored.map(({ kept }) => kept)], knex)
    for (const [index, one] of stored.entries()) if (names[index] !== names[stored.length + index]) changed.add(one)
  }
  return wanted.filter((one) => changed.has(one))
}

/** The key that an item asks for; undefined where the client sets none. */
function wantedOf(
  serializer: AnySerializer,
  item: Item,
  reference: WrittenReference,
  scope: ValidationScope,
): Wanted | undefined {
  const forced = forcedBy(serializer, scope)
  const values = forced as Partial<ReadonlyMap<string, unknown>> | undefined
  const stored = item.current as Readonly<Record<string, unknown>> | undefined
  let isGiven = false
  let finder: BoundField | undefined
  const kept = reference.parts.map(
    ({ column: { property } }) => values?.get?.(property) ?? (stored && exactAt(stored, property)),
  )
  const key = reference.parts.map(({ column, fields }, index) => {
    const own = fields.filter((one) => !isForced(forced, one))
    const bound = own.findLast((one) => isWritten(item, one))
    if (!bound) return !stored && leavesNull(column, own) ? null : kept[index]
    const isTrusted = scope.trustKeys === true && serializer.plan.trusted.has(bound)
    if (reference.found.includes(bound) && !isTrusted) finder = bound
    isGiven ||= Object.hasOwn(item.input, bound.name) && bound.input !== 'nothing'
    return item.value[bound.name]
  })
  // a key with a null in it leads nowhere, and nothing is asked of it
  return isGiven && !key.includes(null) ? { item, reference, key, kept, finder } : undefined
}

/** True of a column that is null where a client, who may write it, leaves it out of a new object. */
function leavesNull({ nullable, hasDefault, auto }: Column, fields: readonly BoundField[]): boolean {
  return nullable && !hasDefault && !auto && fields.some(({ input }) => input !== 'nothing')
}

/** False for a field that was sent as it was shown, beside which another one may write the column. */
function isWritten({ value, unchanged }: Item, { name }: BoundField): boolean {
  return Object.hasOwn(value, name) && unchanged?.has(name) !== true
}

async function refuseUnseen(serializer: AnySerializer, knex: Queryable, wanted: readonly Wanted[]): Promise<void> {
  if (wanted.length === 0) return
  const most = Math.max(...wanted.map(({ key }) => key.length + 1))
  for (const asked of parts(wanted, most)) {
    const { sql, bindings } = lookUp(serializer, knex, asked)
    const { rows } = await knex.raw<{ rows: readonly { n: string }[] }>(sql, bindings as never)
    for (const { n } of rows) refuseKey(serializer, asked[Number(n)] as Wanted)
  }
}

/** The statement that finds the numbers of the keys that lead to no row. */
function lookUp(serializer: AnySerializer, knex: Queryable, wanted: readonly Wanted[]): SqlPart {
  const bindings: unknown[] = []
  const statements = [...new Set(wanted.map(({ reference }) => reference))].map((reference) => {
    const { parts, nativeNames, target, period } = reference
    const ours = [...wanted.entries()].filter(([, one]) => one.reference === reference)
    const rows = ours.map(([n, { key }]) => {
      bindings.push(n, ...key.map((value) => value ?? null))
      return `(?::int4, ${parts.map(({ column }) => `?::${escaped(column.sqlType ?? 'text')}`).join(', ')})`
    })
    const last = nativeNames.length - 1
    const columns = nativeNames.map(ofRow)
    const areEqual = (own: readonly string[], cast = (_index: number) => '') =>
      own.map((column, index) => {
        const isOpen = ours.some(([, { key }]) => key[index] === undefined)
        const operator = period && index === last ? '&&' : '='
        return `(${column}${cast(index)} ${operator} k.c${index}${cast(index)}${isOpen ? ` or k.c${index} is null` : ''})`
      })
    const conditions = areEqual(columns)
    const names = nativeNames.map((_, index) => `c${index}`).join(', ')
    const seen = seenThrough(serializer, reference)
    const only = seen && 'where' in seen ? seen.where('t') : undefined
    const source = seen && 'query' in seen ? [seen.query().toKnexQuery()] : []
    bindings.push(...source, ...(only?.bindings ?? []))
    const rest = only ? ` and (${only.sql})` : ''
    const found = `from ${source.length > 0 ? '?' : escaped(target)} as t where ${conditions.join(' and ')}${rest}`
    const isThere = period
      ? `coalesce((select range_agg(${columns[last]}) @> k.c${last} or k.c${last} is null ${found}), false)`
      : `exists (select ${found})`
    const elsewhere = seenElsewhere(serializer, reference).map(({ relation, seen }) => {
      const all = relation.model.query(knex)
      const query = all.clone()
      leaveOutUnseen(query, seen)
      bindings.push(all.toKnexQuery(), query.toKnexQuery())
      const own = relatedColumns(reference, relation)
      const cast = (index: number) => (areComparable(parts[index]?.column, own[index]) ? '' : '::text')
      const names = own.map((column) => ofRow(column?.nativeName ?? ''))
      const row = `exists (select from ? as t where ${areEqual(names, cast).join(' and ')})`
      return ` or ${row} and not ${row}`
    })
    return `select k.n::text as n from (values ${rows.join(', ')}) as k (n, ${names}) where not ${isThere}${elsewhere.join('')}`
  })
  return { sql: statements.join(' union all '), bindings }
}

function ofRow(nativeName: string): string {
  return `t.${escaped(quoteIdentifier(nativeName))}`
}

/** The columns that a relation joins with those of a key. */
function relatedColumns({ properties }: WrittenReference, relation: RelationDescription) {
  const { model, ownerProperties, relatedProperties } = relation
  const { columns } = describeModel(model)
  return properties.map((name) => columns.get(relatedProperties[ownerProperties.indexOf(name)] ?? ''))
}

function refuseKey(serializer: AnySerializer, { item, reference, finder }: Wanted): void {
  const { plan } = serializer
  const names = reference.parts.map(({ column }) => column.nativeName)
  const subject = constraintSubject(plan, 'write', item.value)
  // as the field says it of what is not there
  const errors = finder
    ? { [finder.name]: [(finder.field as RelatedField).notFoundMessage(subject.valueOf(finder.name))] }
    : missingReference(plan.model?.nativeName ?? '', names, subject)
  for (const [name, messages] of Object.entries(errors)) {
    const known = item.errors?.[name]
    // a partition has the foreign keys of its table once more
    refuse(item, name, [...new Set([...(Array.isArray(known) ? known : []), ...(messages as string[])])])
  }
}
