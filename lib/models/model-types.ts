/** What TypeScript knows of a model by its declared properties: columns, relations, and paths over them. */

import type { Model } from 'objection'
import type { IntervalParts } from './interval-text.js'

declare const GENERATED: unique symbol

/** The mark that `Generated` puts on a type. */
export interface GeneratedMark {
  readonly [GENERATED]?: true
}

/**
 * A property that the database fills in where a client gives none: a column with a default. Its values are plain ones.
 * @example class Book extends Model { declare created_at: Generated<Date> }
 */
export type Generated<T> = T extends null | undefined ? T : T & GeneratedMark

/** What pg makes of an interval: the parts that are not zero. JSON shows it as ISO 8601, `P1DT2H`. */
export interface Interval extends IntervalParts {
  /** As ISO 8601 writes it, such as `P1DT2H`. */
  toISOString(): string
}

/** True for a property of a `Generated` type. */
export type IsGenerated<T> = typeof GENERATED extends keyof NonNullable<T> ? true : false

/** A type without the mark of `Generated`. */
export type Unmarked<T> = T extends infer Value & GeneratedMark ? Value : T

/** A model class, as far as its instances have types. */
export interface ModelType<M extends Model = Model> {
  new (): M
  /** The table. */
  readonly tableName: string
  /** Begins a query. */
  // biome-ignore lint/suspicious/noExplicitAny: queries of any model
  query(...args: any[]): any
}

/** The models that a property holds; never for one that is no relation. */
export type Related<T> =
  NonNullable<T> extends readonly (infer Item)[]
    ? Item extends Model
      ? Item
      : never
    : NonNullable<T> extends Model
      ? NonNullable<T>
      : never

// biome-ignore lint/suspicious/noExplicitAny: any function
type Method = (...args: any[]) => unknown

/** The properties that a model class declares itself, its methods left out; never for one that declares none. */
export type Declared<M> = {
  [K in Exclude<keyof M, keyof Model>]: NonNullable<M[K]> extends Method ? never : K
}[Exclude<keyof M, keyof Model>] &
  string

/** True for a model that declares no properties: then every name is a string. */
export type IsUntyped<M> = [Declared<M>] extends [never] ? true : false

/*
 * Names stand here as members of an object type, taken out of it where they are used: a type without a name of its own is
 * written out in the compiler's messages, so that they name what may stand there.
 */

type ColumnKeys<M> = { [K in Declared<M>]: [Related<M[K & keyof M]>] extends [never] ? K : never }

type Columns<M> = ColumnKeys<M>[Declared<M>]

type Relations<M> = { [K in Declared<M>]: [Related<M[K & keyof M]>] extends [never] ? never : K }[Declared<M>]

/** The names of a model's columns. */
export type ColumnName<M> = IsUntyped<M> extends true ? string : ColumnKeys<M>[Declared<M>]

/** The names of a model's columns and relations, by themselves. */
export type PropertyKeys<M> = { [K in Declared<M>]: K }

/** The names of a model's columns and relations. */
export type PropertyName<M> = IsUntyped<M> extends true ? string : PropertyKeys<M>[Declared<M>]

type OrderKeys<M> = {
  [K in Declared<M>]: [Related<M[K & keyof M]>] extends [never]
    ? K
    : IsMany<M[K & keyof M]> extends true
      ? never
      : `${K}__${string}`
}

type IsMany<T> = NonNullable<T> extends readonly unknown[] ? true : false

/** What a list may be ordered by: a column, or how a path over relations to one object begins. */
export type OrderPath<M> = IsUntyped<M> extends true ? string : OrderKeys<M>[Declared<M>]

type TurnedKeys<M> = { [K in Declared<M>]: OrderKeys<M>[K] | `-${OrderKeys<M>[K]}` }

/** An order: a column or a path, or one with `-` before it. */
export type OrderName<M> = IsUntyped<M> extends true ? string : TurnedKeys<M>[Declared<M>]

/** How paths over columns of a model begin: `title`, `author__…`. What stands behind a relation is checked by `CheckedPath`. */
type ColumnPath<M> = IsUntyped<M> extends true ? string : PathKeys<M>[Declared<M>]

type PathKeys<M> = {
  [K in Declared<M>]: [Related<M[K & keyof M]>] extends [never] ? K : `${K}__${string}`
}

/** How paths over columns of a model begin, keys of its columns of JSON among them. */
export type FilterPath<M> = IsUntyped<M> extends true ? string : FilterKeys<M>[Declared<M>]

