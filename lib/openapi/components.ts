/** Components of a document: schemas of serializers, envelopes, errors, and who may use them by which name. */
import type { FieldSchema } from '../fields/field.js'
import { orNull } from '../fields/or-null.js'
import { HiddenField } from '../fields/own-value-fields.js'
import { RelatedField } from '../fields/related-field.js'
import { ConfigurationError } from '../kernel/errors.js'
import { readReferenceStep } from '../kernel/json-pointer.js'
import { pascalCase } from '../kernel/naming.js'
import { jsonSchemaOf, type StandardSchema } from '../kernel/standard-schema.js'
import { describeModel } from '../models/describe-model.js'
import type { RelationDescription } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import type { VisibleFields } from '../queryset/visible-fields.js'
import type { RuleSet } from '../rules/rule-set.js'
import { type BoundField, RECORDED, type SerializerClass, type SerializerPlan } from '../serializers/contract.js'
import { inputValue } from '../serializers/input-schema.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { needsObject } from '../serializers/relation-graph.js'
import { isInline, schemaNameOf } from '../serializers/schema-name.js'
import { standardSchemaOf } from '../serializers/schema-serializer.js'
import { seenClass } from '../serializers/seen-class.js'
import { type Expansion, expandedBy } from '../serializers/select-fields.js'
import { forcedWithin, keyNamesOf } from '../serializers/validate-nested.js'
import { type Forced, isForced } from '../serializers/validated-item.js'
import { isFile, mayBeNull, outputValue, type SchemaSide, sideOf, withoutFile, wordsOf } from './field-schema.js'
import { componentName } from './shared-parameters.js'
import type { Header, Reference, Response, Schema } from './types.js'

/** Properties that the path decides where a serializer stands in a nested route: they are taken, and not asked for. */
export type ForcedProperties = ReadonlyMap<SerializerClass, Forced>

/** What a parameter adds to what a serializer shows, by name: what it is, and the name of the parameter. */
export type Expansions = ReadonlyMap<SerializerClass, ReadonlyMap<string, ReadonlyMap<Expansion, string>>>

/** Relations of tables, of whose objects other view sets may show a part. */
export type NarrowedRelations = ReadonlyMap<string, ReadonlySet<string>>

/** What endpoints say of serializers, all together. */
interface Collected {
  readonly expansions: Expansions
  readonly forced: ForcedProperties
  readonly narrowed: NarrowedRelations
  readonly rules: RuleSet | undefined
}

/** Collects the components of one document. */
export class Components {
  readonly #expansions: Expansions
  readonly #forced: ForcedProperties
  readonly #rules: RuleSet | undefined
  readonly #narrowed: NarrowedRelations
  readonly #fields: VisibleFields | undefined
  readonly #inlineNames = { Input: new Map<SerializerClass, string>(), Output: new Map<SerializerClass, string>() }
  readonly #names = new Map<string, Component>()
  readonly #responses = new Map<string, Response>()
  readonly #headers = new Map<string, Header>()
  readonly #security = new Map<string, Readonly<Record<string, unknown>>>()

  constructor({ expansions, forced, narrowed, rules }: Collected) {
    this.#rules = rules
    this.#narrowed = narrowed
    const fields = rules?.fields.described
    this.#fields = fields
    this.#expansions = new Map([...expansions].map(([one, added]) => [seenClass(one, fields), added]))
    this.#forced = new Map([...forced].map(([one, own]) => [seenClass(one, fields), own]))
  }

  /**
   * The schema of a serializer.
   * @param operationId the operation that takes or answers it, which one without a name of its own is called after
   * @throws {ConfigurationError} another class has its name, and says something else
   */
  serializer(named: SerializerClass, asked: SchemaSide, operationId?: string): Reference {
    const serializer = seenClass(named, this.#fields)
    const side = sideOf(serializer, asked)
    const own =
      operationId !== undefined && isInline(serializer)
        ? this.#inlineName(serializer, side === 'Output' ? side : 'Input', operationId)
        : schemaNameOf(serializer)
    if (own === '' || own !== componentName(own)) {
      throw new ConfigurationError(
        `OpenAPI: ${own === '' ? 'a serializer class without a name' : `the serializer "${own}"`} needs a name of letters and digits; set static schemaName`,
      )
    }
    const name = this.#freeName(serializer, own, side)
    const known = this.#names.get(name)
    if (!known) {
      // taken before it is described, so that what it holds cannot take it
      const entry: Component = { of: serializer, schema: {}, twins: new Set() }
      this.#names.set(name, entry)
      entry.schema = this.#described(serializer, side, name)
    }
    return schemaReference(name)
  }

  /** What a serializer shows, of which any field may be missing. */
  partOf(serializer: SerializerClass): Schema {
    const { required: _, ...part } = this.#described(
      seenClass(serializer, this.#fields),
      'Output',
      schemaNameOf(serializer),
    )
    return part
  }

  #described(serializer: SerializerClass, side: SchemaSide, name: string): Schema {
    const foreign = standardSchemaOf(serializer)
    if (foreign) return this.#foreign(foreign, side, name)
    return side === 'Output' ? this.#output(serializer) : this.#input(serializer, side)
  }

