/** Checks input and writes output, one object or a list of them. */

import type { SerializerContext, Validator } from '../fields/field.js'
import { begin } from '../kernel/begun-work.js'
import { described, insteadOf } from '../kernel/declarations.js'
import { ConfigurationError, type ErrorMessages, ValidationError } from '../kernel/errors.js'
import { getOrInsert } from '../kernel/maps.js'
import { isThenable } from '../kernel/realms.js'
import { nameColumns } from '../renderers/renderer.js'
import type {
  AnySerializer,
  BoundField,
  DeclaredFields,
  FieldsDescription,
  ForcedValues,
  SerializerClass,
  SerializerOptions,
  SerializerPlan,
} from './contract.js'
import { tooManyNested } from './count-nested.js'
import { declaredFieldsOf } from './declared-fields.js'
import { belongsToField } from './hooks.js'
import { serializerPlan } from './plan.js'
import { represent, withoutHidden } from './represent.js'
import { routeContext } from './route-context.js'
import { keepsUploads, withUploads } from './store-uploads.js'
import { withValues } from './unchanged.js'
import { validateItems } from './validate-items.js'
import { type Outcome, refuseOpaque, type ValidationScope } from './validated-item.js'

export interface ValidityOptions {
  /** Throw a `ValidationError` when the input is not valid. @default false */
  readonly raiseException?: boolean
  /** @internal Leave foreign keys to the database, which checks them when the row is written. */
  readonly trustKeys?: boolean
}

/** A view whose caller may not see all fields. */
type SeesFields = { readonly seenClass?: (serializer: SerializerClass) => SerializerClass } | undefined

/** The outcome of a validation. */
export interface Validity {
  readonly valid: boolean
  readonly value: unknown
  readonly errors: ErrorMessages
}

/**
 * Declared fields over plain objects. Subclass `ModelSerializer` for models.
 *
 * Hooks a subclass may add:
 * - `validate<Field>(value, stored)`: after the field's own checks; returns the value to keep, or nothing to keep it as it is
 * - `validate(data, stored)`: after all fields; returns the data to keep, or nothing
 * - `create(data)`, `update(instance, data)`: called by `save()`
 *
 * `stored` is the object that is changed: each by itself in bulk requests, where `obj` is all of them, and in nested lists; it is
 * undefined for a new one. Hooks report what is wrong by throwing a `ValidationError`, and may be asynchronous.
 *
 * @example
 * class PublishInput extends Serializer {
 *   static override declaredFields = { published_on: new DateField() }
 * }
 * const serializer = new PublishInput({ inputData: ctx.request.body })
 * await serializer.isValid({ raiseException: true })
 * serializer.validatedData
 */
// biome-ignore lint/suspicious/noExplicitAny: shapes that nobody has told
export class Serializer<T extends object = object, Shown = any, Taken = any> implements AnySerializer {
  /** The fields, by name. A subclass's fields are added to its parent's. */
  static declaredFields: DeclaredFields = {}
  /** The name in OpenAPI, not inherited. @default the class's name without `Serializer` */
  static schemaName: string | null = null
  /**
   * Checks of an object as a whole, behind those of its fields and before `validate(data)`: functions of the validated data,
   * or schemas of zod, valibot or arktype, whose output is laid over it. On PATCH they see the stored values of other columns,
   * as they are shown, beside those that are given.
   * @default []
   */
  static validators: readonly Validator[] = []

  /** What is known of the class before any request: field names, read-only and writable sets, column map, identity flag. */
  static get plan(): SerializerPlan {
    return serializerPlan(this)
  }

  /** @internal The fields in their order, and the model they are of. */
  static describeFields(): FieldsDescription {
    return { fields: declaredFieldsOf(this), model: undefined }
  }

  /** @internal Names made read-only by the class. */
  static readOnlyFieldNames(): readonly string[] {
    return []
  }

  /** @internal Checks what needs no database. @throws {ConfigurationError} */
  static checkFields(): void {}

