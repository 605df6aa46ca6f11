/** A serializer class compiled: its fields in order, each bound to where its value comes from and goes to. */

import { BooleanField } from '../fields/boolean-field.js'
import { ExternalIdField } from '../fields/external-id-field.js'
import { SerializerField } from '../fields/field.js'
import { FileUploadField } from '../fields/file-upload-field.js'
import { FloatField } from '../fields/float-field.js'
import { BigIntegerField, IntegerField } from '../fields/integer-fields.js'
import { JSONField } from '../fields/json-field.js'
import { PrimaryKeyRelatedField } from '../fields/key-related-fields.js'
import { HiddenField, ReadOnlyField } from '../fields/own-value-fields.js'
import { RelatedField } from '../fields/related-field.js'
import { exactForm } from '../fields/stored-exactly.js'
import { StringField } from '../fields/string-field.js'
import { type ExternalIds, externalKey } from '../ids/external-ids.js'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { columnProblem, isJsonAttribute, isLostOnUpdate } from '../models/build-model.js'
import { describeModel, oncePerCatalogue } from '../models/describe-model.js'
import { type ModelDescription, type RelationDescription, relationOfKey } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { columnName, modelName } from '../models/objection.js'
import { areOfOneTable } from '../models/one-table.js'
import { checkKept } from './check-model-schema.js'
import { checkColumnNames, checkExtras, checkNested } from './check-nested.js'
import { checkDeclaredFields } from './check-serializer.js'
import { checkSource } from './check-source.js'
import { type BoundField, type RelationGraph, SEEN, type SerializerClass, type SerializerPlan } from './contract.js'
import { countedRelation } from './count-field.js'
import { checkHooks, hookOf, methodOf } from './hooks.js'
import { keepListsApart, nestedListOf } from './nested-lists.js'
import { NestedSerializer } from './nested-serializer.js'
import { isKeyComputed } from './own-columns.js'
import { referencesOf } from './references.js'
import { graphOf, mayLeadNowhere, merge, relatedKey } from './relation-graph.js'
import { rivalsOf, withRivals } from './rivals.js'
import { SerializerMethodField } from './serializer-method-field.js'
import { showingFieldOf } from './showing-field.js'
import { shownFieldOf, shownKeyOf } from './shown-by.js'
import { isCheckedByDatabase } from './validate-related.js'

/** Classes whose plan is being made: one of them again is a circle. */
const compiling = new Set<SerializerClass>()

/** The plan of a serializer class: compiled at the first call, and again after a catalogue was read. */
export const serializerPlan = oncePerCatalogue((serializer: SerializerClass): SerializerPlan => {
  if (compiling.has(serializer)) {
    throw new ConfigurationError(
      `${serializer.name}: declaredFields nest the serializer in itself without end; nest another class at the last level`,
    )
  }
  compiling.add(serializer)
  try {
    return compile(serializer)
  } finally {
    compiling.delete(serializer)
  }
})

function compile(serializer: SerializerClass): SerializerPlan {
  checkDeclaredFields(serializer)
  const { fields, model, writesRows, relations = {} } = serializer.describeFields()
  checkHooks(serializer, [...fields.keys()])
  const readOnlyNames = new Set(serializer.readOnlyFieldNames())
  const seen = serializer[SEEN]
  const place = ([name, field]: readonly [string, SerializerField]) => {
    const bound = bind(serializer, name, seen?.field(field) ?? field, model, readOnlyNames.has(name))
    return seen?.bound(bound, model) ?? bound
  }
  const declared = [...fields].map(place)
  const showing = declared.flatMap(({ name, field }) => {
    const shown = shownFieldOf(field)
    return shown ? [place([name, shown])] : []
  })
  const placed = keepListsApart([...declared, ...showing])
  const shows = new Map(placed.slice(declared.length).map((field) => [field.name, field]))
  // what nobody writes is shown, and no more
  const bound = withRivals(placed.slice(0, declared.length)).map((one) =>
    one.writable || one.access?.isKept ? one : (shows.get(one.name) ?? one),
  )
  const readable = bound.filter((one) => one.readable).map((one) => shows.get(one.name) ?? one)
  const writable = bound.filter((field) => field.writable)
  for (const one of bound) {
    checkReadable(serializer, one)
    if (one.field instanceof NestedSerializer && one.relation && one.source.length === 1)
      checkColumnNames(
        `${serializer.name}: field "${one.name}"`,
        serializerPlan(one.field.serializerClass),
        one.relation.model,
      )
  }
  for (const field of readable) checkRelated(serializer, field)
  if (model) for (const field of writable) checkWritable(serializer, field, model, writesRows === true)
  if (model && writable.length > 0) checkJsonAttributes(serializer, model)
  return {
    fields: bound,
    readable,
    writable,
    byName: new Map(bound.map((field) => [field.name, field])),
    fieldNames: bound.map((field) => field.name),
    readOnlyFields: new Set(bound.filter((f) => f.readable && !f.writable).map((f) => f.name)),
    writableFields: new Set(writable.map((field) => field.name)),
    columnMap: columnMapOf(readable),
    needsUser: readable.some(needsUser),
    hasHooks: writable.some(({ field, hook }) => hook !== undefined || field.options.validators !== undefined),
    validators: serializer.validators,
    isIdentity: bound.length > 0 && shows.size === 0 && bound.every(isIdentity),
    trusted: new Set(writable.filter((field) => isCheckedByDatabase(model, field))),
    references: referencesOf(model, writable),
    guarded: bound.filter(({ access, field, writable: isWritable }) => {
      if (!access || !isWritable) return access?.isKept
      return (
        [access.write, access.read].includes('some') || (access.read === 'none' && field instanceof NestedSerializer)
      )
    }),
    nesting: writable.filter(isNesting),
    rivals: rivalsOf(writable),
    relations: merge(graphOf([...new Set([...bound, ...readable])].filter(isLoaded), relationsOf), relations),
    model,
  }
}