  /** `WikiInput` may be what a wiki is made of, and a serializer of its own: who comes later gets a longer name. */
  #freeName(serializer: SerializerClass, own: string, side: SchemaSide): string {
    const usual = own.endsWith(side) ? own : own + side
    for (const name of [usual, own + side, `${own}_${side}`]) {
      const known = this.#names.get(name)
      if (!known || known.of === serializer) return name
      if (typeof known.of === 'string' || schemaNameOf(known.of as SerializerClass) !== own) continue
      if (this.#isTwin(serializer, side, { name, known })) return name
      break
    }
    throw nameTaken(usual, serializer)
  }

  /** True for a class that says the same as another one of its name, as two that were made in place may. */
  #isTwin(serializer: SerializerClass, side: SchemaSide, { name, known }: { name: string; known: Component }): boolean {
    if (known.twins.has(serializer)) return true
    // noted before it is described: it may hold objects of its own
    known.twins.add(serializer)
    return JSON.stringify(this.#described(serializer, side, name)) === JSON.stringify(known.schema)
  }

  /** The envelope around a serializer's objects. */
  page(serializer: SerializerClass, suffix: string, schema: Schema): Reference {
    return this.schema(schemaNameOf(serializer) + suffix, schema)
  }

  /** A schema under a name of its own. @throws {ConfigurationError} another one has it */
  schema(name: string, schema: Schema): Reference {
    const known = this.#names.get(name)
    if (known && JSON.stringify(known.schema) !== JSON.stringify(schema)) throw nameTaken(name, undefined)
    if (!known) this.#names.set(name, { of: name, schema, twins: new Set() })
    return schemaReference(name)
  }

  response(name: string, response: Response): Reference {
    this.#responses.set(name, response)
    return { $ref: `#/components/responses/${name}` }
  }

  header(name: string, header: Header): Reference {
    this.#headers.set(name, header)
    return { $ref: `#/components/headers/${name}` }
  }

  /** @throws {ConfigurationError} two schemes have one name and are not the same */
  securityScheme(name: string, definition: Readonly<Record<string, unknown>>): void {
    const known = this.#security.get(name)
    if (known && JSON.stringify(known) !== JSON.stringify(definition)) {
      throw new ConfigurationError(
        `OpenAPI: two authentication classes describe themselves as "${name}" and differ; give one of them another name`,
      )
    }
    this.#security.set(name, definition)
  }

