/** Fields and constraints of a statement that has failed, so that its error can be answered in the client's words. */

import { ALL_METHODS } from '../kernel/methods.js'

/** Before the name of a table, the name of the constraint that one of its partitions takes each row. */
export const PARTITION_OF = 'partition of '

/** Statement that failed, as its caller knows it: a constraint is reported under the client's field. */
export interface ConstraintSubject {
  /** Operation of the statement: `write` is an insert or update. */
  readonly operation: 'write' | 'delete' | 'read'
  /** Columns of a named constraint or unique index of a table, from the catalogue. */
  columnsOf(table: string, constraint: string): readonly string[] | undefined
  /** True for a constraint of columns that the database fills in, and no client. */
  readonly isMade?: ((table: string, constraint: string) => boolean) | undefined
  /** The client's field for a column of that table, if there is one. */
  fieldOf(table: string, column: string): string | undefined
  /** False for a field that only shows its column. @default true */
  readonly writes?: ((field: string) => boolean) | undefined
  /** The value the client sent for that field. */
  valueOf(field: string): unknown
  /** The client's field for a value of a domain, as `public.email`; undefined where none, or several, may be it. */
  fieldOfDomain?(domain: string): string | undefined
  /** The field by which a client sets a property of the model, if there is one; when missing, fields are named as properties. */
  fieldOfProperty?(property: string): string | undefined
  /**
   * The statement writes rows of a table: what cannot be computed is what the table makes of their values, as by a generated
   * column or an index of an expression. @default false
   */
  readonly isOfRows?: boolean
  /** True where messages of `RAISE EXCEPTION` in triggers are for the client. @default false */
  readonly exposesTriggers?: boolean
}

/** A subject that knows no names, only what a request of this method is about to do, and for which view. */
export function requestSubject(method: string, view?: unknown): ConstraintSubject {
  return {
    operation: OPERATIONS.get(method) ?? 'write',
    exposesTriggers: exposesTriggers(view),
    columnsOf: () => undefined,
    fieldOf: () => undefined,
    valueOf: () => undefined,
  }
}

/** True for a view that shows its clients what triggers say. */
export function exposesTriggers(view: unknown): boolean {
  const viewClass = (view as { constructor?: { exposeTriggerMessages?: unknown } } | null | undefined)?.constructor
  return viewClass?.exposeTriggerMessages === true
}

const OPERATIONS: ReadonlyMap<string, ConstraintSubject['operation']> = new Map(
  ALL_METHODS.map(({ name, does }) => [name, does]),
)
