/** Rules as policies of PostgreSQL, as far as they can be said there. */

import { RELATED } from '../filters/group-of-json.js'
import { stepThrough } from '../filters/resolve-paths.js'
import { isNarrowed } from '../filters/step.js'
import { ConfigurationError } from '../kernel/errors.js'
import { getOrInsert } from '../kernel/maps.js'
import { describeModel } from '../models/describe-model.js'
import { type ModelClass, modelName } from '../models/objection.js'
import { areOfOneTable } from '../models/one-table.js'
import { bareName, escaped } from '../models/table-reference.js'
import type { SqlPart } from '../queryset/sql-part.js'
import { alongRelation } from '../queryset/visible-fields.js'
import type { RowCondition } from '../queryset/visible-rows.js'
import { CallerSetting, NotSaid, SettingSql } from './caller-setting.js'
import { comparedPath, compileCondition } from './compile-condition.js'
import { type Condition, RawCondition, readable } from './conditions.js'
import { recordCondition } from './record-condition.js'
import type { RuleAction } from './rule.js'
import { conditionOn, type RuleSet } from './rule-set.js'

/** Rules as SQL. */
export interface PrintedPolicies {
  readonly sql: string
  /** Rules that are not in it, and why. */
  readonly left: readonly string[]
}

/**
 * The statements that have PostgreSQL keep the rules of an API for roles that do not own its tables.
 * @param role whose grants are limited to the columns that rules leave to all callers
 */
export function printPolicies(rules: RuleSet, role?: string): PrintedPolicies {
  return new PolicyPrinter(rules, role).print()
}

interface Command {
  readonly action: RuleAction
  readonly name: string
  readonly clauses: readonly string[]
}

const COMMANDS: readonly Command[] = [
  { action: 'read', name: 'SELECT', clauses: ['USING'] },
  { action: 'create', name: 'INSERT', clauses: ['WITH CHECK'] },
  { action: 'update', name: 'UPDATE', clauses: ['USING', 'WITH CHECK'] },
  { action: 'delete', name: 'DELETE', clauses: ['USING'] },
]

class PolicyPrinter {
  readonly #rules: RuleSet
  readonly #role: string | undefined
  readonly #left: string[] = []
  /** Conditions by rule, or why there is none. */
  readonly #said = new Map<string, Condition | NotSaid>()
  /** What code calls the value of a setting, by the setting's name. */
  readonly #settings = new Map<string, CallerSetting>()

  /** Models whose readable rows are being looked at. */
  readonly #asked = new Set<ModelClass>()

  constructor(rules: RuleSet, role: string | undefined) {
    this.#rules = rules
    this.#role = role
  }

