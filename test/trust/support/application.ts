/** Applications by chance: view sets over the estate, one below the other, each with its own way to say who sees and may what. */
import {
  APIRouter,
  BaseFilter,
  type Context,
  type DeclaredFields,
  FieldFilter,
  IntegerField,
  ModelSerializer,
  NestedRouter,
  NestedSerializer,
  PrimaryKeyRelatedField,
  type SerializerContext,
  SerializerMethodField,
  StringField,
} from 'koa-viewsets'
import { type ModelRule, type RuleCaller, rule } from 'koa-viewsets/rules'
import { type Model, raw } from 'objection'
import { belowOf, LEVELS, type Level, parentOf } from './estate.js'
import {
  Label,
  MODELS,
  type Models,
  ownModels,
  Person,
  rowRules,
  type ViewSetClass,
  viewOf,
  type Writes,
} from './estate-views.js'
import { type Nests, nestedParts } from './nests.js'
import type { Random } from './random.js'
import { LEAF_NAMES, nameOf, policyOf, type Rule } from './rules.js'
import { caller, RULE, SHAPES, type Shape } from './shapes.js'
import { baseModel, FORMER_NAMES, mixedIn, PAGES, randomStatics, type Statics, viewStatics } from './statics.js'
import { ATOM_NAMES, all, any, atom, type Condition, describe, not, toSql } from './visibility.js'

/** How the objects of a level are served. */
export interface Resource {
  readonly level: Level
  readonly shape: Shape
  readonly condition: Condition
  /** A filter backend, of lists. */
  readonly filter: Condition | undefined
  readonly rules: readonly Rule[]
  readonly isPaginated: boolean
  readonly ordering: readonly string[]
  /** A method field, of the row's columns, or of a related object that is shown beside it. */
  readonly method: 'none' | 'columns' | 'relation'
  readonly isNative: boolean
  readonly isAtomic: boolean
  readonly hasConcurrency: boolean
  /** A written row may be one that its writer does not see. */
  readonly mayLeave: boolean
  /** Where a rule says who sees what: who may write what they see. */
  readonly writes: Writes
  /** A field of which only the staff may read and set the values: left out, or masked. */
  readonly secret: 'none' | 'n' | 'title'
  /** Of the labels callers may choose the first two, but for the staff. */
  readonly narrowsLabels: boolean
  /** What view sets say besides. */
  readonly statics?: Statics
  /** What stands inside of its objects. */
  readonly nests?: Nests
}

/** Where objects of a resource are found: their path's objects, one below the other. */
export interface Route {
  readonly chain: readonly Resource[]
  /** `/folders/{0}/papers`, with the places of the objects before. */
  readonly path: string
}

export interface Application {
  readonly resources: readonly Resource[]
  readonly routes: readonly Route[]
  /** @default those that all applications have in common */
  readonly models?: Models
  /** Related objects are those that their own view set shows. */
  readonly isRelated?: boolean
}

export function randomApplication(random: Random): Application {
  const [folders, papers, remarks] = LEVELS.map((level) => randomResource(random, level)) as [
    Resource,
    Resource,
    Resource,
  ]
  return {
    resources: [folders, papers, remarks],
    routes: [
      { chain: [folders], path: '/folders' },
      { chain: [papers], path: '/papers' },
      { chain: [folders, papers], path: '/folders/{0}/papers' },
      { chain: [folders, papers, remarks], path: '/folders/{0}/papers/{1}/remarks' },
    ],
  }
}

/** The application with statics by chance. */
export function withStatics(random: Random, application: Application): Application {
  const isOfCallers = random.chance(0.15)
  const withThem = (resource: Resource): Resource => {
    const statics = randomStatics(random, { resource, isOfCallers })
    // what is refused says little of them
    const isOpen = random.chance(0.5)
    return { ...resource, statics, ...(isOpen && { rules: [], condition: any(resource.condition, atom('open')) }) }
  }
  const changed = new Map(application.resources.map((resource) => [resource, withThem(resource)]))
  const changedOf = (resource: Resource) => changed.get(resource) as Resource
  const resources = application.resources.map(changedOf)
  const routes = application.routes.map(({ chain, path }) => ({ chain: chain.map(changedOf), path }))
  const baseOf = (level: Level) => baseModel(resources.find((resource) => resource.level === level)?.statics?.ids)
  return { ...application, resources, routes, models: ownModels(baseOf) }
}

