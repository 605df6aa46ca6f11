/** Rules of a model: who may read and write which of its rows, and which of their fields. */

import type { Context } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { isModelClass, type ModelClass } from '../models/objection.js'
import type { Mask } from '../queryset/visible-fields.js'
import type { Condition } from './conditions.js'

/** Who asks. */
export interface RuleCaller {
  /** The authenticated user, `ctx.state.user`; undefined for an anonymous caller. */
  readonly user: Context['state'][string]
  /** The request. */
  readonly ctx: Context
}

/** A condition, or a function of the caller that makes it: it is asked once for each request. */
export type RuleCondition = Condition | ((caller: RuleCaller) => Condition)

/** Which rows of a model callers may read and write. What is left out is as `read` says, and all rows where that is left out. */
export interface RuleOptions {
  /** The rows that are shown, counted, found, and chosen. */
  readonly read?: RuleCondition
  /** What holds of a row that was created, by whatever way. */
  readonly create?: RuleCondition
  /** What holds of a row before it is changed, and afterwards. */
  readonly update?: RuleCondition
  /** The rows that may be deleted. */
  readonly delete?: RuleCondition
  /** Who may read and write which fields: columns and relations, by their properties. */
  readonly fields?: Readonly<Record<string, FieldRule>>
}

/** Who may read and write a field of a model: all callers, none, those of whom a function says so, or all for some of the rows. */
export interface FieldRule {
  /** Of which rows the value is shown. @default true */
  readonly read?: RuleCondition
  /** Of which rows a client may set it: as they were before a change, and as they are created. @default as `read` says */
  readonly write?: RuleCondition
  /**
   * What is shown of a value that may not be read: a function of the value, as it would be shown, or a value. Functions are
   * not asked about null. @default the field is left out
   */
  readonly mask?: Mask | string | number | boolean | null
}

/** What a rule decides on. */
export type RuleAction = Exclude<keyof RuleOptions, 'fields'>

/** The rules of one model, as `rule()` makes them. */
export class ModelRule {
  /** The model whose rows they are about. */
  readonly model: ModelClass
  /** What they say. */
  readonly options: RuleOptions

  /** @throws {ConfigurationError} it is of no model, or an option is of another kind */
  constructor(model: ModelClass, options: RuleOptions) {
    if (!isModelClass(model)) throw new ConfigurationError('rule(): the first argument is no Objection model')
    checkKinds(`rule(${model.name})`, options, {
      kinds: { read: 'condition', create: 'condition', update: 'condition', delete: 'condition', fields: 'record' },
    })
    for (const [name, one] of Object.entries(options.fields ?? {})) {
      const where = `rule(${model.name}): fields.${name}`
      checkKinds(where, one, { kinds: { read: 'condition', write: 'condition', mask: 'any' } })
      if (one.mask !== undefined && (one.read ?? true) === true) {
        throw new ConfigurationError(`${where} has a mask, and all callers may read the value; say by read who may`)
      }
    }
    this.model = model
    this.options = options
  }

  /** @internal What decides on an action; undefined for any row. */
  conditionOf(action: RuleAction): RuleCondition | undefined {
    return this.options[action] ?? this.options.read
  }
}

/**
 * Says which rows of a model callers may read and write, and which of their fields, whatever path leads to them.
 * @throws {ConfigurationError} it is of no model, or an option is of another kind
 * @example
 * rule(Book, {
 *   read: ({ user }) => ({ or: [{ published: true }, { owner_id: user?.id }] }),
 *   update: ({ user }) => ({ owner_id: user?.id }),
 *   fields: { price: { write: ({ user }) => user?.role === 'editor' } },
 * })
 * @see docs/reference/rules.md
 */
export function rule(model: ModelClass, options: RuleOptions): ModelRule {
  return new ModelRule(model, options)
}