  toJSON() {
    const schemas = new Map([...this.#names].map(([name, { schema }]) => [name, schema]))
    return {
      schemas: sorted(schemas),
      responses: sorted(this.#responses),
      headers: sorted(this.#headers),
      securitySchemes: sorted(this.#security),
    }
  }

  /** After the first operation that takes or answers it. */
  #inlineName(serializer: SerializerClass, side: 'Input' | 'Output', operationId: string): string {
    const known = this.#inlineNames[side].get(serializer) ?? `${pascalCase(operationId)}${side}`
    this.#inlineNames[side].set(serializer, known)
    return known
  }

  /** What a schema of another library says of what it takes or makes; what it defines besides becomes components, too. */
  #foreign(schema: StandardSchema, side: SchemaSide, name: string): Schema {
    const described = jsonSchemaOf(schema, side === 'Output' ? 'output' : 'input')
    const verb = side === 'Output' ? 'makes' : 'takes'
    if (!described) return { description: `What the schema of ${schema['~standard'].vendor} ${verb}.` }
    const { schema: own, definitions } = embedded(described, name)
    for (const [component, definition] of definitions) this.schema(component, definition)
    return side.startsWith('Json') ? filesOut(own) : own
  }

  #output(serializer: SerializerClass): Schema {
    const { readable, model } = serializerPlan(serializer)
    const expansions = this.#expansions.get(serializer) ?? new Map<string, ReadonlyMap<Expansion, string>>()
    const own = readable.map((bound): [string, Schema] => {
      const others = [...(expansions.get(bound.name)?.keys() ?? [])].flatMap((other) => expandedBy(other) ?? [])
      const expanded = others.map((other) => this.#related(other, bound))
      return [bound.name, anyOf([this.#shown(bound, model), ...expanded])]
    })
    const names = new Set(readable.map(({ name }) => name))
    const required = readable
      .filter(({ access }) => !access || access.read === 'all' || access.mask)
      .filter(({ relation }) => !(serializer[RECORDED] && relation && this.#hidesRelated(relation, model)))
      .map(({ name }) => name)
    const added = [...expansions].flatMap(([name, others]): [string, Schema][] => {
      if (names.has(name)) return []
      const single = model?.relations.get(name)?.single !== false
      const shown = anyOf([...others.keys()].map((other) => this.#expanded(other, single)))
      const asking = [...new Set(others.values())].map((parameter) => `\`${parameter}=${name}\``)
      return [[name, { ...shown, description: `Shown with ${asking.join(' or ')}.` }]]
    })
    return {
      type: 'object',
      properties: Object.fromEntries([...own, ...added]),
      ...(required.length > 0 && { required }),
    }
  }

  /** What is shown in place of a relation, or beside it. */
  #expanded(expansion: Expansion, single: boolean): Schema {
    const serializer = expandedBy(expansion)
    if (!serializer) return { type: 'integer', format: 'int64', minimum: 0 }
    const one = this.serializer(serializer, 'Output')
    if (single) return anyOf([one, { type: 'null' }])
    const limit = expansion instanceof NestedSerializer ? (expansion as NestedSerializer).options.limit : undefined
    return { type: 'array', items: one, ...(limit !== undefined && { maxItems: limit }) }
  }

  #shown(bound: BoundField, owner: SerializerPlan['model']): Schema {
    const { field } = bound
    const shown = field instanceof NestedSerializer ? this.#related(field.serializerClass, bound) : outputValue(bound)
    const value = this.#mayHide(bound, owner) ? orNull(shown) : shown
    const { read = 'all', mask } = bound.access ?? {}
    if (read === 'all') return { ...value, ...wordsOf(field) }
    const description = mask ? 'Masked for those who may not read it.' : 'Shown to those who may read it.'
    // nobody knows what a mask makes of a value
    return { ...(mask ? {} : value), description, ...wordsOf(field) }
  }

  /** True for an object that is there, and that some callers do not see. */
  #mayHide({ field, relation, source }: BoundField, owner: SerializerPlan['model']): boolean {
    if (!relation?.single || source.length > 1) return false
    if (!(field instanceof NestedSerializer || (field instanceof RelatedField && needsObject(field, relation))))
      return false
    return this.#hidesRelated(relation, owner)
  }

  /** True for a relation whose objects, or links to them, some callers do not see. */
  #hidesRelated({ name, model, through }: RelationDescription, owner: SerializerPlan['model']): boolean {
    const isNarrowed = this.#narrowed.get(owner?.model.tableName ?? '')?.has(name) === true
    const hides = (one: ModelClass) => this.#rules?.hidesRows(one) === true
    return isNarrowed || describeModel(model).secured || hides(model) || (through !== undefined && hides(through.model))
  }

  /** What a field shows of other objects, through their serializer. */
  #related(serializer: SerializerClass, bound: BoundField): Schema {
    const one = this.serializer(serializer, 'Output')
    const { many } = bound.field.options as { readonly many?: boolean }
    if (many === true || bound.relation?.single === false) {
      const limit = bound.list?.limit
      return { type: 'array', items: one, ...(limit !== undefined && { maxItems: limit }) }
    }
    return mayBeNull(bound) ? orNull({ ...one }) : { ...one }
  }

  /** @param forced the keys that nobody asks for */
  #input(serializer: SerializerClass, side: SchemaSide, forced = this.#forced.get(serializer)): Schema {
    const plan = serializerPlan(serializer)
    const written = plan.writable.filter(({ field }) => !(field instanceof HiddenField))
    const taken = written.flatMap((bound): { bound: BoundField; schema: Schema }[] => {
      const schema = this.#taken(bound, side, plan)
      return schema ? [{ bound, schema }] : []
    })
    const required = isWhole(side) ? taken.filter(({ bound }) => isAsked(bound, forced)) : []
    return {
      type: 'object',
      properties: Object.fromEntries(taken.map(({ bound, schema }) => [bound.name, schema])),
      ...(required.length > 0 && { required: required.map(({ bound }) => bound.name) }),
    }
  }

  #taken(bound: BoundField, side: SchemaSide, plan: SerializerPlan): Schema | undefined {
    const { field } = bound
    const words = wordsOf(field)
    if (!(field instanceof NestedSerializer)) {
      const value = inputValue(bound, side)
      const taken = side.startsWith('Json') && isFile(value) ? withoutFile(bound, side) : value
      return taken && { ...taken, ...words }
    }
    const forced = forcedWithin(plan, bound)
    const one = this.#nested(field, side, forced)
    const value: Schema = field.many
      ? {
          ...field.schema(),
          items: withKey(one, serializerPlan(field.serializerClass), forced),
          maxItems: field.maxItems,
        }
      : { ...one }
    return { ...(field.allowNull ? orNull(value) : value), ...words }
  }

  /** Objects within another, which decides their keys to it: a component is for all, and may ask for these. */
  #nested({ serializerClass }: NestedSerializer, side: SchemaSide, forced: Forced): Schema {
    const serializer = seenClass(serializerClass, this.#fields)
    const own = this.#forced.get(serializer)
    const { writable } = serializerPlan(serializer)
    const asksMore = writable.some((bound) => isAsked(bound, own) && isForced(forced, bound))
    if (!asksMore || !isWhole(side)) return this.serializer(serializerClass, side)
    return this.#input(serializer, sideOf(serializer, side), forced)
  }
}

function isWhole(side: SchemaSide): boolean {
  return side !== 'Patch' && side !== 'JsonPatch'
}

/** True for a field that an input cannot leave out. */
function isAsked(bound: BoundField, forced: Forced | undefined): boolean {
  return bound.required && bound.rivals.length === 0 && !isForced(forced, bound)
}

/** Objects of a nested list with the key by which an element names the object that it changes. */
function withKey(one: Schema, plan: SerializerPlan, forced: Forced): Schema {
  const names = keyNamesOf(plan, forced).filter((name) => !plan.writableFields.has(name))
  if (names.length === 0) return { ...one }
  const properties = Object.fromEntries(names.map((name) => [name, outputValue(plan.byName.get(name) as BoundField)]))
  return { allOf: [one, { type: 'object', properties }] }
}

/** What JSON takes of what forms take. */
function filesOut({ properties = {}, required = [], ...schema }: Schema): Schema {
  const kept = Object.entries(properties as Record<string, FieldSchema>).filter(([, value]) => !isFile(value))
  const names = (required as readonly string[]).filter((name) => kept.some(([own]) => own === name))
  return { ...schema, properties: Object.fromEntries(kept), ...(names.length > 0 && { required: names }) }
}

function schemaReference(name: string): Reference {
  return { $ref: `#/components/schemas/${name}` }
}

/** One of several schemas; one alone is itself. */
function anyOf(schemas: readonly Schema[]): Schema {
  const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()]
  const [only] = different
  return different.length === 1 && only ? { ...only } : { anyOf: different }
}

function sorted<T>(entries: ReadonlyMap<string, T>): Record<string, T> {
  return Object.fromEntries([...entries].sort(([one], [other]) => (one < other ? -1 : 1)))
}

interface Component {
  /** The serializer class, or the name of what is none. */
  readonly of: object | string
  schema: Schema
  /** Other classes that it describes as well. */
  readonly twins: Set<SerializerClass>
}

function nameTaken(name: string, serializer: SerializerClass | undefined): ConfigurationError {
  const fields = serializer ? ` (${[...serializerPlan(serializer).byName.keys()].join(', ')})` : ''
  const who = serializer ? `${serializer.name}${fields} and another serializer are` : 'two schemas are'
  return new ConfigurationError(`OpenAPI: ${who} called "${name}"; set static schemaName of one serializer`)
}

/** A schema that stands on its own, and what it defines, by the names of their components. */
interface EmbeddedSchema {
  readonly schema: Schema
  readonly definitions: ReadonlyMap<string, Schema>
}

/**
 * A JSON Schema as the component of this name: what it defines in `$defs` becomes components called after it, and references
 * (`#`, `#/$defs/Node`) lead there.
 */
export function embedded(described: Schema, name: string): EmbeddedSchema {
  const { $defs = {}, $id: _id, ...own } = described
  const names = new Map(Object.keys($defs as object).map((key) => [key, `${name}.${componentName(key)}`]))
  const definitions = Object.entries($defs as Record<string, Schema>).map(([key, schema]): [string, Schema] => [
    names.get(key) as string,
    pointed(schema, name, names) as Schema,
  ])
  return { schema: pointed(own, name, names) as Schema, definitions: new Map(definitions) }
}

const DEFINITION = /^#\/\$defs\/(?<key>[^/]+)/

function pointed(value: unknown, name: string, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => pointed(item, name, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([keyword, inner]: [string, unknown]) => {
      const isReference = keyword === '$ref' && typeof inner === 'string' && inner.startsWith('#')
      return [keyword, isReference ? target(inner, name, names) : pointed(inner, name, names)]
    }),
  )
}

function target(reference: string, name: string, names: ReadonlyMap<string, string>): string {
  const escaped = DEFINITION.exec(reference)?.groups?.['key']
  if (escaped === undefined) return reference.replace('#', `#/components/schemas/${name}`)
  const key = readReferenceStep(escaped)
  return reference.replace(DEFINITION, () => `#/components/schemas/${names.get(key) ?? key}`)
}