function randomResource(random: Random, level: Level): Resource {
  const shape = random.chance(0.15) ? RULE : random.pick(SHAPES)
  return {
    level,
    shape,
    condition: randomCondition(random, 2),
    filter: random.chance(0.3) ? randomCondition(random, 1) : undefined,
    rules: Array.from({ length: random.pick([0, 0, 1, 1, 2]) }, () => randomRule(random, 2)),
    isPaginated: random.chance(0.3),
    ordering: random.pick([[], ['-id'], ['title', '-id']]),
    method: random.pick(['none', 'columns', 'relation'] as const),
    isNative: random.chance(0.2),
    isAtomic: random.chance(0.85),
    hasConcurrency: random.chance(0.2),
    narrowsLabels: random.chance(0.4),
    mayLeave: random.chance(0.3),
    writes: shape.isRule ? randomWrites(random) : {},
    secret: random.pick(['none', 'none', 'n', 'title'] as const),
  }
}

function randomWrites(random: Random): Writes {
  const said = random.some(['create', 'update', 'delete'] as const)
  return Object.fromEntries(said.map((use) => [use, randomCondition(random, 1)]))
}

function randomCondition(random: Random, depth: number): Condition {
  if (depth === 0 || random.chance(0.15)) {
    const one = atom(random.pick(ATOM_NAMES))
    return random.chance(0.2) ? not(one) : one
  }
  const parts = Array.from({ length: 2 + random.below(2) }, () => randomCondition(random, depth - 1))
  // a caller should see something
  return random.chance(0.7) ? any(...parts) : all(...parts)
}

function randomRule(random: Random, depth: number): Rule {
  if (depth === 0 || random.chance(0.4)) return { leaf: random.pick(LEAF_NAMES) }
  if (random.chance(0.15)) return { none: randomRule(random, depth - 1) }
  const parts = [randomRule(random, depth - 1), randomRule(random, depth - 1)]
  return random.chance(0.65) ? { any: parts } : { all: parts }
}

/** The application in words, for messages. */
export function describeApplication({ resources, isRelated = false }: Application): string {
  const told = resources
    .map((resource) => {
      const { level, shape, condition, filter, rules, writes, ...rest } = resource
      const parts = [
        `${shape.name}: ${describe(condition)}`,
        ...(filter ? [`lists filtered by ${describe(filter)}`] : []),
        `permissions [${rules.map(nameOf).join(', ')}]`,
        ...Object.entries(writes).map(([use, one]) => `${use}: ${describe(one)}`),
        JSON.stringify(rest),
      ]
      return `  ${level}: ${parts.join('; ')}`
    })
    .join('\n')
  return isRelated ? `${told}\n  related objects are those of their own view sets` : told
}

class PersonSerializer extends ModelSerializer<Person> {
  static override model = Person
  static override fields = ['id', 'name']
}

type Shown = Model & { title: string; n: number | null; owner?: { name: string } | null }

/** What a method field says of a row. */
export function byline({ title, owner }: Pick<Shown, 'title' | 'owner'>, by: number | null): string {
  return `${title} by ${owner?.name ?? 'nobody'} for ${by ?? 'anybody'}`
}

/** The router of an application. */
export function routerOf({ resources, routes, models = MODELS, isRelated = false }: Application): APIRouter {
  const api = new APIRouter({ rules: resources.flatMap((resource) => rulesOf(resource, models)) })
  const views = new Map(resources.map((resource) => [resource.level, viewOfResource(resource, models)]))
  if (isRelated) relateViews(views)
  const [folders, papers, remarks] = LEVELS.map((level) => views.get(level)) as [never, never, never]
  api.register('folders', folders, 'folders')
  api.register('papers', papers, 'papers')
  if (routes.some(({ chain }) => chain.length > 1)) {
    const below = new NestedRouter(api, 'folders', { lookup: 'folder_id' })
    below.register('papers', papers, 'folder-papers')
    new NestedRouter(below, 'papers', { lookup: 'paper_id' }).register('remarks', remarks, 'remarks')
  }
  return api
}

