/** Actions of view sets that factories make: what they take and work on has its type. */
import { isSafeMethod } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import type { StandardSchema } from '../kernel/standard-schema.js'
import type { DeclaredFields, SerializerClass } from '../serializers/contract.js'
import type { Input, WholeValues } from '../serializers/types.js'
import {
  type ActionInput,
  type ActionOutput,
  type ActionStatics,
  type Answered,
  type AskedOf,
  action,
  actionSerializer,
} from '../views/action.js'
import type { ObjectRule } from '../views/action-options.js'
import { holdingRows } from '../views/request/in-view-transaction.js'
import type { GenericViewSet } from '../views/view-set.js'

/** The validated data of an action's input; undefined for an action that takes none. */
export type InputOf<I> =
  I extends StandardSchema<unknown, infer Output>
    ? Output
    : I extends SerializerClass
      ? Input<I>
      : I extends DeclaredFields
        ? WholeValues<I>
        : undefined

/** What a function gets of an action's body and query: nothing of what the action does not take. */
export type ActionArguments<I, Spec> = [
  ...(undefined extends I ? [] : [data: InputOf<I>]),
  ...(Spec extends { readonly queryParameters: infer Q } ? AskedOf<Q> : []),
]

/** What is said of an action. Statics of the view set are others while it answers. */
export interface ActionSpec<I> extends ActionStatics {
  /** HTTP methods: `GET`, `POST`, `PUT`, `PATCH`, `DELETE`. HEAD comes with GET. */
  readonly methods: readonly string[]
  /** Validates the body before the action runs. Not with GET. */
  readonly input?: I
  /**
   * What the action answers: an object, or in brackets a list. A serializer class is for the OpenAPI document, and where it
   * is of the view's model for `getSerializer()`. A schema of zod, valibot or arktype is asked of what the action returns, and the client gets what it makes of that; a result that
   * it refuses is a 500. See docs/reference/schemas.md.
   */
  readonly output?: ActionOutput
  /**
   * What a rule of the API must allow of the object that is given to the function, where the request writes: `read` is enough
   * for an action that writes something else, such as a loan of a book. @default 'update'
   */
  readonly rule?: ObjectRule
  /** The end of the path; may have several parts and parameters, such as `pages/{page:int}`, or be empty. @default the action's name in snake_case */
  readonly urlPath?: string
  /** The end of the route's name. @default the action's name with hyphens */
  readonly urlName?: string
}

/** What runs an action. */
// biome-ignore lint/suspicious/noExplicitAny: methods of any view set, each with types of its own
type Run = (this: any, ...values: any[]) => unknown

// biome-ignore lint/suspicious/noExplicitAny: the model is that of the view set which an action becomes part of
type AnyViewSet = GenericViewSet<any>

/** What an action is, as types. */
export interface ActionTypes {
  /** The view set that it is of. */
  readonly view: unknown
  /** What it takes. */
  readonly input: unknown
  /** All that is said of it. */
  readonly spec: unknown
  /** What it returns. */
  readonly result: unknown
  /** It is one of an object. */
  readonly detail: boolean
}

/** What an action may return. */
type ResultOf<Spec> = Spec extends { readonly output: infer O } ? Answered<O> : unknown

/** Options that no action has. */
type Misspelt<Spec> = { readonly [K in Exclude<keyof Spec, keyof ActionSpec<unknown>>]: never }

/** An action that is not a method of a class yet. */
export class ViewSetAction<Types extends ActionTypes = ActionTypes> {
  /** It is one of an object, not of the collection. */
  readonly detail: boolean
  /** What was said of it. */
  readonly spec: ActionSpec<unknown>
  /** What runs it, with the view as `this`. */
  readonly run: Run
  /** @internal types only */
  declare readonly types?: Omit<Types, 'view'> & { readonly view: (view: Types['view']) => void }

  constructor(detail: boolean, spec: ActionSpec<unknown>, run: Run) {
    this.detail = detail
    this.spec = spec
    this.run = run
  }
}