  print(): PrintedPolicies {
    const tables = this.#rules.models.map((model) => this.#table(model))
    const settings = [...this.#settings.values()].map(({ name, path }) => `--   ${name} is ${path}`)
    const head = [
      '-- The rules of the API, for roles that own no table: owners and superusers pass policies by.',
      ...(settings.length > 0 ? ['-- Settings of a request, by databaseSettings:', ...settings] : []),
    ]
    return { sql: [[...head, 'BEGIN;'].join('\n'), ...tables, 'COMMIT;\n'].join('\n\n'), left: this.#left }
  }

  #table(model: ModelClass): string {
    const lines = [
      `-- ${comment(modelName(model))}`,
      sqlOf(model, part('ALTER TABLE ?? ENABLE ROW LEVEL SECURITY', model)),
    ]
    for (const command of COMMANDS) lines.push(...this.#policy(model, command))
    return [...lines, ...this.#grants(model)].join('\n')
  }

  /** Grants of columns are the same for all callers of a role: what depends on the caller, or on the row, they cannot say. */
  #grants(model: ModelClass): readonly string[] {
    const fields = Object.entries(this.#rules.ruleOf(model)?.options.fields ?? {})
    const refused = { read: new Set<string>(), write: new Set<string>() }
    const description = describeModel(model)
    for (const [name, { read = true, write = read }] of fields) {
      const columns = alongRelation(description, name).flatMap(
        ({ property }) => description.columns.get(property)?.column ?? [],
      )
      for (const [use, condition] of [
        ['read', read],
        ['write', write],
      ] as const) {
        const where = `rule(${modelName(model)}).fields.${name}.${use}`
        if (condition === false && columns.length === 1) refused[use].add(columns[0] as string)
        else if (condition !== true) {
          this.#left.push(
            comment(`${where} ${condition === false ? 'is of no single column' : 'depends on the caller, or the row'}`),
          )
        }
      }
    }
    return [...this.#grant(model, ['SELECT'], refused.read), ...this.#grant(model, ['INSERT', 'UPDATE'], refused.write)]
  }

  #grant(model: ModelClass, privileges: readonly string[], refused: ReadonlySet<string>): readonly string[] {
    if (refused.size === 0) return []
    if (this.#role === undefined) {
      this.#left.push(
        `${modelName(model)}: who may not ${privileges.join(' or ')} ${[...refused].join(', ')}; name the role by --role`,
      )
      return []
    }
    const columns = [...describeModel(model).columns.values()]
      .map(({ column }) => column)
      .filter((one) => !refused.has(one))
    const list = `(${columns.map(() => '??').join(', ')})`
    const { tableName } = model
    return [
      sqlOf(model, { sql: `REVOKE ${privileges.join(', ')} ON ?? FROM ??`, bindings: [tableName, this.#role] }),
      sqlOf(model, {
        sql: `GRANT ${privileges.map((privilege) => `${privilege} ${list}`).join(', ')} ON ?? TO ??`,
        bindings: [...privileges.flatMap(() => columns), tableName, this.#role],
      }),
    ]
  }

  #policy(model: ModelClass, { action, name, clauses }: Command): readonly string[] {
    const policy = `rule_${action}`
    const where = `rule(${modelName(model)}).${action}`
    const dropped = sqlOf(model, part(`DROP POLICY IF EXISTS ${policy} ON ??`, model))
    try {
      const condition = this.#condition(model, action)
      const isPlain = this.#isPlain(condition, model, model)
      const held = this.#rows(model, condition, { where, isPlain })?.where(bareName(model.tableName))
      const said = held ?? { sql: 'true', bindings: [] }
      const asked = isPlain ? said : { sql: `${policy}(??.*)`, bindings: [bareName(model.tableName)] }
      const made = clauses.map((clause) => `${clause} (${asked.sql})`).join(' ')
      return [
        dropped,
        ...(isPlain ? [] : [sqlOf(model, definer(policy, model, said))]),
        sqlOf(model, {
          sql: `CREATE POLICY ${policy} ON ?? FOR ${name} ${made}`,
          bindings: [model.tableName, ...clauses.flatMap(() => asked.bindings)],
        }),
      ]
    } catch (error) {
      if (!(error instanceof NotSaid)) throw error
      const reason = comment(`${where} ${error.message}`)
      this.#left.push(reason)
      return [dropped, `-- NOT PRINTED, so that no row passes: ${reason}`]
    }
  }

  /** What a rule says of any caller. @throws {NotSaid} only JavaScript knows */
  #condition(model: ModelClass, action: RuleAction): Condition {
    const declared = this.#rules.ruleOf(model)?.conditionOf(action)
    if (typeof declared !== 'function') return declared ?? true
    const name = `${action} ${model.tableName}`
    const said = getOrInsert(this.#said, name, () => this.#record(declared))
    if (said instanceof NotSaid) throw said
    return said
  }

  #record(declared: Parameters<typeof recordCondition>[0]): Condition | NotSaid {
    try {
      const recorded = recordCondition(declared) ?? false
      for (const setting of settingsIn(recorded)) {
        const key = setting.name.toLowerCase()
        const other = this.#settings.get(key) ?? setting
        if (other.path !== setting.path) {
          return new NotSaid(`has ${setting.path} in the setting ${setting.name}, which is ${other.path} elsewhere`)
        }
        this.#settings.set(key, setting)
      }
      return recorded
    } catch (error) {
      if (error instanceof ConfigurationError) throw error
      return error instanceof NotSaid ? error : new NotSaid(`computes with its caller (${(error as Error).message})`)
    }
  }

  /** @param isPlain PostgreSQL itself narrows the related tables by what is readable */
  #rows(
    model: ModelClass,
    condition: Condition,
    { where, isPlain }: { readonly where: string; readonly isPlain: boolean },
  ): RowCondition | undefined {
    if (condition === true) return undefined
    const read = (one: ModelClass) =>
      isPlain && !areOfOneTable(one, model)
        ? undefined
        : this.#rows(one, this.#condition(one, 'read'), { where, isPlain })
    const scope = { where, model: describeModel(model), readable: read, isRowAlone: true }
    return conditionOn(compileCondition(condition, scope), model)
  }

  /**
   * True where a condition means the same under row level security. Tables that it looks at have policies of their own:
   * they leave out rows which the condition is about, unless it asks for readable ones; and where they lead back to the
   * table itself, PostgreSQL refuses them.
   * @throws {NotSaid} it depends on a rule that is not printed
   */
  #isPlain(condition: Condition, model: ModelClass, target: ModelClass): boolean {
    if (condition === readable) return this.#isReadPlain(model, target)
    if (condition instanceof RawCondition) return !/\bselect\b/i.test(condition.strings.join(' '))
    if (condition instanceof CallerSetting) throw new NotSaid(`has ${condition.path} in the place of a condition`)
    if (typeof condition !== 'object' || condition === null) return true
    return Object.entries(condition).every(([name, value]) => {
      if (name === 'not') return this.#isPlain(value as Condition, model, target)
      if ((name === 'and' || name === 'or') && Array.isArray(value)) {
        return value.map((one: Condition) => this.#isPlain(one, model, target)).every(Boolean)
      }
      const [, , relation] = RELATED.exec(name) ?? []
      if (relation !== undefined) return this.#isPlainBehind(model, { relation, target, condition: value as Condition })
      const { properties } = comparedPath(name, { where: 'rules', model: describeModel(model) }).path
      const [first, ...others] = properties
      if (others.length === 0) return true
      const rest = { [others.join('__')]: value }
      return this.#isPlainBehind(model, {
        relation: first as string,
        target,
        condition: others.length > 1 ? rest : true,
      })
    })
  }