/** Says of each view set that its related objects are those of the others. */
function relateViews(views: ReadonlyMap<Level, ViewSetClass>): void {
  const whole = new Map([...views].map(([level, view]) => [level, class extends view {}]))
  for (const view of whole.values()) Object.assign(view, { parentLookupField: '' })
  for (const [level, view] of [...views, ...whole]) {
    const below = belowOf(level)
    const related = { parent: whole.get(parentOf(level)), ...(below && { children: whole.get(below) }) }
    Object.assign(view, { related })
  }
}

/** What is shown of a title that the caller may not read. */
export const MASK = 'a title'

function rulesOf(resource: Resource, models: Models): readonly ModelRule[] {
  const { level, shape, secret } = resource
  const read = ({ user }: RuleCaller) => (user as { is_staff: boolean } | undefined)?.is_staff === true
  const fields = { n: { n: { read } }, title: { title: { read, mask: MASK } }, none: undefined }[secret]
  if (!fields && !shape.isRule) return []
  const said = shape.isRule ? rowRules(resource, resource.writes) : {}
  return [rule(models[level], { ...said, ...(fields && { fields }) })]
}

function viewOfResource(resource: Resource, models: Models) {
  const { level, shape, condition, filter, rules, method, narrowsLabels, ordering, statics } = resource
  const inside = nestedParts(resource, models)
  const declared = {
    ...inside.declared,
    ...(statics && { code: new StringField({ required: false }) }),
    // unknown of a row that a write has taken out of the queryset
    ...(shape.column && { [shape.column]: new IntegerField({ readOnly: true, allowNull: true }) }),
    ...(method === 'relation' && { owner: new NestedSerializer(PersonSerializer, { readOnly: true }) }),
    ...(method !== 'none' && { byline: new SerializerMethodField() }),
    ...(level === 'papers' && {
      labels: new PrimaryKeyRelatedField({
        many: true,
        required: false,
        queryset: narrowsLabels ? choosable : Label,
      }),
    }),
  }
  const methods =
    method === 'none'
      ? {}
      : {
          getByline(this: { context: SerializerContext }, row: Shown) {
            const shown = method === 'relation' ? row : { title: row.title }
            return byline(shown, (this.context.user as { id: number } | undefined)?.id ?? null)
          },
        }
  return viewOf({
    level,
    shape,
    condition,
    mayLeave: resource.mayLeave,
    declared,
    methods,
    models,
    ...(statics && { mixedIn: (base) => mixedIn(base as never, statics) }),
    ...(statics?.versions && { former: formerFields() }),
    statics: {
      permissionClasses: rules.map(policyOf),
      filterBackends: [FieldFilter, ...(filter ? [filterOf(level, filter)] : [])],
      filtersetFields: ['n', 'title'],
      paginationClass: resource.isPaginated ? PAGES[statics?.pages ?? 'numbers'] : null,
      ordering,
      expandable: inside.expandable,
      useNativeJson: resource.isNative,
      atomic: resource.isAtomic,
      concurrency: resource.hasConcurrency ? 'touched' : null,
      ...(statics && viewStatics(statics, resource.isPaginated)),
    },
  })
}

function formerFields(): DeclaredFields {
  return {
    [FORMER_NAMES['title'] as string]: new StringField({ source: 'title' }),
    [FORMER_NAMES['n'] as string]: new IntegerField({ source: 'n', required: false, allowNull: true }),
  }
}

function choosable({ user }: SerializerContext) {
  const query = Label.query()
  return (user as { is_staff?: boolean } | undefined)?.is_staff === true ? query : query.where('id', '<', 3)
}

/** A backend of the application's own, whose text has an OR at its top. */
function filterOf(level: Level, condition: Condition): typeof BaseFilter {
  return class Own extends BaseFilter {
    override filterQueryset(query: never, _ctx: Context) {
      const { sql, bindings } = toSql(condition, level, { level, caller: caller.getStore() ?? null })
      return (query as { where(text: unknown): never }).where(raw(sql, bindings))
    }
  }
}