type FilterKeys<M> = {
  [K in Declared<M>]: PathKeys<M>[K] | (IsJSON<M[K & keyof M]> extends true ? `${K}__${string}` : never)
}

/** True of a property that may hold an object of JSON. */
type IsJSON<T> = unknown extends T
  ? true
  : [NonNullable<T>] extends [
        string | number | bigint | boolean | Date | Uint8Array | Interval | readonly unknown[] | Model,
      ]
    ? false
    : true

/** The periods whose first days are grouped by. */
type Period = 'year' | 'month' | 'day'

type GroupKeys<M> = {
  [K in Declared<M>]: PathKeys<M>[K] | ([Related<M[K & keyof M]>] extends [never] ? `${K}__${Period}` : never)
}

/** How names begin that objects are grouped by: columns, paths over relations, and periods of a column. */
export type GroupPath<M> = IsUntyped<M> extends true ? string : GroupKeys<M>[Declared<M>]

type SearchKeys<M> = { [K in Declared<M>]: PathKeys<M>[K] | `${'^' | '=' | '$'}${PathKeys<M>[K]}` }

/** What is searched: a column path, or one with a sign before it that says how. */
export type SearchName<M> = IsUntyped<M> extends true ? string : SearchKeys<M>[Declared<M>]

type RelationNames<M> = { [K in Relations<M>]: K }

/** The names of a model's relations. */
export type RelationName<M> = IsUntyped<M> extends true ? string : RelationNames<M>[Relations<M>]

/** How paths over relations of a model begin: `author`, `author.…`. */
export type RelationPath<M> = IsUntyped<M> extends true ? string : RelationKeys<M>[Relations<M>]

type RelationKeys<M> = { [K in Relations<M>]: K | `${K}.${string}` }

/** The relations that a path has led over: 16 at most, as at run time. */
type Passed = 0[]
type TooFar = 'a path leads over 16 relations at most'

/**
 * A path of names joined by `__` that leads to a column: itself; for another one, the paths that there are up to its first
 * wrong name. One path at a time: all paths of models around one that relates to many would be too many.
 */
export type CheckedPath<M, Path, Over extends Passed = []> =
  IsUntyped<M> extends true
    ? Path
    : Path extends Columns<M>
      ? Path
      : Path extends `${infer Name extends Relations<M>}__${infer Rest}`
        ? Over['length'] extends 16
          ? TooFar
          : `${Name}__${CheckedPath<Related<M[Name & keyof M]>, Rest, [...Over, 0]> & string}`
        : ColumnPath<M>

/** As `CheckedPath`, of an order: `-` may stand before it, and all of its relations lead to one object. */
export type CheckedOrder<M, Path> = Path extends `-${infer Rest}`
  ? `-${CheckedOrder<M, Rest> & string}`
  : IsUntyped<M> extends true
    ? Path
    : Path extends `${infer Name extends Relations<M>}__${string}`
      ? IsMany<M[Name & keyof M]> extends true
        ? OrderPath<M>
        : Path extends `${Name}__${infer Rest}`
          ? CheckedPath<M, Path> extends Path
            ? `${Name}__${CheckedOrder<Related<M[Name & keyof M]>, Rest> & string}`
            : CheckedPath<M, Path>
          : never
      : CheckedPath<M, Path>

/** As `CheckedPath`, of paths that may end at a key of JSON: `meta__colour`. */
export type CheckedFilter<M, Path> = Path extends unknown
  ? IsKeyPath<M, Path> extends true
    ? Path
    : CheckedPath<M, Path>
  : never

/** As `CheckedPath`, of paths that may end in a period: `created_at__month`. */
export type CheckedGroup<M, Path> = Path extends `${infer Column}__${infer Ends extends Period}`
  ? CheckedPath<M, Path> extends Path
    ? Path
    : `${CheckedPath<M, Column> & string}__${Ends}`
  : CheckedPath<M, Path>

type IsKeyPath<M, Path> = Path extends `${infer Name extends Declared<M>}__${infer Rest}`
  ? [Related<M[Name & keyof M]>] extends [never]
    ? IsJSON<M[Name & keyof M]>
    : IsKeyPath<Related<M[Name & keyof M]>, Rest>
  : false

/** True for a path of relations joined by dots, however far. */
export type IsRelationPath<M, Path> =
  IsUntyped<M> extends true
    ? true
    : Path extends Relations<M>
      ? true
      : Path extends `${infer Name extends Relations<M>}.${infer Rest}`
        ? IsRelationPath<Related<M[Name & keyof M]>, Rest>
        : false