function relationsOf(serializer: SerializerClass): RelationGraph {
  return serializerPlan(serializer).relations
}

function isLoaded({ field, readable }: BoundField): boolean {
  return readable || field instanceof NestedSerializer
}

function isNesting({ field }: BoundField): boolean {
  return field instanceof NestedSerializer || (field instanceof RelatedField && field.many)
}

/** A foreign key shown flat and nested is named by the flat field. */
function columnMapOf(readable: readonly BoundField[]): Map<string, string> {
  const isNested = ({ field }: BoundField) => field instanceof NestedSerializer
  const shown = [...readable.filter(isNested), ...readable.filter((field) => !isNested(field))]
  return new Map(shown.flatMap((field) => (field.column ? [[field.column.column, field.name]] : [])))
}

/** A column must have a name that what stands between us and the database can carry. @throws {ConfigurationError} */
function checkReadable(serializer: SerializerClass, { name, column }: BoundField): void {
  const problem = column && columnProblem(column)
  if (problem === undefined) return
  throw new ConfigurationError(
    `${serializer.name}: field "${name}" ${problem}; rename the column, or leave the field out`,
  )
}

/** What is shown of related objects must be theirs. @throws {ConfigurationError} */
function checkRelated(serializer: SerializerClass, { name, field, relation }: BoundField): void {
  if (!relation?.through) return
  const where = `${serializer.name}: field "${name}"`
  if (field instanceof RelatedField) checkExtras(where, relation, [field.shownProperty(relation.model)])
  if (!(field instanceof NestedSerializer)) return
  const shown = serializerPlan(field.serializerClass).readable.map(({ source: [first] }) => first as string)
  checkExtras(where, relation, shown)
}

/** Checks a class that writes in its own way elsewhere, as where `create()` is overridden and `update()` is not. @throws {ConfigurationError} */
export function checkWrittenFields(serializer: SerializerClass, isNested = false): void {
  const { model, writable } = serializerPlan(serializer)
  if (!model) return
  for (const field of writable) checkWritable(serializer, field, model, true)
  checkKept(serializer, model, writable, isNested)
}

/** Types of which no text in quotation marks is a value: PostgreSQL takes them of dates and times. */
const UNQUOTED = new Set(['uuid', 'interval'])

/** Objection has written strings of `jsonAttributes` as JSON from 3.1 on, hooks' and keys' among them. */
function checkJsonAttributes(serializer: SerializerClass, { model, columns }: ModelDescription): void {
  const quoted = [...columns.values()].find((column) => UNQUOTED.has(column.type) && isJsonAttribute(model, column))
  if (!quoted) return
  const said = Array.isArray(model.jsonAttributes) ? 'jsonAttributes of' : 'an object or a list in the jsonSchema of'
  throw new ConfigurationError(
    `${serializer.name}: ${said} ${modelName(model)} names "${quoted.property}", a column of type ${quoted.sqlType ?? quoted.type}, ` +
      'which Objection writes as JSON text from 3.1 on, in quotation marks; name its json columns only',
  )
}