  #isPlainBehind(
    owner: ModelClass,
    {
      relation,
      target,
      condition,
    }: { readonly relation: string; readonly target: ModelClass; readonly condition: Condition },
  ): boolean {
    const step = stepThrough('rules', describeModel(owner), relation)
    const { model } = step
    const isRuled = this.#hides(model)
    const asksReadable = conjuncts(condition).includes(readable)
    // also where another way is taken: what is not printed is not known
    const rest = conjuncts(condition)
      .filter((one) => one !== readable)
      .map((one) => this.#isPlain(one, model, target))
    const isReadPlain = !isRuled || !asksReadable || this.#isReadPlain(model, target)
    if (areOfOneTable(model, target) || isNarrowed(step) || this.#isReadInPart(model)) return false
    if (step.through && this.#rules.ruleOf(step.through.model())) return false
    return (!isRuled || asksReadable) && isReadPlain && rest.every(Boolean)
  }

  /** True where the role lacks columns of a table: policies of others look at it with the rights of the role. */
  #isReadInPart(model: ModelClass): boolean {
    const fields = Object.values(this.#rules.ruleOf(model)?.options.fields ?? {})
    return this.#role !== undefined && fields.some(({ read }) => read === false)
  }

  #isReadPlain(model: ModelClass, target: ModelClass): boolean {
    const condition = this.#condition(model, 'read')
    if (this.#asked.has(model)) throw new NotSaid('leads to itself by "readable"')
    this.#asked.add(model)
    try {
      return this.#isPlain(condition, model, target)
    } finally {
      this.#asked.delete(model)
    }
  }

  /** True where some callers do not see all rows. */
  #hides(model: ModelClass): boolean {
    try {
      return this.#condition(model, 'read') !== true
    } catch (error) {
      if (error instanceof NotSaid) return true
      throw error
    }
  }
}

/** The conditions that must all hold. */
function conjuncts(condition: Condition): readonly Condition[] {
  if (typeof condition !== 'object' || condition instanceof RawCondition) return [condition]
  return Object.entries(condition).flatMap(([name, value]) =>
    name === 'and' && Array.isArray(value) ? value.flatMap((one: Condition) => conjuncts(one)) : [{ [name]: value }],
  )
}

function settingsIn(value: unknown): readonly CallerSetting[] {
  if (value instanceof CallerSetting) return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(settingsIn)
}

/** A function with the rights of its owner, whom no policy stops: it sees the rows that a condition is about. */
function definer(name: string, model: ModelClass, { sql, bindings }: SqlPart): SqlPart {
  const head = `CREATE OR REPLACE FUNCTION ${name}(?? ??) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER`
  return { sql: `${head} RETURN ${sql}`, bindings: [bareName(model.tableName), model.tableName, ...bindings] }
}

function part(sql: string, { tableName }: ModelClass): SqlPart {
  return { sql, bindings: [tableName] }
}

/** A statement with its values in it. */
function sqlOf(model: ModelClass, { sql, bindings }: SqlPart): string {
  const knex = model.knex()
  const inlined = (value: unknown): unknown => {
    if (value instanceof SettingSql) return knex.raw(escaped(value.sql))
    if (value instanceof Date) return value.toISOString()
    // knex would write a list of bits
    if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`
    // as they are bound: PostgreSQL finds the type
    if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value)
    if (!Array.isArray(value)) return value
    const list = value.map(inlined)
    return value.some((one) => one instanceof SettingSql)
      ? knex.raw(`array[${list.map(() => '?').join(', ')}]`, list as never)
      : list
  }
  return `${knex.raw(sql, bindings.map(inlined) as never).toQuery()};`
}

function comment(text: string): string {
  return text.replace(/\s+/g, ' ')
}
