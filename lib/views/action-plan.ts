/**
 * What an action does, decided before any request: one plan for each action of each registration. Requests, OPTIONS, the
 * OpenAPI document, tools and `explain()` read the same one.
 */

import type { DatabaseScope } from '../http/database-role.js'
import { decided, oncePer } from '../kernel/once-per.js'
import { reasonOf } from '../kernel/reasons.js'
import { oncePerCatalogue } from '../models/describe-model.js'
import { traitsOf } from '../models/model-traits.js'
import { sendsEvents } from '../renderers/event-stream-renderer.js'
import { insertObstacle } from '../rows/inserter.js'
import { type Statements, statementsOf } from '../rows/row-access.js'
import { decideRows } from '../rows/row-plan.js'
import type { RowPlan } from '../rows/row-shape.js'
import type { RuleSet } from '../rules/rule-set.js'
import type { SerializerClass } from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'
import { standardSchemaOf } from '../serializers/schema-serializer.js'
import { type ActionClass, type AnswerSchema, actionClass, actionsOf, permittingClass } from './action-options.js'
import { type ActionMap, actionNamed, changesObject, showsObject, takesMany } from './actions.js'
import { type GenericViewClass, hasModel } from './generic-view-class.js'
import { declaredInput } from './input-class.js'
import { INPUT, type RowAnswer, rowMethods } from './overrides.js'
import { policiesOf } from './policies.js'
import type { Replicas } from './replicas.js'
import { recordingClass } from './request/log-writes.js'
import { type Resource, resourceOf } from './resource.js'
import type { HandledClass, ParentLink, ViewPolicies } from './view.js'
import { WritingPlan } from './writing-plan.js'

/** An action in its place: the class that answers, the other methods of the path, and what a router says of it. */
export interface ActionRoute {
  /** The class, with the statics of its action. */
  readonly view: HandledClass
  /** The name of the method that answers. */
  readonly action: string
  /** Which methods the path takes. */
  readonly actions: ActionMap
  /** The first part of the route's name; undefined for a view that no router has registered. */
  readonly basename?: string | undefined
  /** The view sets it is nested in, the outermost first. @default [] */
  readonly parents?: readonly ParentLink[] | undefined
  /** The role and settings of its statements. @default those of the connection */
  readonly database?: DatabaseScope | undefined
  /** Where requests read, beside the view's own database. */
  readonly replicas?: Replicas | undefined
  /** Who sees and writes which rows. */
  readonly rules?: RuleSet | undefined
}

/** The way in which a step is done, and why it is not the fastest one. */
export interface Way<Name extends string> {
  readonly way: Name
  /** A sentence, as `explain()` prints it; null for the fastest way. */
  readonly because: string | null
}

/** How the objects of an answer are read: as rows that become JSON here or in PostgreSQL, or as instances of the model. */
export type ReadingWay =
  | { readonly way: 'rows' | 'native'; readonly because: null; readonly plan: RowPlan; readonly statements: Statements }
  | { readonly way: 'instances'; readonly because: string }

/** @internal What an action does. A request only reads it. */
export class ActionPlan {
  /** The class that answers, with the statics of its action. */
  readonly viewClass: HandledClass
  readonly action: string
  readonly actions: ActionMap
  readonly basename: string | undefined
  readonly parents: readonly ParentLink[]
  readonly database: DatabaseScope | undefined
  readonly replicas: Replicas | undefined
  /** Where it may read beside its own database: what goes on behind its answer, cursors and events, stays there. */
  readonly copies: Replicas | undefined
  readonly rules: RuleSet | undefined
  readonly policies: ViewPolicies
  /** What the renderers write. */
  readonly formats: ReadonlySet<string>
  /** Validates the body before the action is called. */
  readonly inputSerializer: SerializerClass | undefined
  /** Validates what the action reads of the query, before it is called. */
  readonly querySerializer: SerializerClass | undefined
  /** Shows the objects of the action's answer, of the view's own model, in place of the view's serializer. */
  readonly outputSerializer: SerializerClass | undefined
  /** What the action's result is held to. */
  readonly answerSchema: AnswerSchema | undefined
  /** What is decided of the class of a generic view; undefined for any other. */
  readonly resource: Resource | undefined
  /** The class refuses names of bodies or parameters that nothing reads. */
  readonly isStrict: boolean
  readonly #route: ActionRoute
  readonly #beside = new Map<string, ActionPlan>()

