/** Conditions of rules, as data: what holds of a row. */

/**
 * What holds of a row, in the language of filters: names of columns, with lookups, and their values, all of which must hold;
 * `and`, `or`, `not`; `any(relation)` and `none(relation)`. `true` holds of all rows, `false` of none. A value that is
 * `undefined` is unknown: what asks for it holds of no row, also under `not` and `ne`.
 * @example { or: [{ published: true }, { owner_id: user?.id }], 'none(reports)': { kind: 'spam' } }
 * @see docs/reference/rules.md
 */
export type Condition = boolean | ConditionTree | RawCondition | typeof readable

/** Conditions by name. */
export interface ConditionTree {
  readonly [name: string]: unknown
}

/** The rows of a related model that the caller may read, by that model's own rule: `any('book', readable)`. */
export const readable: unique symbol = Symbol('readable')

/** SQL that holds of a row. */
export class RawCondition {
  readonly strings: readonly string[]
  readonly values: readonly unknown[]

  constructor(strings: readonly string[], values: readonly unknown[]) {
    this.strings = strings
    this.values = values
  }
}

/**
 * There is a related object of which the condition holds.
 * @example any('book', readable)
 */
export function any(relation: string, condition: Condition = true): ConditionTree {
  return { [`any(${relation})`]: condition }
}

/** There is no related object of which the condition holds. */
export function none(relation: string, condition: Condition = true): ConditionTree {
  return { [`none(${relation})`]: condition }
}

/**
 * A condition in SQL, for what conditions as data cannot say. Columns of the row stand there by their names, values are bound.
 * @example sql`owner_id = ${user?.id} or shared_with @> array[${user?.id}::int]`
 */
export function sql(strings: TemplateStringsArray, ...values: readonly unknown[]): RawCondition {
  return new RawCondition(strings, values)
}