/** What a client may write must have somewhere to go, unless the class writes in its own way. */
function checkWritable(
  serializer: SerializerClass,
  { name, field, column, relation, source }: BoundField,
  model: ModelDescription,
  writesRows: boolean,
): void {
  const fail = (problem: string) => {
    throw new ConfigurationError(`${serializer.name}: field "${name}" ${problem}`)
  }
  if (field instanceof RelatedField && field.options.queryset === undefined) {
    fail('is a related field that a client may write; set option queryset, or readOnly: true')
  }
  if (column?.type === 'array' && isJsonAttribute(model.model, column)) {
    fail(
      `is the column "${column.column}" of type ${column.sqlType}, which Objection would write as JSON text because the ` +
        `jsonSchema of ${modelName(model.model)} says array; set static jsonAttributes of the model to its json columns only`,
    )
  }
  if (writesRows && column && /^\$|:/.test(column.property)) {
    fail(
      `is the column "${column.column}", and Objection does not write a property that begins with "$" or has a colon; ` +
        'rename the column, or set readOnly: true',
    )
  }
  if (writesRows && column?.property === 'constructor') {
    fail(
      'is the property "constructor", which instances of Objection cannot hold; give the column another property by ' +
        `columnNameMappers of ${modelName(model.model)}, or set readOnly: true`,
    )
  }
  if (writesRows && column && isLostOnUpdate(column.column) && !traitsOf(model.model).plainChanges) {
    fail(
      `is the column "${column.column}", which knex leaves out of updates, and ${modelName(model.model)} has hooks that ours would not run; ` +
        'rename the column, or set readOnly: true',
    )
  }
  if (writesRows && column && columnName(model.model, column.property) !== column.column) {
    fail(
      `is the column "${column.column}", which the columnNameMappers, or the $parseDatabaseJson() and $formatDatabaseJson(), of ` +
        `${modelName(model.model)} write to as "${columnName(model.model, column.property)}"; correct them ` +
        '(snakeCaseMappers has the option underscoreBeforeDigits), rename the column, or set readOnly: true',
    )
  }
  if (writesRows && field instanceof FileUploadField && !field.storage) {
    fail('keeps files and has nowhere to; set option storage, or override create() and update()')
  }
  if (!model.prepared || !writesRows || field instanceof HiddenField) return
  const override = 'set readOnly: true, or override create() and update()'
  if (field instanceof NestedSerializer) {
    if (!relation)
      fail(
        `is nested, and ${modelName(model.model)} has no relation of that name${didYouMean(source[0] as string, model.relations.keys())}; ${override}`,
      )
    if (relation && isKeyComputed(relation))
      fail(
        `is nested, and what leads from ${modelName(relation.model)} to ${modelName(model.model)} is computed by the database ` +
          `("${relation.relatedProperties.join('", "')}"); ${override}`,
      )
  } else if (field instanceof RelatedField && field.many) {
    if (relation?.kind !== 'many-to-many') fail(`is a list of keys without a many-to-many relation; ${override}`)
    if (relation && field.compositeOf(relation.model)) fail(`is a list of keys of several columns; ${override}`)
  } else if (relation?.kind === 'has-one' && !column) {
    fail(
      `names a HasOneRelation of ${modelName(model.model)}, whose key the related row holds; ` +
        `where it is a column of "${model.model.tableName}", make it a BelongsToOneRelation; else ${override}`,
    )
  } else if (!column) {
    fail(
      `is no column of ${modelName(model.model)}, so it cannot be written${didYouMean(source[0] as string, model.columns.keys())}; ${override}`,
    )
  }
}

