/** Actions of a view set beside list, create and the like. */

import type { ParameterDescription } from '../filters/filter.js'
import { ConfigurationError } from '../kernel/errors.js'
import type { Kind } from '../kernel/kinds.js'
import { METHODS } from '../kernel/methods.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { quote } from '../kernel/quote.js'
import { isStandardSchema, type StandardSchema } from '../kernel/standard-schema.js'
import type { DeclaredFields, SerializerClass } from '../serializers/contract.js'
import { markInline } from '../serializers/schema-name.js'
import { serializerOfSchema } from '../serializers/schema-serializer.js'
import { Serializer } from '../serializers/serializer.js'
import type { Input, WholeValues } from '../serializers/types.js'
import { keepSettings, type ObjectRule } from './action-options.js'
import { isOurs } from './built-in.js'
import type { GenericAPIView } from './generic-api-view.js'

/** Statics that an action may have of its own. */
const STATICS = [
  'atomic',
  'authenticationClasses',
  'description',
  'filterBackends',
  'filterRelations',
  'filtersetFields',
  'idempotencyScope',
  'idempotent',
  'lookupField',
  'lookupUrlKwarg',
  'maxNestedObjects',
  'ordering',
  'orderingFields',
  'paginationClass',
  'parserClasses',
  'permissionClasses',
  'queryParameters',
  'rendererClasses',
  'responses',
  'searchFields',
  'serializerClass',
  'strictAccept',
  'throttleClasses',
  'throttleScope',
  'versioningClass',
] as const

/** Statics of the view set that are others while the action answers. */
export type ActionStatics = {
  readonly [Name in Exclude<(typeof STATICS)[number], 'queryParameters'>]?: (typeof GenericAPIView)[Name]
} & {
  /**
   * What the action reads of the query. Fields by name, a serializer class, or a schema of zod, valibot or arktype are checked
   * before it is called, and what they make of the query is its last argument. A list of descriptions is for the document only.
   */
  readonly queryParameters?: ActionInput | readonly ParameterDescription[]
}

/** What an action takes: a serializer class, fields by name, or a schema of zod, valibot or arktype. */
export type ActionInput = SerializerClass | DeclaredFields | StandardSchema

/** Options of `@action()`: the route of a method, and what is declared for it alone. */
export interface ActionOptions<
  S extends SerializerClass | StandardSchema = SerializerClass | StandardSchema,
  O extends ActionOutput = ActionOutput,
  Q extends NonNullable<ActionStatics['queryParameters']> = NonNullable<ActionStatics['queryParameters']>,
> extends ActionStatics {
  readonly queryParameters?: Q
  /** HTTP methods: `GET`, `QUERY`, `POST`, `PUT`, `PATCH`, `DELETE`. HEAD comes with GET. */
  readonly methods: readonly string[]
  /** The action is one of an object: its path is `/<prefix>/{id}/<urlPath>`, else `/<prefix>/<urlPath>`. @default false */
  readonly detail?: boolean
  /** The end of the path; may have several parts and parameters, such as `pages/{page:int}`, or be empty. @default the method's name in snake_case */
  readonly urlPath?: string
  /** The end of the route's name. @default the method's name with hyphens */
  readonly urlName?: string
  /**
   * Validates the body before the method is called, which gets the validated data as its argument: a serializer class, or a
   * schema of zod, valibot or arktype. Not with GET.
   */
  readonly inputSerializer?: S
  /**
   * What the action answers: an object, or in brackets, as `[BookSerializer]`, a list. A serializer class is for the OpenAPI
   * document, and where it is of the view's model for `getSerializer()`. A schema of zod, valibot or arktype is asked of what the method returns, and the client gets what it
   * makes of that; a result that it refuses is a 500. See docs/reference/schemas.md.
   */
  readonly outputSerializer?: O
  /**
   * What a rule of the API must allow of the object that the action holds by `getObjectToWrite()`: `read` is enough for one that
   * writes something else, such as a loan of a book. @default 'update'
   */
  readonly rule?: ObjectRule
}

