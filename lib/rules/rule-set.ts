/** The rules of an API, and what they say of one request. */

import { PathStart } from '../filters/field-path.js'
import { type Context, originalRequest } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import { getOrInsert } from '../kernel/maps.js'
import { didYouMean } from '../kernel/near-miss.js'
import { oncePer, RecentMap } from '../kernel/once-per.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { settled } from '../kernel/settled.js'
import { bareJoins, describeModel, uniteDatabases } from '../models/describe-model.js'
import { isModelQuery, type ModelClass, modelName } from '../models/objection.js'
import { isOneTwiceNamed } from '../models/one-table.js'
import type { Extent, FieldAccess, Mask, VisibleFields } from '../queryset/visible-fields.js'
import type { FieldUse, RowCondition } from '../queryset/visible-rows.js'
import { type Certain, compileCondition } from './compile-condition.js'
import type { Condition } from './conditions.js'
import { type FieldRule, ModelRule, type RuleAction, type RuleCaller, type RuleCondition } from './rule.js'
import { namesIn, type RuledFields, TableFields } from './table-fields.js'

/** How often the same is not said once more: callers differ by their roles. */
const MOST_KINDS_OF_CALLERS = 200

/** @internal All that rules say of fields. */
class FieldRules {
  readonly #rules: readonly ModelRule[]
  readonly #known = new RecentMap<TableFields>(MOST_KINDS_OF_CALLERS)

  constructor(rules: Iterable<ModelRule>) {
    this.#rules = [...rules].filter(({ options }) => Object.keys(options.fields ?? {}).length > 0)
  }

  /** There are none. */
  get isEmpty(): boolean {
    return this.#rules.length === 0
  }

  /** What holds for whoever asks: what only some may do, or of some rows, is `some`. */
  get described(): VisibleFields | undefined {
    return this.access((condition) => (typeof condition === 'boolean' ? (condition ? 'all' : 'none') : 'some'))
  }

  /** What a caller may do who may do all that anybody may. */
  get most(): VisibleFields | undefined {
    return this.access((condition) => (condition === false ? 'none' : 'all'))
  }

  /**
   * What a caller may do with fields; undefined where that is all.
   * @param extentOf of which rows the condition of a field holds
   */
  access(extentOf: (condition: RuleCondition, field: NamedField, use: FieldUse) => Extent): VisibleFields | undefined {
    const tables: RuledFields[] = []
    let key = ''
    for (const { model, options } of this.#rules) {
      const own = new Map<string, FieldAccess>()
      for (const [name, one] of Object.entries(options.fields ?? {})) {
        const field = { model, name }
        const read = extentOf(one.read ?? true, field, 'read')
        const write = one.write === undefined ? read : extentOf(one.write, field, 'write')
        key += read.charAt(0) + write.charAt(0)
        if (read !== 'all' || write !== 'all') own.set(name, { read, write, mask: maskOf(one) })
      }
      if (own.size > 0) tables.push({ model, fields: own })
    }
    return tables.length === 0 ? undefined : getOrInsert(this.#known, key, () => new TableFields(tables))
  }
}

/** A field by its name. */
interface NamedField {
  readonly model: ModelClass
  readonly name: string
}

function maskOf({ mask }: FieldRule): Mask | undefined {
  if (mask === undefined) return undefined
  if (typeof mask !== 'function') return () => mask
  return (value) => (value === null ? null : settled(mask(value), `rules: a mask ${ASYNC}`))
}

const ASYNC = 'is async; read what it needs before, into ctx.state'

/** The rules of an API: a list, or an object that also says what holds of models without one. */
export type Rules = readonly ModelRule[] | RulesOptions

/** Rules, and what holds of models without one. */
export interface RulesOptions {
  /** The rules, one of each model. @default [] */
  readonly models?: readonly ModelRule[]
  /** `deny`: a model of the API without a rule is an error of `prepare()`. @default 'allow' */
  readonly default?: 'allow' | 'deny'
}

/** @internal The rules of an API, by the tables of their models. */
export class RuleSet {
  /** Models need a rule. */
  readonly denies: boolean
  readonly #rules: ReadonlyMap<string, ModelRule>
  /** What they say of fields. */
  readonly fields: FieldRules
  /** What they are for a request, as a property of it: a WeakMap would keep each until a full garbage collection. */
  readonly #asked = Symbol('the rules for the caller')