  /**
   * @param permissions those in place of the class's
   * @throws {ConfigurationError} a policy list holds something else
   */
  constructor(route: ActionRoute, permissions?: ViewPolicies['permissions']) {
    const { view, action, actions, basename, parents = [], database, replicas, rules } = route
    const own = takesPatches(view, action) ? policiesOf(view) : withoutPatches(policiesOf(view))
    this.viewClass = view
    this.action = action
    this.actions = actions
    this.basename = basename
    this.parents = parents
    this.database = database
    this.replicas = replicas
    this.rules = rules
    this.policies = permissions ? { ...own, permissions } : own
    this.formats = new Set(own.renderers.map(({ format }) => format))
    const {
      inputSerializer,
      querySerializer,
      outputSerializer,
      outputsList = false,
    } = actionsOf(view).get(action) ?? {}
    const answers = outputSerializer && standardSchemaOf(outputSerializer)
    this.inputSerializer = inputSerializer
    this.querySerializer = querySerializer
    this.outputSerializer = outputSerializer && isOf(view, outputSerializer) ? outputSerializer : undefined
    this.answerSchema = answers && { schema: answers, isList: outputsList }
    this.resource = isGeneric(view) ? resourceOf(view) : undefined
    this.isStrict =
      isGeneric(view) &&
      ((view.strictBody !== false && (this.inputSerializer ?? actionNamed(action)) !== undefined) ||
        (view.strictParams &&
          hasModel(view) &&
          (querySerializer !== undefined || (action !== 'list' && actionNamed(action)?.shows !== undefined))))
    const stays = this.resource?.keepsConnections === true || sendsEvents(own.renderers)
    this.copies = stays ? undefined : replicas
    this.#route = route
  }

