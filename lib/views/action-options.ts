/** What `action()` has said of a view set's methods, and how it is found again. */
import { checkStatic } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import { hyphenate, snakeCase } from '../kernel/naming.js'
import { oncePer } from '../kernel/once-per.js'
import type { StandardSchema } from '../kernel/standard-schema.js'
import type { SerializerClass } from '../serializers/contract.js'
import { ACTIONS, permissionsBeside } from './actions.js'

/** What a rule may be asked about an object. */
export type ObjectRule = 'read' | 'update' | 'delete'

/** What was said of a method, before its name is known. */
export interface ActionSettings {
  /** HTTP methods in lower case. */
  readonly methods: readonly string[]
  readonly detail: boolean
  readonly urlPath: string | undefined
  readonly urlName: string | undefined
  readonly inputSerializer: SerializerClass | undefined
  /** Checks what the action reads of the query. */
  readonly querySerializer: SerializerClass | undefined
  readonly outputSerializer: SerializerClass | undefined
  /** The action answers with a list of what `outputSerializer` shows. */
  readonly outputsList: boolean
  /** The rule that its object must meet, where the action holds it; undefined for that of its method. */
  readonly rule: ObjectRule | undefined
  /** Statics of the view that are others for this action. */
  readonly statics: Readonly<Record<string, unknown>>
}

/** An action of a view set. */
export interface ActionDescription extends ActionSettings {
  /** The name of the method that answers. */
  readonly action: string
  /** What the path ends in. */
  readonly urlPath: string
  /** The end of the route's name. */
  readonly urlName: string
}

/** A class with actions. */
export interface ActionClass {
  readonly name: string
  readonly prototype: object
}

const SETTINGS = Symbol('what action() has said of the method')

type ActionMethod = object & { [SETTINGS]?: ActionSettings }

/** Remembers what was said of a method. */
export function keepSettings(method: ActionMethod, settings: ActionSettings): void {
  method[SETTINGS] = settings
}

/**
 * The actions of a class, those it inherits first. A method that overrides an action stays one: it keeps what was said of
 * the method it overrides, unless `action()` says something of it, too.
 */
export const actionsOf = oncePer(
  ({ prototype }: ActionClass): ReadonlyMap<string, ActionDescription> => findActions(prototype),
)

function findActions(prototype: object): Map<string, ActionDescription> {
  const parent = Object.getPrototypeOf(prototype) as object | null
  const found = parent ? findActions(parent) : new Map<string, ActionDescription>()
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    const settings = typeof value === 'function' ? (value as ActionMethod)[SETTINGS] : undefined
    if (settings) found.set(name, describe(name, settings))
    // something else has taken the name
    else if (typeof value !== 'function') found.delete(name)
  }
  return found
}

function describe(action: string, settings: ActionSettings): ActionDescription {
  const { urlPath = snakeCase(action), urlName = hyphenate(action) } = settings
  return { ...settings, action, urlPath, urlName }
}

/** @internal A schema of what an action answers, or of each item of the list that it answers. */
export interface AnswerSchema {
  readonly schema: StandardSchema
  readonly isList: boolean
}

const variantsOf = oncePer<ActionClass, Map<string, ActionClass>>(() => new Map())
/** The classes that variants were made of. */
const originals = new WeakMap<object, object>()

/** The class that a variant for an action was made of; any other class itself. */
export function originalOf<View extends object>(view: View): View {
  return (originals.get(view) ?? view) as View
}

type ViewLike = ActionClass & (new () => object)
type Statics = ActionSettings['statics']

/** The class that answers an action: the view's own, or a subclass of it with the statics that are the action's. */
export function actionClass<View extends ViewLike>(given: View, action: string): View {
  const view = originalOf(given)
  return variantOf(view, action, () => {
    const statics = actionsOf(view).get(action)?.statics ?? {}
    const beside = permissionsBeside(view, action)
    return beside ? permitting(view, beside, statics) : statics
  })
}

/** A class like another whose permissions are asked besides its own. */
export function permittingClass<View extends ViewLike>(view: View, beside: readonly object[]): View {
  // the name of no action
  return variantOf(view, '?', () => permitting(view, beside))
}

function permitting(view: ActionClass, beside: readonly object[], statics: Statics = {}): Statics {
  const { permissionClasses } = {
    permissionClasses: Reflect.get(view, 'permissionClasses') as readonly object[],
    ...statics,
  }
  return { ...statics, permissionClasses: [...permissionClasses, ...beside] }
}

function variantOf<View extends ViewLike>(view: View, key: string, overriding: () => Statics): View {
  const variants = variantsOf(view)
  const known = variants.get(key) as View | undefined
  if (known) return known
  const statics = Object.entries(overriding())
  if (statics.length === 0) return view
  const variant = class extends (view as new () => object) {} as View
  Object.defineProperty(variant, 'name', { value: view.name })
  for (const [name, value] of statics) {
    if (!(name in view)) {
      throw new ConfigurationError(`${view.name}.${key}: action() sets ${name}, which the view does not have`)
    }
    checkStatic(`${view.name}.${key}: action()`, view, name, value)
    Object.defineProperty(variant, name, { value, enumerable: true })
  }
  originals.set(variant, originalOf(view))
  variants.set(key, variant)
  return variant
}

/** The class itself and those that answer its actions with statics of their own. */
export function classesOf<View extends ViewLike>(view: View): readonly View[] {
  const actions = [...actionsOf(view).keys(), ...ACTIONS.map(({ name }) => name)]
  return [...new Set([view, ...actions.map((action) => actionClass(view, action))])]
}
