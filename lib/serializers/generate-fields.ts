/** The fields that a model serializer generates: from columns, foreign keys, relations and attributes of its model. */

import { checkedOptions } from '../fields/checked-options.js'
import { compositeKey } from '../fields/composite-key.js'
import { ExternalIdField } from '../fields/external-id-field.js'
import type { FieldOptions, SerializerField } from '../fields/field.js'
import { fieldForColumn, GENERATED_OPTIONS, type GeneratedOptions } from '../fields/field-for-column.js'
import { PrimaryKeyRelatedField, type PrimaryKeyRelatedFieldOptions } from '../fields/key-related-fields.js'
import { notAKey } from '../fields/object-key.js'
import { ReadOnlyField } from '../fields/own-value-fields.js'
import { externalIds, externalKey, leadsToIds } from '../ids/external-ids.js'
import { ConfigurationError } from '../kernel/errors.js'
import { readModelSchema } from '../kernel/json-schema.js'
import { didYouMean } from '../kernel/near-miss.js'
import { checkKinds, checkOptions } from '../kernel/option-kinds.js'
import { ownMember, presentOf } from '../kernel/records.js'
import { isJsonAttribute } from '../models/build-model.js'
import { visibleNames } from '../models/hidden-attributes.js'
import {
  type Column,
  type ModelDescription,
  type RelationDescription,
  relationOfKey,
} from '../models/model-description.js'
import { modelName } from '../models/objection.js'
import { checkContradictions } from './check-serializer.js'
import { hasAttribute, sourceNames } from './check-source.js'

/**
 * Which fields of the model a serializer has: their names, or `__all__` for the model's declared columns, but for those that
 * it hides by `hidden` or `visible` (objection-visibility).
 */
export type FieldNames = string | readonly string[]

/** Options laid over those of generated fields, by field name. */
export type ExtraKwargs = Readonly<Record<string, GeneratedOptions>>

/** What a model serializer's statics say of its fields. */
export interface FieldsDeclaration {
  readonly name: string
  readonly fields: FieldNames
  readonly readOnlyFields: readonly string[]
  readonly extraKwargs: ExtraKwargs
  readonly depth: number
}

interface ModelSource {
  readonly model: ModelDescription
  /** The field that shows the objects of a relation in full. */
  readonly nest: (relation: RelationDescription) => SerializerField
}

/** Where fields come from. */
export interface FieldsSource extends ModelSource {
  /** The fields that the serializer declares itself, by name. */
  readonly declared: ReadonlyMap<string, SerializerField>
}

/** All fields, generated and declared. @throws {ConfigurationError} a name is no field of the model */
export function generateFields(
  serializer: FieldsDeclaration,
  { model, declared, nest }: FieldsSource,
): Map<string, SerializerField> {
  const fields = new Map<string, SerializerField>()
  for (const name of listedNames(serializer, model)) {
    fields.set(name, declared.get(name) ?? checkedField(serializer, { model, nest }, name))
    const isShown = serializer.depth > 0 && fields.get(name)?.writeOnly === false
    const nested = isShown ? relationOfKey(model, name) : undefined
    if (nested && !fields.has(nested.name) && !declared.has(nested.name)) {
      fields.set(nested.name, nest(nested))
    }
  }
  for (const [name, field] of declared) fields.set(name, field)
  checkAllNames(serializer, model, fields)
  return fields
}

function listedNames({ fields }: FieldsDeclaration, model: ModelDescription): readonly string[] {
  return typeof fields === 'string' ? visibleNames(model.model, model.declared) : fields
}

/**
 * Checks the names in `readOnlyFields` and `extraKwargs` of a serializer with `'__all__'`, whose fields come from the catalogue. A model
 * without a `jsonSchema` has all columns of its table, which nobody knows before that was read.
 */
function checkAllNames(
  serializer: FieldsDeclaration,
  model: ModelDescription,
  fields: ReadonlyMap<string, SerializerField>,
): void {
  if (Array.isArray(serializer.fields)) return
  if (!model.prepared && readModelSchema(model.model.jsonSchema).properties.size === 0) return
  const names = [...fields.keys()]
  const refuse = (where: string) => (name: string) => {
    const fix = didYouMean(name, names) || '; correct the name'
    throw new ConfigurationError(`${serializer.name}: ${where} names no field "${name}"${fix}`)
  }
  serializer.readOnlyFields.filter((name) => !fields.has(name)).forEach(refuse('readOnlyFields'))
  const generated = new Set(listedNames(serializer, model))
  Object.keys(serializer.extraKwargs)
    .filter((name) => !generated.has(name))
    .forEach(refuse('extraKwargs'))
}

/** Names in `extraKwargs` and `readOnlyFields` must mean something. */
export function checkDeclaredNames(
  serializer: FieldsDeclaration,
  declared: ReadonlyMap<string, SerializerField>,
): void {
  const { fields } = serializer
  for (const name of Object.keys(serializer.extraKwargs)) {
    if (declared.has(name)) {
      throw new ConfigurationError(
        `${serializer.name}: extraKwargs.${name} is for generated fields; give the options to declaredFields.${name}`,
      )
    }
    checkKinds(`${serializer.name}: extraKwargs.${name}`, serializer.extraKwargs[name], { kinds: GENERATED_OPTIONS })
    if (Array.isArray(fields) && !fields.includes(name)) {
      const fix = didYouMean(name, fields) || `; add "${name}" to fields`
      throw new ConfigurationError(`${serializer.name}: extraKwargs.${name} names no field${fix}`)
    }
  }
  for (const name of serializer.readOnlyFields) {
    if (Array.isArray(fields) && !fields.includes(name) && !declared.has(name)) {
      const fix = didYouMean(name, [...fields, ...declared.keys()]) || '; add it to fields'
      throw new ConfigurationError(`${serializer.name}: readOnlyFields names no field "${name}"${fix}`)
    }
  }
}