  /** The plan of another method of the path, in lower case; undefined where it takes none. */
  beside(method: string): ActionPlan | undefined {
    const action = this.actions[method]
    if (action === undefined) return undefined
    let plan = this.#beside.get(action)
    if (!plan) {
      plan = makePlan({ ...this.#route, view: actionClass(this.viewClass, action), action })
      this.#beside.set(action, plan)
    }
    return plan
  }

  /** How the object before the view's own on the path is read; undefined for a view that is not nested. */
  get parent(): GenericPlan | undefined {
    const link = this.parents.at(-1)
    if (!link) return undefined
    const plan = makePlan({
      view: actionClass(link.view, 'retrieve'),
      action: 'retrieve',
      actions: RETRIEVE,
      basename: link.basename,
      parents: this.parents.slice(0, -1),
      rules: this.rules,
    })
    return decided(this, 'parent', plan as GenericPlan)
  }

  /** The plan of the same action about deleted objects, whose permissions are asked about each object, too. */
  get ofDeleted(): ActionPlan {
    const asked = this.resource?.deletion?.permissions?.filter((permission) => permission.guardsObjects()) ?? []
    const isAsked = asked.length > 0 && showsObject(this.action)
    const view = isAsked ? permittingClass(this.viewClass, asked) : this.viewClass
    return decided(this, 'ofDeleted', isAsked ? makePlan({ ...this.#route, view }) : this)
  }

  /** A plan of the same action about what it has written, with no permissions: they were asked about it as it was. */
  get ofWritten(): ActionPlan {
    return decided(this, 'ofWritten', makePlan(this.#route, []))
  }

  /** A plan of the same action with only those permissions that look at objects. */
  get objectGuard(): ActionPlan {
    const asked = this.policies.permissions.filter((permission) => permission.guardsObjects())
    return decided(this, 'objectGuard', makePlan(this.#route, asked))
  }
}

const RETRIEVE: ActionMap = { get: 'retrieve' }

/** How the objects of one kind of answer are read. */
interface AnswerReadings {
  /** Why they are instances, whatever is shown of them; null where it depends on what is shown. */
  readonly because: string | null
  /** @param shown the serializer class of the answer */
  readonly of: (shown: SerializerClass) => ReadingWay
}

/** @internal What an action of a generic view does. */
export class GenericPlan extends ActionPlan {
  declare readonly viewClass: HandledClass & GenericViewClass
  declare readonly resource: Resource
  /** The action is as it comes with the package. */
  readonly isOurs: boolean
  /** Its body is a list of objects, which the package reads. */
  readonly isBulk: boolean
  /** The path names the object that it changes, which the package looks up. */
  readonly hasKey: boolean
  /** Rules, or view sets of related objects, say which rows callers see. */
  readonly limitsRows: boolean
  /** Rules say which fields callers see and set. */
  readonly limitsFields: boolean
  /** Requests are about a part of the queryset: rules, soft deletion, or the objects before them on the path leave rows out. */
  readonly hasScope: boolean
  readonly #readings = new Map<RowAnswer, AnswerReadings>()

  constructor(route: ActionRoute, permissions?: ViewPolicies['permissions']) {
    super(route, permissions)
    const { overrides } = this.resource
    this.isOurs = !overrides.hasPartOf(this.action)
    this.isBulk = this.isOurs && takesMany(this.action)
    this.limitsRows = this.rules !== undefined || Object.keys(this.viewClass.related).length > 0
    this.limitsFields = this.rules?.fields.isEmpty === false
    this.hasScope = this.rules !== undefined || this.parents.length > 0 || this.viewClass.softDelete !== null
    this.hasKey = this.isOurs && changesObject(this.action) && !overrides.writtenLookup
  }

  /**
   * How the objects of an answer are read, as far as classes say. Of a request, the connection and the
   * renderer have a say, too (`openRows()`), and its query (`RowAccess.obstacleOf()`, by `listSource()` and `findRows()`).
   * @param answer what is answered: what the action itself answers, or a stream of it
   */
  readings(answer: RowAnswer): AnswerReadings {
    let known = this.#readings.get(answer)
    if (!known) {
      // code of the application's may look at what it gets; a stream is one whatever the form, and whoever asks for it
      const isOther = answer !== 'stream' && this.action !== answer
      const own = isOther ? `${this.action}() is the application's own` : null
      const because = this.resource.overrides.why(rowMethods(answer)) ?? own
      const of = oncePer((shown: SerializerClass): ReadingWay => {
        return because === null ? this.#decideReading(answer, shown) : { way: 'instances', because }
      })
      known = { because, of }
      this.#readings.set(answer, known)
    }
    return known
  }

  #decideReading(answer: RowAnswer, shown: SerializerClass): ReadingWay {
    const instances = (because: string) => ({ way: 'instances', because }) as const
    const { viewClass, resource } = this
    const { plan, because } = decideRows(shown)
    // a serializer may be shared by views of several tables
    if (serializerPlan(shown).model?.model !== resource.model.model)
      return instances(`${shown.name} is of another model than ${viewClass.name}`)
    if (!plan) return instances(because)
    // one statement would make the lists of all objects before it gives the first of them
    const isCursor = answer === 'stream' || (answer === 'list' && resource.keepsConnections)
    if (isCursor && plan.lists.length > 0)
      return instances('it is read in portions, each with the lists of its objects')
    const obstacle = answer === 'retrieve' ? resource.objectObstacle : null
    if (obstacle !== null) return instances(obstacle)
    return {
      way: viewClass.useNativeJson && plan.isNative ? 'native' : 'rows',
      because: null,
      plan,
      statements: statementsOf(shown),
    }
  }

  /** What is written must be in the view's own queryset. */
  get keepsQueryset(): boolean {
    return decided(this, 'keepsQueryset', !(this.resource.isWholeTable || this.viewClass.mayLeaveQueryset))
  }

  /** Rows that were written may be refused once they are there: a transaction takes them back. */
  get refusesRows(): boolean {
    return decided(this, 'refusesRows', this.limitsRows || this.keepsQueryset)
  }

  /** What the action writes is recorded, in its transaction. */
  get recordsChanges(): boolean {
    return decided(this, 'recordsChanges', recordingClass(this.viewClass) !== undefined)
  }

  /** What it writes is written together: its class says so, or rows may be refused that it has written. */
  get writesTogether(): boolean {
    const { atomic, concurrency } = this.viewClass
    return atomic || this.refusesRows || this.recordsChanges || concurrency !== null
  }

  /** How the action changes or deletes the object on the path, as far as classes say, and how it holds, changes and deletes rows. */
  get writing(): WritingPlan {
    return decided(this, 'writing', new WritingPlan(this))
  }

  /** How the action inserts, as far as classes say: by one statement, or by `serializer.save()`. */
  get inserting(): Way<'statement' | 'serializer'> {
    const because = this.#insertObstacle()
    return decided(this, 'inserting', { way: because === null ? 'statement' : 'serializer', because } as const)
  }

  #insertObstacle(): string | null {
    const { action, resource } = this
    const { name } = this.viewClass
    const serializerClass = declaredInput(this.viewClass)
    if (action !== 'create' && action !== 'bulkCreate') return `${action}() is the application's own`
    if (this.refusesRows && (action !== 'create' || !resource.lookup.unique))
      return 'rules, or querysets, say which of the rows may be written'
    const { overrides } = resource
    const overridden = overrides.why([action]) ?? resource.ownHook(action) ?? overrides.why(INPUT)
    if (overridden !== null) return overridden
    if (!serializerClass) return `${name} has no serializerClass`
    return reasonOf([
      insertObstacle(serializerClass),
      resource.stored(action, serializerClass).because,
      recordingClass(this.viewClass)?.statementObstacle(this),
    ])
  }

  /** One query, the same for every request, says whether an object of the path, and those before it, are there. */
  get isPlain(): boolean {
    const { resource, viewClass, parent } = this
    const isAlone = !resource.needsObject && resource.isWholeTable && traitsOf(viewClass.modelClass()).plainRows
    const isPlain = isAlone && (!parent || (viewClass.parentLookupField !== undefined && parent.isPlain))
    return decided(this, 'isPlain', isPlain)
  }
}

/** True for a serializer of the view's own model. */
function isOf(view: HandledClass, serializer: SerializerClass): boolean {
  const { model } = serializer as { readonly model?: unknown }
  return isGeneric(view) && hasModel(view) && model === view.modelClass()
}

function isGeneric(view: HandledClass): view is HandledClass & GenericViewClass {
  return 'modelClass' in view
}

function makePlan(route: ActionRoute, permissions?: ViewPolicies['permissions']): ActionPlan {
  return new (isGeneric(route.view) ? GenericPlan : ActionPlan)(route, permissions)
}

/** The plan of an action in its place, the same for as long as the catalogue is. @throws {ConfigurationError} */
export const planOf: (route: ActionRoute) => ActionPlan = oncePerCatalogue((route) => makePlan(route))

/** True for an action whose object a patch document may change: PATCH of one object, or a method that the router does not know. */
function takesPatches(view: ActionClass, action: string): boolean {
  return action === 'partialUpdate' || !(actionNamed(action) || actionsOf(view).has(action))
}

function withoutPatches(policies: ViewPolicies): ViewPolicies {
  const parsers = policies.parsers.filter(({ patch }) => patch === undefined)
  return parsers.length === policies.parsers.length ? policies : { ...policies, parsers }
}
