/** The types that serializer modules share: a serializer, its class, and the plan compiled from it. */
import type { CompositeKey } from '../fields/composite-key.js'
import type { SerializerContext, SerializerField, Validator } from '../fields/field.js'
import type { ExactForm } from '../fields/stored-exactly.js'
import type { ExternalIds } from '../ids/external-ids.js'
import type { Column, ForeignKeyReference, ModelDescription, RelationDescription } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import type { COUNT, RELATED_LIST, RelatedList } from '../queryset/related-lists.js'
import type { FieldAccess } from '../queryset/visible-fields.js'

/** Fields by name, as a serializer declares them. Annotate with this type to leave subclasses free. */
export type DeclaredFields = Readonly<Record<string, SerializerField>>

/** Options of a serializer: what it validates or shows, and for whom. */
export interface SerializerOptions<T extends object = object> {
  /** Data to validate, as the client sent it. */
  readonly inputData?: unknown
  /** The object to show or to update; with `many` a list of objects. */
  readonly obj?: T | readonly T[] | null | undefined
  /** Work on a list. @default false */
  readonly many?: boolean
  /** Missing fields are left as they are (PATCH). @default false */
  readonly partial?: boolean
  /** The input's values are strings, as in forms. @default false */
  readonly textual?: boolean
  /** The request, the caller and the transaction, for fields and hooks. */
  readonly context?: SerializerContext
  /**
   * Values that the input cannot set, by property of the model, such as the foreign key that a nested route decides. They
   * are part of the validated data of new objects; those of stored ones stay.
   */
  readonly forced?: ForcedValues | undefined
}

/** Values by property of the model. */
export interface ForcedValues extends ReadonlyMap<string, unknown> {
  /** The model of the object that they lead to. */
  readonly parent?: ModelClass
}

/** An object to write. */
export interface WriteEntry {
  /** The object's validated data. */
  readonly data: Record<string, unknown>
  /** The stored object that it changes; undefined for a new one. */
  readonly instance: object | undefined
  /** Where it stands in the input: names of fields and positions in lists. */
  readonly path: readonly (string | number)[]
}

/** A serializer of any object. */
export interface AnySerializer {
  readonly context: SerializerContext
  readonly plan: SerializerPlan
  readonly partial: boolean
  readonly textual: boolean
  /** Values that the input cannot set. */
  readonly forced: ForcedValues | undefined
  /** No code of the application looks at what is written, or runs between what is checked and what is written. */
  readonly leavesRelated?: boolean
  /** Validates the input. @throws ValidationError with `raiseException` */
  isValid(options?: { readonly raiseException?: boolean }): Promise<boolean>
  /** What was validated. */
  readonly validatedData: unknown
  /** Objects are shown field by field: the class has no `toRepresentation()` of its own. */
  readonly showsByPlan: boolean
  // biome-ignore lint/suspicious/noExplicitAny: the object is the subclass's own type
  validate(data: Record<string, unknown>, stored?: any): unknown
  // biome-ignore lint/suspicious/noExplicitAny: the object is the subclass's own type
  toRepresentation(object: any): unknown
  create(data: Record<string, unknown>): Promise<object> | object
  // biome-ignore lint/suspicious/noExplicitAny: the object is the subclass's own type
  update(instance: any, data: Record<string, unknown>): Promise<object> | object
  /** Writes objects together, each where it stands; missing where they are written one by one. */
  writeAll?(entries: readonly WriteEntry[]): Promise<readonly object[]>
  /** The serializer of a nested field: same request, same transaction. */
  child(field: BoundField, serializerClass: SerializerClass): AnySerializer
}

/** The declarations of a serializer class that its plan is compiled from. */
export interface FieldsDescription {
  /** The fields in their order. */
  readonly fields: ReadonlyMap<string, SerializerField>
  /** The model they are of. */
  readonly model: ModelDescription | undefined
  /** True when what was validated goes into the model's table as it is, with no hook of the class in between. */
  readonly writesRows?: boolean
  /** Relations to load besides those that the fields show. */
  readonly relations?: RelationGraph
}

/** Marks a class that shows and takes what a caller may read and write, with how it does so. */
export const SEEN = Symbol('how a caller sees fields')

/** Marks a class of what is recorded of objects: who does not see all that a relation leads to is told nothing of its keys. */
export const RECORDED = Symbol('what is recorded of objects')

/** Fields as a caller sees them. */
export interface SeenFields {
  /** The field, with what the caller sees of the objects in it. */
  field(field: SerializerField): SerializerField
  bound(bound: BoundField, model: ModelDescription | undefined): BoundField
}

/** A serializer class. */
export interface SerializerClass {
  readonly [SEEN]?: SeenFields
  readonly [RECORDED]?: true
  // biome-ignore lint/suspicious/noExplicitAny: a serializer of any object type
  new (options?: SerializerOptions<any>): AnySerializer
  /** The name of the class. */
  readonly name: string
  /** Its instances. */
  readonly prototype: object
  /** The class compiled. */
  readonly plan: SerializerPlan
  /** Fields by name. */
  readonly declaredFields: DeclaredFields
  /** What the OpenAPI document calls it; null for the name of the class. */
  readonly schemaName: string | null
  /** What checks several fields at once. */
  readonly validators: readonly Validator[]
  /** What it says of its fields before its plan is compiled. */
  describeFields(): FieldsDescription
  /** The names of fields that input cannot set, besides those that say so themselves. */
  readOnlyFieldNames(): readonly string[]
  /** Checks what needs no database. @throws {ConfigurationError} */
  checkFields(): void
}