/** A generated field, whose options are all of its class; which class that is depends on the catalogue. */
function checkedField(serializer: FieldsDeclaration, source: ModelSource, name: string): SerializerField {
  const { model } = source
  const field = generateField(serializer, source, name)
  const extra = ownMember(serializer.extraKwargs, name)
  if (extra === undefined) return field
  const where = `${serializer.name}: extraKwargs.${name}: ${field.constructor.name}`
  if (model.prepared) checkOptions(where, field.constructor, extra)
  // a field that is only read takes none of the options that say otherwise
  checkContradictions(where, { ...field.options, ...extra })
  const isMade = model.columns.get(extra.source ?? name)?.auto === true
  if (model.prepared && extra.readOnly === false && (isMade || field.readOnly)) {
    throw new ConfigurationError(`${where}: readOnly is false, but no client gives its value; leave it out`)
  }
  return field
}

function generateField(serializer: FieldsDeclaration, { model, nest }: ModelSource, name: string): SerializerField {
  const extra = ownMember(serializer.extraKwargs, name) ?? {}
  const source = extra.source ?? name
  const column = model.columns.get(source)
  const isForeign = column && relationOfKey(model, source) && !externalIds(model.model)?.names(source)
  const idField = isForeign ? undefined : externalIdField(model, source, extra)
  if (idField) return idField
  if (column) return columnField(model, column, extra)
  const relation = model.relations.get(source)
  if (relation) return serializer.depth > 0 ? nest(relation) : relationField(model, relation, extra)
  if (source.includes('.')) return readOnly(extra)
  if (hasAttribute(model, source)) return readOnly(extra)
  throw new ConfigurationError(
    `${serializer.name}: fields names "${name}", which is no column, relation or attribute of ${modelName(model.model)}` +
      `${model.prepared ? '' : ' as far as its jsonSchema tells (await api.prepare() reads the database)'}` +
      `${didYouMean(source, sourceNames(model)) || '; correct the name, or declare the field'}`,
  )
}

/** A value the model computes: only the options that describe it apply. */
function readOnly(extra: GeneratedOptions): SerializerField {
  return new ReadOnlyField(describing(extra))
}

function describing(extra: GeneratedOptions): FieldOptions {
  return presentOf(extra, ['source', 'label', 'helpText', 'schema'])
}

/** The external id that stands for a key, at the end of a path too; never written. */
function externalIdField(
  model: ModelDescription,
  source: string,
  extra: GeneratedOptions,
): SerializerField | undefined {
  const key = externalKey(model, source.split('.'))
  return key && new ExternalIdField(key.ids, { ...describing(extra), readOnly: true, source: key.path.join('.') })
}

/** Options that say what the column says; `extra` is laid over them. */
function columnOptions(column: Column, extra: GeneratedOptions): GeneratedOptions {
  const { schema } = column
  const readOnly = column.auto || schema.readOnly === true
  return {
    ...(extra.choices === undefined ? checkedOptions(column) : {}),
    ...(readOnly ? { readOnly: true } : {}),
    ...(schema.writeOnly === true ? { writeOnly: true } : {}),
    ...(readOnly || column.required ? {} : { required: false }),
    ...(column.nullable ? { allowNull: true } : {}),
    ...(schema.title === undefined ? {} : { label: schema.title }),
    ...(schema.description === undefined ? {} : { helpText: schema.description }),
    ...extra,
  }
}

function columnField(model: ModelDescription, column: Column, extra: GeneratedOptions): SerializerField {
  const relation = relationOfKey(model, column.property, leadsToIds)
  // lists, JSON and rows have no name: they are values as any other
  if (relation && notAKey(column) === undefined) return keyField(relation, columnOptions(column, extra))
  const shown = asShown(model, column)
  return fieldForColumn(shown, columnOptions(shown, extra))
}

/** What a `jsonSchema` calls an object as it is a `Date` in hooks of the model. */
const TIMES = new Set(['date', 'time', 'timetz', 'timestamp', 'timestamptz'])

/** Where the model keeps JSON in a text, its values are those of JSON; what the database asks of the text says nothing of them. */
function asShown(model: ModelDescription, column: Column): Column {
  const isText = column.sqlType !== undefined && column.type !== 'array' && !TIMES.has(column.type)
  return isText && isJsonAttribute(model.model, column) ? { ...column, type: 'json', checked: [] } : column
}

/** A foreign key, which may point to another column than the primary key. */
function keyField(relation: RelationDescription, extra: GeneratedOptions): SerializerField {
  const options: PrimaryKeyRelatedFieldOptions = { queryset: relation.model, ...extra }
  return new PrimaryKeyRelatedField(options, relation.relatedProperties[0])
}

/** A field for a relation listed by its own name: its keys. */
function relationField(
  model: ModelDescription,
  relation: RelationDescription,
  extra: GeneratedOptions,
): SerializerField {
  const isForeignKey = relation.kind === 'belongs-to-one' && relation.ownerProperties.length === 1
  const column = isForeignKey ? model.columns.get(relation.ownerProperties[0] as string) : undefined
  if (column) {
    return keyField(relation, columnOptions(column, extra))
  }
  const writable = relation.kind === 'many-to-many' && !compositeKey(relation.model)
  const options: PrimaryKeyRelatedFieldOptions = {
    queryset: relation.model,
    many: !relation.single,
    ...(writable ? { required: false } : { readOnly: true }),
    ...extra,
  }
  return new PrimaryKeyRelatedField(options)
}