/** What stands for an action's answer, or in brackets for each item of a list. */
export type ActionOutput = SerializerClass | StandardSchema | readonly [SerializerClass | StandardSchema]

/** What an action returns, by the schema of its output. */
export type Answered<O> = [O] extends [never]
  ? unknown
  : O extends StandardSchema<infer Value, unknown>
    ? Awaitable<Widened<Value>>
    : O extends readonly [StandardSchema<infer Item, unknown>]
      ? Awaitable<readonly Widened<Item>[]>
      : unknown

type Awaitable<T> = T | PromiseLike<T>

/** With any string for a word of several, as the compiler takes words that are returned for strings: the schema tells them. */
type Widened<T> = T extends string
  ? string
  : T extends number
    ? number
    : T extends boolean
      ? boolean
      : T extends Date | Uint8Array
        ? T
        : T extends object
          ? { [K in keyof T]: Widened<T[K]> }
          : T

/** What validated data is, as far as the serializer's class says: fields that come from a model it does not name. */
type ValidatedData<S> = S extends { readonly model: unknown; readonly fields: unknown }
  ? // biome-ignore lint/suspicious/noExplicitAny: of a model's fields only the model knows the types
    any
  : S extends StandardSchema<unknown, infer Output>
    ? Output
    : Input<S>

/** What an action gets of its query: nothing where that is described only. */
export type AskedOf<Q> = [Q] extends [never]
  ? []
  : Q extends SerializerClass | StandardSchema
    ? [query: ValidatedData<Q>]
    : Q extends DeclaredFields
      ? [query: WholeValues<Q>]
      : []

/** A method that takes the validated data of the input serializer, and of the query; without them it takes nothing. */
type ActionMethod<S, O, Q> = (
  ...given: [...([S] extends [never] ? [] : [data: ValidatedData<S>]), ...AskedOf<Q>]
) => Answered<O>

/** Makes a method an action: as a decorator (standard or `experimentalDecorators`), or called with the method. */
export interface ActionDecorator<Method> {
  <M extends Method>(method: M, context: ClassMethodDecoratorContext): void
  <M extends Method>(target: object, name: string | symbol, descriptor: TypedPropertyDescriptor<M>): void
  <M extends Method>(method: M): M
}

const RULES: ReadonlySet<ObjectRule> = new Set<ObjectRule>(['read', 'update', 'delete'])

/** The statics are checked with the class that has them. */
const OPTIONS = {
  methods: 'names',
  detail: 'boolean',
  urlPath: 'text',
  urlName: 'name',
  inputSerializer: 'any',
  outputSerializer: 'any',
  rule: 'name',
  ...(Object.fromEntries(STATICS.map((name) => [name, 'any'])) as Readonly<Record<keyof ActionStatics, 'any'>>),
} as const satisfies Record<keyof ActionOptions, Kind>

/**
 * Declares an action of a view set; the router gives it a route. Validated input is also `this.validatedData` and
 * `ctx.state.validatedData`. Input that is not valid is answered 400 with messages by field, and the method is not called.
 *
 * An action of an object that writes may read it by `getObjectToWrite()`: so the OpenAPI document says 412 of each, and 428
 * where the view set has `requireIfMatch`.
 *
 * Options may also be statics of the view set, such as `permissionClasses` or `serializerClass`: they hold for the action.
 * A subclass inherits its parents' actions; a method that overrides one keeps what was said of it, unless it is decorated
 * itself. With several decorators on a method this one comes first.
 * @throws {ConfigurationError} no method, one that is not HTTP's, or an input serializer with GET
 * @example
 * class BookViewSet extends ModelViewSet<Book> {
 *   @action({ methods: ['POST'], detail: true, inputSerializer: PublishInput, permissionClasses: [IsAdminUser] })
 *   async publish(data: Input<typeof PublishInput>) {
 *     const book = await this.getObject()
 *     await book.$query(this.trx).patch({ published_on: data.published_on })
 *     return this.getSerializer({ obj: book }).data
 *   }
 * }
 * @example action({ methods: ['GET'] })(BookViewSet.prototype.recent) // without decorators
 */