  /** The input as it was given. */
  readonly inputData: unknown
  /** It works on a list. */
  readonly many: boolean
  /** Missing fields are left as they are. */
  readonly partial: boolean
  /** The input's values are strings. */
  readonly textual: boolean
  /** @internal */
  readonly forced: ForcedValues | undefined
  /** What the serializer knows of its surroundings. */
  context: SerializerContext
  /** The object (or list) that is shown, updated, or was created by `save()`. */
  obj: T | readonly T[] | undefined
  #plan: SerializerPlan | undefined
  #outcome: Validity | undefined
  readonly #children = new Map<BoundField, AnySerializer>()

  constructor(options: SerializerOptions<T> = {}) {
    this.inputData = options.inputData
    this.obj = options.obj ?? undefined
    this.many = options.many ?? false
    this.partial = options.partial ?? false
    this.textual = options.textual ?? false
    this.forced = options.forced
    this.context = options.context ?? {}
    if (this.context.ctx && this.context.view === undefined) {
      this.context = routeContext(this.context, this.plan.model?.model)
    }
    const mistake = mistakeIn(this) ?? misnamedIn(options)
    if (mistake) throw new ConfigurationError(`${this.constructor.name}: ${mistake}`)
  }

  /** What is known of the class before any request. */
  get plan(): SerializerPlan {
    if (this.#plan) return this.#plan
    const own = this.constructor as SerializerClass
    this.#plan = serializerPlan((this.context.view as SeesFields)?.seenClass?.(own) ?? own)
    return this.#plan
  }

  /** @internal */
  get showsByPlan(): boolean {
    return this.toRepresentation === Serializer.prototype.toRepresentation
  }

  /** The names of all fields, in order. */
  getFieldNames(): string[] {
    return [...this.plan.fieldNames]
  }

  /**
   * A check over all fields of an object, which gets the stored one that is changed, too; undefined for a new one. Returns the
   * data to keep, or nothing to keep it as it is.
   */
  validate(data: Record<string, unknown>, _stored?: T): unknown {
    return data
  }

  /**
   * Validates `inputData`. Afterwards `validatedData` or `errors` holds the result.
   * @throws {ValidationError} with `raiseException`, when the input is not valid
   */
  async isValid(options: ValidityOptions = {}): Promise<boolean> {
    const { trustKeys = false, raiseException } = options
    this.#outcome ??= await this.checkInput({ trustKeys })
    const { valid, errors } = this.#outcome
    if (!valid && raiseException) throw new ValidationError(errors)
    return valid
  }

  /** The checked data by field name; with `many` a list. @throws {Error} before a successful `isValid()` */
  get validatedData(): Taken {
    if (!this.#outcome?.valid) {
      throw new Error(`${this.constructor.name}: validatedData needs an isValid() that was true; await it first`)
    }
    return this.#outcome.value as Taken
  }

  /** Messages by field, empty when the input was valid; with `many` by zero-based position. @throws {Error} before `isValid()` */
  get errors(): ErrorMessages {
    if (!this.#outcome) throw new Error(`${this.constructor.name}: errors needs isValid(); await it first`)
    return this.#outcome.errors
  }

  /**
   * Creates the object, or updates `obj` if there is one; with `many` all of a list, which must be as long as `obj`.
   * `extra` is laid over the validated data.
   * @throws {Error} before a successful `isValid()`
   */
  save(extra: Readonly<Record<string, unknown>> = {}): Promise<T> {
    return begin(this, this.#save(extra))
  }

  async #save(extra: Readonly<Record<string, unknown>>): Promise<T> {
    refuseOpaque(this, 'what save() was given', extra)
    const data: unknown = this.validatedData
    const objects = this.obj === undefined ? undefined : ([this.obj].flat() as T[])
    const items = [data].flat().map((item) => withValues(item as Record<string, unknown>, extra))
    if (Array.isArray(data) && objects && objects.length !== data.length) {
      const lengths = `${data.length} items for ${objects.length} objects`
      throw new ConfigurationError(`${this.constructor.name}: inputData has ${lengths}; give one for each`)
    }
    const write = async (stored: Record<string, unknown>[]): Promise<T | T[]> => {
      if (Array.isArray(data)) return objects ? this.updateMany(objects, stored) : this.createMany(stored)
      const [one = {}] = stored
      return objects ? this.update(objects[0] as T, one) : this.create(one)
    }
    this.obj = keepsUploads(this.plan)
      ? await withUploads({ plan: this.plan, context: this.context, items, current: objects }, write)
      : await write(items)
    return this.obj as T
  }

  /** Creates an object from validated data. */
  create(_data: Record<string, unknown>): Promise<T> | T {
    throw new ConfigurationError(`${this.constructor.name}: override create(data), or extend ModelSerializer`)
  }

  /** Creates a list of objects; by default one after the other. */
  protected async createMany(items: readonly Record<string, unknown>[]): Promise<T[]> {
    const created: T[] = []
    for (const item of items) created.push(await this.create(item))
    return created
  }

  /** Changes a list of objects, each by the data in its place; by default one after the other. */
  protected async updateMany(instances: readonly T[], items: readonly Record<string, unknown>[]): Promise<T[]> {
    const updated: T[] = []
    for (const [position, item] of items.entries()) updated.push(await this.update(instances[position] as T, item))
    return updated
  }

  /** @internal The items of a list that is valid, as serializers of their own, each ready for `save()`. */
  items(): Serializer<T, Shown, Taken>[] {
    const data = this.validatedData as readonly unknown[]
    const objects = this.obj as readonly T[] | undefined
    return data.map((value, position) => {
      const { partial, textual, forced, context } = this
      const inputData = (this.inputData as readonly unknown[])[position]
      const own = { inputData, partial, textual, forced, context, obj: objects?.[position] }
      const item = new (this.constructor as new (options: SerializerOptions<T>) => Serializer<T, Shown, Taken>)(own)
      item.#outcome = { valid: true, value, errors: {} }
      return item
    })
  }

  /** Changes an object by validated data. */
  update(_instance: T, _data: Record<string, unknown>): Promise<T> | T {
    throw new ConfigurationError(`${this.constructor.name}: override update(instance, data), or extend ModelSerializer`)
  }

  /**
   * The output: a plain object, or with `many` a list of them.
   * It reads what is loaded and loads nothing; a relation that is missing is an error.
   */
  get data(): Shown {
    if (this.obj === undefined) {
      throw new Error(`${this.constructor.name}: data needs an object; give obj, or await save() first`)
    }
    const { readable } = this.plan
    if (this.many) {
      return nameColumns(
        (this.obj as readonly T[]).map((item) => withoutHidden(this, this.toRepresentation(item), item)),
        readable,
      ) as Shown
    }
    const output = withoutHidden(this, this.toRepresentation(this.obj as T), this.obj)
    return (typeof output === 'object' && output !== null ? nameColumns(output, readable) : output) as Shown
  }

  /** One object as the client sees it. Override it to change the whole: `return { ...super.toRepresentation(book), kind: 'book' }`. */
  toRepresentation(object: T): unknown {
    return represent(this, object)
  }

  /** @internal The serializer of a nested field: same request, same transaction. */
  child(field: BoundField, serializerClass: SerializerClass): AnySerializer {
    const { partial, textual, context } = this
    return getOrInsert(this.#children, field, () => new serializerClass({ partial, textual, context }))
  }

  /** Runs `work` with another connection or transaction in the context, nested serializers included. */
  protected async withContext<Result>(context: SerializerContext, work: () => Promise<Result>): Promise<Result> {
    const before = this.context
    this.#setContext(context)
    try {
      return await work()
    } finally {
      this.#setContext(before)
    }
  }

  #setContext(context: SerializerContext): void {
    this.context = context
    for (const child of this.#children.values()) if (child instanceof Serializer) child.#setContext(context)
  }

  /** @internal Loads what nested data is checked against: the objects that it would change. */
  async loadTargets(): Promise<void> {}

  /** @internal */
  async checkInput(scope: ValidationScope): Promise<Validity> {
    const { inputData } = this
    const tooMany = this.plan.nesting.length > 0 ? tooManyNested(this, inputData, this.many) : undefined
    if (tooMany) return { valid: false, value: undefined, errors: tooMany }
    await this.loadTargets()
    if (!this.many) {
      return validityOfOne(await validateItems(this, [{ input: inputData, current: this.obj }], scope))
    }
    if (!Array.isArray(inputData)) {
      return { valid: false, value: undefined, errors: { non_field_errors: ['Expected a list of items.'] } }
    }
    const objects = this.obj as readonly object[] | undefined
    const items = inputData.map((input: unknown, position) => ({ input, current: objects?.[position] }))
    return validityOfAll(await validateItems(this, items, scope))
  }
}

/** @internal A serializer of objects of any type. */
// biome-ignore lint/suspicious/noExplicitAny: of any type
export type SerializerOfAny = Serializer<any>

described(
  Serializer,
  { declaredFields: 'record', schemaName: 'name or null', validators: 'validators' },
  'serializer',
  belongsToField,
)

insteadOf(Serializer, {
  toInternalValue: 'write validate(data), or a field class with a toInternalValue() of its own',
  runValidation: 'write validate(data)',
  getFields: 'name the fields in static fields and declaredFields; rules say who sees which',
  exclude: 'name the fields that are left in static fields',
  writeOnlyFields: 'set writeOnly: true in static extraKwargs',
  listSerializerClass: 'override createMany() and updateMany()',
})

/** True when neither `toRepresentation` nor `data` is the application's own. */
export function writesByPlan(prototype: object): boolean {
  return (
    prototype instanceof Serializer &&
    prototype.toRepresentation === Serializer.prototype.toRepresentation &&
    !hasOwnData(prototype)
  )
}

/** True where `data` is the application's own, which may need no object. */
export function hasOwnData(serializer: object): boolean {
  return ownerOfData(serializer) !== Serializer.prototype
}

/** The prototype that has the getter `data`. */
function ownerOfData(prototype: object | null): object | null {
  let owner = prototype
  while (owner && !Object.hasOwn(owner, 'data')) owner = Object.getPrototypeOf(owner) as object | null
  return owner
}

/** What is given in place of an object, or of a list, and would be shown as an object of nulls or written as some other one. */
function mistakeIn({ obj, inputData, many }: SerializerOptions): string | undefined {
  if (isThenable(obj) || isThenable(inputData)) return `${isThenable(obj) ? 'obj' : 'inputData'} is a promise; await it`
  if (obj === undefined || Array.isArray(obj) === many) return undefined
  return many ? 'obj is no list; leave out many: true, or give a list' : 'obj is a list; give many: true'
}

/** Names that say nothing here, of who knows Django REST framework. */
function misnamedIn(options: SerializerOptions): string | undefined {
  if (options.inputData !== undefined || options.obj !== undefined) return undefined
  if ('data' in options) return 'data is no option; give inputData: data'
  return 'instance' in options ? 'instance is no option; give obj: instance' : undefined
}

function validityOfOne(outcomes: readonly Outcome[]): Validity {
  const { value, errors } = outcomes[0] as Outcome
  return { valid: errors === undefined, value, errors: errors ?? {} }
}

function validityOfAll(outcomes: readonly Outcome[]): Validity {
  const errors: ErrorMessages = {}
  for (const [position, outcome] of outcomes.entries()) if (outcome.errors) errors[position] = outcome.errors
  return { valid: Object.keys(errors).length === 0, value: outcomes.map(({ value }) => value), errors }
}