function bind(
  serializer: SerializerClass,
  name: string,
  field: SerializerField,
  model: ModelDescription | undefined,
  readOnly: boolean,
): BoundField {
  const source = (field.options.source ?? name).split('.')
  const [first] = source as [string, ...string[]]
  const isMethod = field instanceof SerializerMethodField
  const isHidden = field instanceof HiddenField
  const counted = countedRelation(`${serializer.name}: field "${name}"`, field, model)
  let column = source.length === 1 && !counted ? model?.columns.get(first) : undefined
  let relation = counted ? undefined : model?.relations.get(first)
  if (!relation && column && model && (field instanceof RelatedField || field instanceof NestedSerializer)) {
    const target =
      field instanceof RelatedField ? field.relatedModel() : field.serializerClass.describeFields().model?.model
    relation = relationOfKey(model, first, (one) => areOfOneTable(target, one.model))
  }
  if (relation?.kind === 'belongs-to-one' && source.length === 1 && relation.ownerProperties.length === 1) {
    column = model?.columns.get(relation.ownerProperties[0] as string)
  }
  const isInput = isHidden || field.writeOnly
  if (model?.prepared && !isMethod && !isInput && !counted) checkSource(serializer, name, source, model)
  if (field instanceof RelatedField) checkKey(field, relation)
  if (field instanceof NestedSerializer && relation && source.length === 1) {
    checkNested(`${serializer.name}: field "${name}"`, field, relation)
  }
  const ids = idsOf(serializer, name, field, relation)
  if (model && !isInput && !ids) checkHidden(serializer, name, field, model)
  const fixed = readOnly || isMethod || source.length > 1 || (model !== undefined && column?.auto === true)
  const writable = !(field.readOnly || fixed)
  const exact =
    writable && inputOf(field) === 'value' && model && column && !isJsonAttribute(model.model, column)
      ? column
      : undefined
  const writer = isMethod || isInput || counted ? field : showingFieldOf(field, model, source)
  return {
    name,
    field,
    input: inputOf(field),
    source,
    readable: !(field.writeOnly || isHidden),
    writable,
    required: writable && !isHidden && field.required,
    rivals: [],
    allowNull: field.allowNull,
    column,
    relation,
    counted,
    list: nestedListOf({ serializer, name, field, relation, owner: model, readOnly: !writable }),
    ids,
    key:
      field instanceof RelatedField && relation && describeModel(relation.model).prepared
        ? relatedKey(field, relation)
        : undefined,
    shownKey:
      writable && shownFieldOf(field)
        ? shownKeyOf(`${serializer.name}: field "${name}"`, field, { relation, planOf: serializerPlan })
        : undefined,
    mayLeadNowhere: relation !== undefined && mayLeadNowhere(field, relation, model),
    writer,
    passesThrough: writer.toRepresentation === SerializerField.prototype.toRepresentation,
    exactForm: exact ? exactForm(exact) : undefined,
    method: isMethod ? methodOf(serializer, name, field) : undefined,
    hook: hookOf(serializer, name),
  }
}

function inputOf(field: SerializerField): BoundField['input'] {
  if (field instanceof NestedSerializer) return 'objects'
  if (field instanceof RelatedField) return 'keys'
  return field instanceof HiddenField ? 'nothing' : 'value'
}

/** The property that a related field shows must exist. @throws {ConfigurationError} from the field */
function checkKey(field: RelatedField, relation: RelationDescription | undefined): void {
  const model = field.relatedModel() ?? relation?.model
  if (model && describeModel(model).prepared) field.keyFieldOf(model)
}

/** The external ids a field stands for. @throws {ConfigurationError} it cannot show them */
function idsOf(
  serializer: SerializerClass,
  name: string,
  field: SerializerField,
  relation: RelationDescription | undefined,
): ExternalIds | undefined {
  if (field instanceof ExternalIdField) return field.ids
  if (!(field instanceof RelatedField)) return undefined
  const chosen = field.relatedModel()
  const model = relation?.model ?? chosen
  const ids = model && field.idsOf(model)
  const fail = (problem: string) => {
    throw new ConfigurationError(`${serializer.name}: field "${name}" ${problem}`)
  }
  if (chosen && model && Boolean(ids) !== Boolean(field.idsOf(chosen))) {
    fail(
      `shows objects of ${modelName(model)} and takes those of ${modelName(chosen)}, of which one has external ids; use one model`,
    )
  }
  if (ids?.stored && !relation) {
    fail(`shows the ids stored with ${modelName(ids.model)}, to which no relation leads; add it to relationMappings`)
  }
  return ids
}

/** A key that clients know by its external id is not shown as it is (promise E14). */
function checkHidden(serializer: SerializerClass, name: string, field: SerializerField, model: ModelDescription): void {
  const key = PLAIN.has(field.constructor) ? externalKey(model, (field.options.source ?? name).split('.')) : undefined
  if (!key?.ids.hidesKeys) return
  throw new ConfigurationError(
    `${serializer.name}: field "${name}" would show a primary key that ${modelName(key.ids.model)} hides behind external ids; ` +
      'name it in static fields, or in extraKwargs with a source, instead of declaring it',
  )
}

/** True for a field whose value an anonymous caller cannot be shown. */
function needsUser({ field, ids }: BoundField): boolean {
  return field instanceof NestedSerializer ? serializerPlan(field.serializerClass).needsUser : ids?.perUser === true
}

/** Fields that show a column's value as it is. */
const PLAIN: ReadonlySet<unknown> = new Set([
  BigIntegerField,
  BooleanField,
  FloatField,
  IntegerField,
  JSONField,
  PrimaryKeyRelatedField,
  ReadOnlyField,
  SerializerField,
  StringField,
])

function isIdentity({ name, field, source, column, readable, ids }: BoundField): boolean {
  return readable && !ids && source.length === 1 && column?.property === name && PLAIN.has(field.constructor)
}

/** The fields that show a column of the model itself. */
export function showsOf(serializer: SerializerClass, property: string): readonly BoundField[] {
  return serializerPlan(serializer).readable.filter(({ source }) => source.join('.') === property)
}
