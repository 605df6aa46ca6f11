/** What stands inside the objects of an application by chance: the object that a row belongs to, and those that belong to it. */
import { type DeclaredFields, ModelSerializer, NestedSerializer } from 'koa-viewsets'
import { Model } from 'objection'
import type { Application, Resource } from './application.js'
import { belowOf, type Level, parentOf } from './estate.js'
import { type Models, ownModels } from './estate-views.js'
import type { Random } from './random.js'

const WAYS = ['none', 'shown', 'written', 'expandable'] as const
type Way = (typeof WAYS)[number]

/** Names of relations, and of the fields that show them. */
export const INSIDE = ['parent', 'children'] as const

/** How the objects of a level show and take related ones. */
export interface Nests {
  readonly parent: Way
  readonly children: Way
  /** The objects in lists have lists of their own. */
  readonly isDeep: boolean
}

/** The application whose objects have others inside. */
export function withNests(random: Random, application: Application): Application {
  const isRelated = random.chance(0.3)
  const changed = new Map(
    application.resources.map((resource) => [resource, { ...resource, nests: randomNests(random, resource) }]),
  )
  const changedOf = (resource: Resource) => changed.get(resource) as Resource
  const routes = application.routes.map(({ chain, path }) => ({ chain: chain.map(changedOf), path }))
  const { models = ownModels(() => Model) } = application
  return { resources: application.resources.map(changedOf), routes, models, isRelated }
}

function randomNests(random: Random, { level }: Resource): Nests {
  const [parent, children] = [random.pick(WAYS), random.pick(WAYS)]
  return { parent, children: belowOf(level) ? children : 'none', isDeep: level === 'folders' && random.chance(0.4) }
}

/** Whether a view set that says so shows the objects of the relation to this query. */
export function isInside(nests: Nests | undefined, name: keyof Omit<Nests, 'isDeep'>, expand: string | undefined) {
  const way = nests?.[name] ?? 'none'
  if (way !== 'expandable') return way !== 'none'
  return expand === '*' || expand?.split(',').includes(name) === true
}

/** Columns of objects inside others. */
export const INNER_FIELDS = ['id', 'title', 'n', 'open', 'archived', 'owner_id'] as const

let count = 0

function innerSerializer(models: Models, level: Level, declared: DeclaredFields): typeof ModelSerializer<Model> {
  count++
  return class extends ModelSerializer {
    static override schemaName = `Inner${count}`
    static override model = models[level]
    static override fields = [...INNER_FIELDS]
    static override declaredFields = declared
  }
}

/** Fields of related objects. */
function nestedFields({ level, nests }: Resource, models: Models): Readonly<Partial<Record<string, NestedSerializer>>> {
  const below = belowOf(level)
  const deeper = below && belowOf(below)
  const isReadOnly = (way: Way | undefined) => way !== 'written'
  const listOf = (at: Level, declared: DeclaredFields) =>
    new NestedSerializer(innerSerializer(models, at, declared), {
      many: true,
      required: false,
      readOnly: isReadOnly(nests?.children),
    })
  return {
    parent: new NestedSerializer(innerSerializer(models, parentOf(level), {}), {
      required: false,
      allowNull: true,
      readOnly: isReadOnly(nests?.parent),
    }),
    ...(below && { children: listOf(below, nests?.isDeep && deeper ? { children: listOf(deeper, {}) } : {}) }),
  } as never
}

/** Those that the serializer declares, and those that clients may ask for. */
export function nestedParts(resource: Resource, models: Models): { declared: object; expandable: object } {
  const fields = nestedFields(resource, models)
  const those = (isMeant: (way: Way) => boolean) =>
    Object.fromEntries(
      INSIDE.filter((name) => isMeant(resource.nests?.[name] ?? 'none')).map((name) => [name, fields[name]]),
    )
  return {
    declared: those((way) => way === 'shown' || way === 'written'),
    expandable: those((way) => way === 'expandable'),
  }
}
