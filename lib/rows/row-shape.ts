/** Parts of a row plan: tables, columns, cells, and the objects that are written of them. */

import type { SerializerContext, SerializerField } from '../fields/field.js'
import type { ExternalIds } from '../ids/external-ids.js'
import type { Column, RelationDescription } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import type { RelatedList } from '../queryset/related-lists.js'
import type { OrderTerm } from '../queryset/total-order.js'

/** Conversion of a cell's raw text to JSON text. */
export type CellKind =
  | 'number'
  | 'bigint'
  | 'float'
  | 'boolean'
  | 'quoted'
  | 'text'
  | 'json'
  | 'datetime'
  | 'time'
  | 'id'
  | 'value'

/** A value that is selected: a column of the model's table or of a table joined to it. */
export interface RowCell {
  /** The cell's index in the row. */
  readonly index: number
  readonly kind: CellKind
  readonly column: Column
  /** The field, for cells of kind `value`: it gets what pg's standard parser makes of the text. */
  readonly field: SerializerField
  /** The ids to write in place of a key, for cells of kind `id`. */
  readonly ids: ExternalIds | undefined
}

/** A member of the JSON object. */
export type RowMember =
  | { readonly name: string; readonly cell: RowCell }
  | { readonly name: string; readonly nested: RowObject }
  | { readonly name: string; readonly list: ListCell }

/** A JSON object: the row itself, or an object joined to it. */
export interface RowObject {
  readonly members: readonly RowMember[]
  /** The cell that is null when there is no such object; undefined for the row itself. */
  readonly key: number | undefined
}

/** A table joined to the list by a foreign key. */
export interface RowJoin {
  /** The position of this table: 0 is the list itself. */
  readonly table: number
  readonly parent: number
  readonly relation: RelationDescription
}

/** What is made of the rows that a relation leads to: it is selected as JSON, behind the plan's columns. */
export interface ListCell {
  /** The cell's index in the row. */
  readonly index: number
  readonly content: InnerList | InnerCount
}

/** The rows that a relation leads to. */
export interface InnerRows {
  /** The model whose relation it is. */
  readonly owner: ModelClass
  readonly relation: RelationDescription
  /** The plan's columns with the key of the owner, in the order of the relation's `ownerProperties`. */
  readonly keys: readonly number[]
  /** The relations that lead from the plan's objects to the owner. */
  readonly path: readonly string[]
  /** As of a plan. */
  readonly varies: boolean
}

/** A list of related objects, or of single values of them. */
export interface InnerList extends InnerRows {
  readonly kind: 'list'
  /** Which part of the list in which order, where a field says so. */
  readonly shown: RelatedList | undefined
  /** The order of its rows; undefined where only the query knows it, once it is built. */
  readonly order: readonly OrderTerm[] | undefined
  readonly plan: RowPlan
  /** The only member of each object stands for the object. */
  readonly isFlat: boolean
}

/** The number of related objects. */
export interface InnerCount extends InnerRows {
  readonly kind: 'count'
}

/** A column of one of the tables. */
export interface RowColumn {
  readonly table: number
  readonly column: Column
}

export interface RowPlan {
  /** The model of the rows. */
  readonly model: ModelClass
  /** Some cells are written by code of the application's fields, which may fail. */
  readonly runsFields: boolean
  /** Why an INSERT cannot return it, as a sentence; undefined where it can. */
  readonly insertObstacle: string | undefined
  /** The same of an UPDATE. */
  readonly updateObstacle: string | undefined
  /** PostgreSQL can write all of it as JSON. */
  readonly isNative: boolean
  /** Its SQL is another for each request: code of the application's, or of the caller's rights, has a part in it. */
  readonly varies: boolean
  readonly columns: readonly RowColumn[]
  readonly joins: readonly RowJoin[]
  readonly lists: readonly ListCell[]
  readonly object: RowObject
}

/** Scope of cells of kind `value`. */
export interface CellScope {
  readonly context: SerializerContext
  /** Parses a text by pg's standard parser of its type. */
  parse(oid: number, text: string): unknown
}