/**
 * An action of one object, at `/<prefix>/{id}/<action>`. A request that writes holds the object's row from before it is given
 * to the function, as `getObjectToWrite()` does; with `atomic: false` rules and preconditions are asked alike, and the row is
 * free again when the function begins.
 * @param run gets the object, and the validated input and query where the action takes them; `this` is the view
 * @example
 * actions: {
 *   publish: objectAction({ methods: ['POST'], input: { published_on: new DateField() } }, async function (book, data) {
 *     await book.$query(this.trx).patch({ published_on: data.published_on })
 *     return this.getSerializer({ obj: book }).data
 *   }),
 * }
 */
export function objectAction<
  View extends AnyViewSet,
  const I extends ActionInput | undefined = undefined,
  const Spec extends ActionSpec<unknown> = ActionSpec<I>,
  Result extends ResultOf<Spec> = ResultOf<Spec>,
>(
  spec: ActionSpec<I> & Spec & Misspelt<Spec>,
  run: (this: View, object: ObjectOf<View>, ...given: ActionArguments<I, Spec>) => Result,
): ViewSetAction<{ view: View; input: I; spec: Spec; result: Result; detail: true }> {
  return new ViewSetAction(true, spec, run)
}

/**
 * An action of the whole collection, at `/<prefix>/<action>`.
 * @param run gets the validated input and query where the action takes them; `this` is the view
 */
export function listAction<
  View extends AnyViewSet,
  const I extends ActionInput | undefined = undefined,
  const Spec extends ActionSpec<unknown> = ActionSpec<I>,
  Result extends ResultOf<Spec> = ResultOf<Spec>,
>(
  spec: ActionSpec<I> & Spec & Misspelt<Spec>,
  run: (this: View, ...given: ActionArguments<I, Spec>) => Result,
): ViewSetAction<{ view: View; input: I; spec: Spec; result: Result; detail: false }> {
  return new ViewSetAction(false, spec, run)
}

/** An action that a view set may have. It names the view alone: more would be what the compiler infers the action's own types from. */
export interface ActionFor<View> {
  readonly detail: boolean
  readonly spec: ActionSpec<unknown>
  readonly run: Run
  /** @internal types only */
  readonly types?: { readonly view: (view: View) => void }
}

type ObjectOf<View> = View extends { getObject(): Promise<infer M> } ? M : never

/** What a view is given with each request. */
const OF_REQUEST: ReadonlySet<string> = new Set(['ctx', 'plan', 'body'] satisfies (keyof GenericViewSet)[])

/** Adds actions to a view set's class. @throws {ConfigurationError} one is no action, or its options are wrong */
export function addActions(
  view: typeof GenericViewSet,
  actions: Readonly<Record<string, ActionFor<AnyViewSet>>>,
): void {
  for (const [name, one] of Object.entries(actions)) {
    if (!(one instanceof ViewSetAction)) {
      throw new ConfigurationError(`${view.name}: actions.${name} is no action; write objectAction() or listAction()`)
    }
    if (name in view.prototype || OF_REQUEST.has(name)) {
      throw new ConfigurationError(`${view.name}: actions.${name} has the name of a member of the view; choose another`)
    }
    const { detail, spec, run } = one
    const { input, output, ...options } = spec
    const method = detail ? objectMethod(run) : listMethod(run)
    action({
      ...options,
      detail,
      ...(input === undefined ? {} : { inputSerializer: actionSerializer(input as ActionInput, `input of ${name}`) }),
      ...(output === undefined ? {} : { outputSerializer: output }),
    })(method as () => unknown)
    Object.defineProperty(view.prototype, name, { value: method, writable: true, configurable: true })
  }
}

/** The method of an action of the collection: one of its own, as several actions may have one function. */
function listMethod(run: Run): Run {
  return function listAction(this: AnyViewSet, ...given: unknown[]) {
    return run.call(this, ...given)
  }
}

/** The method of an action of one object: it finds the object first. */
function objectMethod(run: Run): Run {
  return async function objectAction(this: AnyViewSet, ...given: unknown[]) {
    const isWritten = (this.trx ?? this.knex) !== undefined && !isSafeMethod(this.ctx.method)
    const object: unknown = await (isWritten ? holdingRows(this, () => this.getObjectToWrite()) : this.getObject())
    return run.call(this, object, ...given)
  }
}