  /** @throws {ConfigurationError} one is no rule, or two are of one model */
  constructor(rules: Rules) {
    const { models = [], default: byDefault = 'allow' } = isList(rules) ? { models: rules } : rules
    if (!isList(rules)) checkKinds('rules', rules, { kinds: { models: 'list', default: 'any' } })
    if (byDefault !== 'allow' && byDefault !== 'deny') {
      throw new ConfigurationError("rules: default is neither 'allow' nor 'deny'")
    }
    const byTable = new Map<string, ModelRule>()
    for (const one of models) {
      if (!(one instanceof ModelRule))
        throw new ConfigurationError('rules: one of them is none; make it by rule(Model, { … })')
      const { tableName } = one.model
      if (byTable.has(tableName))
        throw new ConfigurationError(`rules: two are of ${modelName(one.model)}; make them one`)
      byTable.set(tableName, one)
    }
    this.denies = byDefault === 'deny'
    this.#rules = byTable
    this.fields = new FieldRules(byTable.values())
  }

  /** The models that have rules. */
  get models(): readonly ModelClass[] {
    return [...this.#rules.values()].map(({ model }) => model)
  }

  /** A condition on rows of the model, or of those that its relations lead to, depends on who asks. @param actions what is done with the rows */
  asksCaller(model: ModelClass, actions: readonly RuleAction[] = ACTIONS): boolean {
    return reachedFrom([model]).some((one) =>
      actions.some((action) => typeof this.ruleOf(one)?.conditionOf(action) === 'function'),
    )
  }

  /** The rule that is declared for a model. Whoever asks for those of all models goes by `models`. */
  ruleOf({ tableName }: ModelClass): ModelRule | undefined {
    return this.#rules.get(tableName)
  }

  /** What the rules say of a column or a relation, as the model calls it. */
  fieldRules(model: ModelClass, property: string): readonly FieldRule[] {
    const rule = this.ruleOf(model)
    const { fields = {} } = rule?.options ?? {}
    const names = rule ? namesIn(rule.model, { model, property }) : []
    return names.flatMap((name) => (Object.hasOwn(fields, name) ? (fields[name] as FieldRule) : []))
  }

  /** True for a property that somebody is shown a mask of. */
  masks(model: ModelClass, property: string): boolean {
    return this.fieldRules(model, property).some(({ mask }) => mask !== undefined)
  }

  /** True for a model of which some callers may not see all rows. */
  hidesRows(model: ModelClass): boolean {
    const read = this.ruleOf(model)?.conditionOf('read')
    return read !== undefined && read !== true
  }

  /** Models whose columns conditions may be about: those with rules, and those of the same database that relations lead to. */
  get reached(): readonly ModelClass[] {
    return reachedFrom(this.models)
  }

  /**
   * Finds mistakes of conditions before any request, as far as an anonymous caller's show them.
   * @param models all models of the API
   * @throws {ConfigurationError} a condition is none, or a model needs a rule
   */
  async check(models: Iterable<ModelClass>): Promise<void> {
    // links are seen as their ends are
    const joins = bareJoins([...models])
    const without = this.denies ? [...models].filter((model) => !joins.has(model) && !this.ruleOf(model)) : []
    if (without.length > 0) {
      const names = [...new Set(without.map(modelName))].join(', ')
      throw new ConfigurationError(
        `rules: ${names} ${without.length === 1 ? 'has' : 'have'} no rule, and the default is to deny; add rule(Model, { read: true }) for what all may see`,
      )
    }
    await uniteDatabases([...models, ...this.models])
    this.#checkNames(models)
    const rules = new RequestRules(this, { user: undefined, ctx: NO_REQUEST })
    for (const model of this.models) {
      for (const action of ACTIONS) {
        try {
          rules.rows(model, action)?.where(model.tableName)
        } catch (error) {
          // a function of the caller may need one
          if (error instanceof ConfigurationError) throw error
        }
      }
      for (const field of Object.keys(this.ruleOf(model)?.options.fields ?? {})) checkField(model, field)
    }
    try {
      rules.checkFields()
    } catch (error) {
      if (error instanceof ConfigurationError) throw error
    }
  }

  /** @throws {ConfigurationError} a table has a rule, and another name by which that is not found */
  #checkNames(models: Iterable<ModelClass>): void {
    for (const model of models) {
      if (this.ruleOf(model)) continue
      const other = this.models.find((one) => isOneTwiceNamed(one, model))
      if (!other) continue
      throw new ConfigurationError(
        `rules: ${modelName(model)} calls the table "${model.tableName}" and ${modelName(other)} calls it "${other.tableName}", and a rule holds for one name; give both models the same tableName`,
      )
    }
  }