/** What rules let a caller do with a field. */
export interface BoundAccess extends FieldAccess {
  /** The properties of the object that say so. */
  readonly properties: readonly string[]
  /** A client could set it, but for the rules: it must stay as it is. */
  readonly isKept: boolean
}

/** A field in its place: name, source, and how it takes part in reading and writing. */
export interface BoundField {
  readonly name: string
  readonly field: SerializerField
  /** What a client gives for it; nothing for a HiddenField. */
  readonly input: 'value' | 'keys' | 'objects' | 'nothing'
  /** The path of attributes to the value. */
  readonly source: readonly string[]
  readonly readable: boolean
  readonly writable: boolean
  readonly required: boolean
  /**
   * Fields that write the same relation in another way, keys beside objects: an input gives one of them, whichever of them
   * is required.
   */
  readonly rivals: readonly string[]
  readonly allowNull: boolean
  /** The model's column that is read or written, when the path is one step. */
  readonly column: Column | undefined
  /** The relation of the path's first step. */
  readonly relation: RelationDescription | undefined
  /** The relation leads to no object for some of those that have the field. */
  readonly mayLeadNowhere: boolean
  /** The relation whose objects the field counts. */
  readonly counted: RelationDescription | undefined
  /** How the list is ordered and narrowed that the field shows; undefined for one that is shown as the relation has it. */
  readonly list: RelatedList | undefined
  /** The external ids that the field shows and takes in place of a key. */
  readonly ids: ExternalIds | undefined
  /** How a related object is named; undefined where no relation is known, and before the catalogue was read. */
  readonly key: RelatedKey | undefined
  /** The member of a shown object by which it counts as its key; undefined where keys are shown. */
  readonly shownKey: string | undefined
  /** What rules let the caller do with it; undefined where they say nothing of it. */
  readonly access?: BoundAccess
  /** The field that writes the values: the column's own, where the field says nothing of them. */
  readonly writer: SerializerField
  /** True when it writes values as they are. */
  readonly passesThrough: boolean
  /** Makes of a value what the column stores as that. @throws ValidationError it would store another one */
  readonly exactForm: ExactForm | undefined
  /** The serializer's method that computes the value (SerializerMethodField). */
  readonly method: string | undefined
  /** The serializer's method that validates the value: `validateTitle` for `title`. */
  readonly hook: string | undefined
}

/** A foreign key with the fields that write its columns. */
export interface WrittenReference extends ForeignKeyReference {
  /** Its columns, in order, each with the fields that write it. */
  readonly parts: readonly { readonly column: Column; readonly fields: readonly BoundField[] }[]
  /** The fields that find the object themselves, where its key is one column. */
  readonly found: readonly BoundField[]
}

/** How a related field names an object. */
export interface RelatedKey {
  /** The property of the related object that is shown; undefined where the foreign key itself is. */
  readonly property: string | undefined
  /** What writes its key, where that is several properties. */
  readonly composite: CompositeKey | undefined
  /** Writes the value. */
  readonly field: SerializerField
}

/** Two fields that write one column or one relation. */
export interface Rivals {
  readonly one: BoundField
  /** The one that takes objects, where one of them takes keys. */
  readonly other: BoundField
}

/** Relations to load with an object, by name; parts of lists by names of their own. */
export interface RelationGraph {
  [relation: string]: RelationGraph
  [RELATED_LIST]?: RelatedList
  [COUNT]?: string
}

/** What is known of a serializer class before any request. */
export interface SerializerPlan {
  /** All fields, in their order. */
  readonly fields: readonly BoundField[]
  /** Those that answers show. */
  readonly readable: readonly BoundField[]
  /** Those that input sets. */
  readonly writable: readonly BoundField[]
  /** All fields, by name. */
  readonly byName: ReadonlyMap<string, BoundField>
  /** All field names, in order. */
  readonly fieldNames: readonly string[]
  /** The names of fields that input cannot set. */
  readonly readOnlyFields: ReadonlySet<string>
  /** The names of fields that input sets. */
  readonly writableFields: ReadonlySet<string>
  /** From a database column to the field that shows it. */
  readonly columnMap: ReadonlyMap<string, string>
  /** True when every field is one plain column under its own name: nothing computed, typed or nested. */
  readonly isIdentity: boolean
  /** The output has ids that differ from user to user, so that an anonymous caller has none of it. */
  readonly needsUser: boolean
  /** True when checks of the application's run behind those of the fields' own. */
  readonly hasHooks: boolean
  /** Checks of an object as a whole. */
  readonly validators: readonly Validator[]
  /** Fields whose keys need no look-up: the database checks them when the row is written. */
  readonly trusted: ReadonlySet<BoundField>
  /** Foreign keys that a client sets, which the database checks without asking who may see the row. */
  readonly references: readonly WrittenReference[]
  /** Fields that the caller may not set, or that rows decide on. */
  readonly guarded: readonly BoundField[]
  /** Fields whose input holds other objects, or lists of their keys. */
  readonly nesting: readonly BoundField[]
  /** Fields that may not contradict each other. */
  readonly rivals: readonly Rivals[]
  /** What must be loaded for the output and for nested writes. */
  readonly relations: RelationGraph
  /** The model that they are of. */
  readonly model: ModelDescription | undefined
}