export function action<
  S extends SerializerClass | StandardSchema = never,
  O extends ActionOutput = never,
  const Q extends NonNullable<ActionStatics['queryParameters']> = never,
>(options: ActionOptions<S, O, Q>): ActionDecorator<ActionMethod<S, O, Q>> {
  checkKinds('action()', options, { kinds: OPTIONS })
  const { detail = false, urlPath, urlName, inputSerializer, outputSerializer: output } = options
  const methods = (options as Partial<ActionOptions>).methods ?? []
  const lowered = methods.map((method) => method.toLowerCase())
  const unknown = lowered.find((method) => !METHODS.some((known) => known === method))
  if (lowered.length === 0 || unknown !== undefined) {
    throw new ConfigurationError(
      `action(): methods is ${JSON.stringify(methods)}; name one or more of GET, QUERY, POST, PUT, PATCH and DELETE`,
    )
  }
  if (inputSerializer && lowered.includes('get')) {
    throw new ConfigurationError(
      'action(): an inputSerializer reads the body, and GET has none; write two actions with one urlPath',
    )
  }
  if (isList(output) && (output as readonly unknown[]).length !== 1) {
    throw new ConfigurationError('action(): outputSerializer is a list; give what its items are as its one element')
  }
  if (options.rule !== undefined && !RULES.has(options.rule)) {
    throw new ConfigurationError(`action(): rule is ${quote(options.rule)}; take one of ${[...RULES].join(', ')}`)
  }
  const { queryParameters: query } = options as ActionStatics
  const isChecked = query !== undefined && !Array.isArray(query)
  const named = STATICS.filter((name) => name in options && !(isChecked && name === 'queryParameters'))
  const statics = Object.fromEntries(named.map((name) => [name, options[name]]))
  const settings = {
    methods: [...new Set(lowered)],
    detail,
    urlPath,
    urlName,
    inputSerializer: toSerializer(inputSerializer),
    querySerializer: isChecked ? actionSerializer(query as ActionInput, 'query parameters') : undefined,
    outputSerializer: toSerializer(isList(output) ? output[0] : output),
    outputsList: isList(output),
    rule: options.rule,
    statics,
  }
  function decorate(target: unknown, context?: unknown, descriptor?: { value?: unknown }): unknown {
    const isMethod = typeof context !== 'object' || (context as Partial<ClassMethodDecoratorContext>).kind === 'method'
    const method: unknown = descriptor ? descriptor.value : target
    if (!isMethod || typeof method !== 'function' || isStatic(context)) {
      throw new ConfigurationError('action(): is for methods of a view set, not for statics, accessors or fields')
    }
    // all view sets share it
    if (isOurs(method)) {
      throw new ConfigurationError(`action(): ${method.name}() has a route of its own; override it, or add a method`)
    }
    keepSettings(method, settings)
    return context === undefined ? method : undefined
  }
  return decorate as ActionDecorator<ActionMethod<S, O, Q>>
}

/** The serializer class of what an action takes, made of fields where it is given those. */
export function actionSerializer(given: ActionInput, name: string): SerializerClass {
  if (isStandardSchema(given)) return serializerOfSchema(given)
  if (typeof given === 'function') return given
  const fields: DeclaredFields = given
  const made = class extends Serializer {
    static override declaredFields = fields
  }
  return markInline(Object.defineProperty(made, 'name', { value: name }))
}

function toSerializer(given: SerializerClass | StandardSchema | undefined): SerializerClass | undefined {
  return isStandardSchema(given) ? serializerOfSchema(given) : given
}

function isStatic(context: unknown): boolean {
  return typeof context === 'object' && (context as Partial<ClassMethodDecoratorContext>).static === true
}

function isList(output: ActionOutput | undefined): output is readonly [SerializerClass | StandardSchema] {
  return Array.isArray(output)
}