  /** What the rules say of a request; they are asked once, when the first query needs to know. */
  of(ctx: Context): RequestRules {
    const request: object & { [asked: symbol]: RequestRules | undefined } = ctx.req as never
    const known = request[this.#asked]
    const user: RuleCaller['user'] = ctx.state['user']
    // who asks is known once authentication has run; a request within the process may be made of the one around it
    if (known?.user === user && known?.request === request) return known
    const rules = new RequestRules(this, { user, ctx: originalRequest(ctx) })
    request[this.#asked] = rules
    return rules
  }
}

/** @internal What is made of rules: of the same ones once. @throws {ConfigurationError} as the constructor */
export function ruleSetOf(rules: Rules | RuleSet): RuleSet {
  return rules instanceof RuleSet ? rules : madeOf(rules)
}

const madeOf = oncePer((rules: Rules) => new RuleSet(rules))

const USES: readonly FieldUse[] = ['read', 'write']
/** The name of no table. */
const FIELDS_OF_ROWS = 'fields of rows'

function reachedFrom(models: readonly ModelClass[]): readonly ModelClass[] {
  const reached = new Set(models)
  for (const model of reached) {
    for (const { relatedModelClass: related } of Object.values(model.getRelations())) {
      if (related.knex() === model.knex()) reached.add(related)
    }
  }
  return [...reached]
}

const ACTIONS: readonly RuleAction[] = ['read', 'create', 'update', 'delete']
/** Who asks before any request. */
const NO_REQUEST = { state: {} } as unknown as Context

/** @throws {ConfigurationError} rules are of what the model does not have */
function checkField(model: ModelClass, field: string): void {
  const { columns, relations } = describeModel(model)
  if (columns.has(field) || relations.has(field)) return
  const names = [...columns.keys(), ...relations.keys()]
  const fix = didYouMean(field, names) || `; name one of ${names.join(', ')}`
  throw new ConfigurationError(`rule(${modelName(model)}).fields.${field} is no column and no relation of it${fix}`)
}

function isList(rules: Rules): rules is readonly ModelRule[] {
  return Array.isArray(rules)
}

/** @internal The rules as they are for one caller. */
export class RequestRules {
  readonly #rules: RuleSet
  readonly #caller: RuleCaller
  readonly #known = new Map<string, RowCondition | null | undefined>()
  /** Conditions on rows of what may be done with a field, by use, table and name. */
  readonly #fieldConditions = new Map<string, Condition>()
  #fields: { readonly access: VisibleFields | undefined } | undefined

  /** Who asks. */
  get user(): RuleCaller['user'] {
    return this.#caller.user
  }

  /** What they were asked for. */
  get request(): object {
    return this.#caller.ctx.req
  }

  constructor(rules: RuleSet, caller: RuleCaller) {
    this.#rules = rules
    this.#caller = caller
  }

  /** The models that have rules. */
  get models(): readonly ModelClass[] {
    return this.#rules.models
  }

  /**
   * The rows of a model on which a rule allows an action; undefined for all of them.
   * @throws {ConfigurationError} the rule has made what is no condition, or leads to itself
   */
  rows(asked: ModelClass, action: RuleAction): RowCondition | undefined {
    const rule = this.#rules.ruleOf(asked)
    const condition = rule?.conditionOf(action)
    if (!rule || condition === undefined) return undefined
    const { model } = rule
    // the same object in both: it is compiled once, and whoever asks for both can tell
    if (action !== 'read' && condition === rule.options.read) return this.rows(model, 'read')
    const name = `${action} ${model.tableName}`
    const known = this.#known.get(name)
    if (known !== null && (known !== undefined || this.#known.has(name))) return known
    const where = `rule(${modelName(model)}).${action}`
    if (known === null) throw new ConfigurationError(`${where} leads to itself by "readable"; name the rows themselves`)
    this.#known.set(name, null)
    try {
      const rows = this.#compile(condition, where, model)
      this.#known.set(name, rows)
      return rows
    } catch (error) {
      this.#known.delete(name)
      throw error
    }
  }

  /** What the caller may do with fields; undefined where that is all. The functions of the rules are asked once. */
  get fields(): VisibleFields | undefined {
    this.#fields ??= {
      access: this.#rules.fields.access((condition, { model, name }, use) => {
        const made = this.#made(condition, `rule(${modelName(model)}).fields.${name}.${use}`)
        if (made === true) return 'all'
        if (made === false) return 'none'
        this.#fieldConditions.set(`${use} ${model.tableName} ${name}`, made)
        return 'some'
      }),
    }
    return this.#fields.access
  }

  /**
   * What tells callers apart who read other rows or fields: values of conditions, as of the time, do not.
   * @param tables the names of those whose rows count @default all that were asked about by now
   */
  reading(tables?: Iterable<string>): ReadonlyMap<string, unknown> {
    const asked = tables && new Set(tables)
    const models = this.models.filter(({ tableName }) => asked?.has(tableName) ?? this.#known.has(`read ${tableName}`))
    const rows = models.map((model) => [model.tableName, this.rows(model, 'read')?.where(model.tableName).sql] as const)
    return new Map<string, unknown>([['', this.fields], [FIELDS_OF_ROWS, this.#readable()], ...rows])
  }

  /** The SQL of all conditions on what is read of fields. */
  #readable(): string {
    const conditions = this.models.flatMap((model) =>
      this.#fieldNames(model).map((name) => this.fieldRows(model, name, 'read')?.where(model.tableName).sql),
    )
    return conditions.join('\n')
  }

  #fieldNames(model: ModelClass): readonly string[] {
    return Object.keys(this.#rules.ruleOf(model)?.options.fields ?? {})
  }

  /** Finds conditions of fields that are none. @throws {ConfigurationError} */
  checkFields(): void {
    for (const model of this.models) {
      for (const name of this.#fieldNames(model)) {
        for (const use of USES) this.fieldRows(model, name, use)?.where(model.tableName)
      }
    }
  }

  /** The rows of which a field may be read or written; undefined where that is not a question of the row. */
  fieldRows(asked: ModelClass, property: string, use: FieldUse): RowCondition | undefined {
    const model = this.#rules.ruleOf(asked)?.model
    if (!model) return undefined
    const names = namesIn(model, { model: asked, property })
    const conditions = names.flatMap((name) => this.#fieldCondition(model, name, use) ?? [])
    if (conditions.length === 0) return undefined
    return this.#conditionOf({ and: conditions }, `rule(${modelName(model)}).fields.${names[0]}.${use}`, model)
  }

  #fieldCondition(model: ModelClass, name: string, use: FieldUse): Condition | undefined {
    const access = this.fields?.of(model, name)
    const own = this.#fieldConditions.get(`${use} ${model.tableName} ${name}`)
    // what is left out is as `read` says
    return own ?? (access?.[use] === 'some' ? this.#fieldConditions.get(`read ${model.tableName} ${name}`) : undefined)
  }

  #made(condition: RuleCondition, where: string): Condition {
    return settled(typeof condition === 'function' ? condition(this.#caller) : condition, `${where} ${ASYNC}`) ?? false
  }

  #compile(condition: RuleCondition, where: string, model: ModelClass): RowCondition | undefined {
    const made = this.#made(condition, where)
    return made === true ? undefined : this.#conditionOf(made, where, model)
  }

  #conditionOf(made: Condition, where: string, model: ModelClass): RowCondition {
    const readable = (one: ModelClass) => this.rows(one, 'read')
    const isTried = this.#caller.ctx === NO_REQUEST
    const scope = { where, model: describeModel(model), readable, isTried }
    return conditionOn(compileCondition(made, scope), model)
  }
}

/** @internal The rows of a model of which a condition holds. */
export function conditionOn(condition: Certain, model: ModelClass): RowCondition {
  return {
    where(table, schema) {
      const { sql, bindings } = condition(new PathStart(table, { schema }), true)
      // knex, to which conditions are given, too, knows no queries of models
      return {
        sql,
        bindings: bindings.map((value) => (isModelQuery(value) && model.knex() ? value.toKnexQuery() : value)),
      }
    },
  }
}
