/** An application of many resources as source texts, to see what it costs a compiler. */
/** Source texts by their paths. */
export type Files = Readonly<Record<string, string>>

export interface TypedAppOptions {
  readonly resources: number
  /** How serializers and view sets are written: by factories, or as classes with statics. */
  readonly form: 'factories' | 'statics'
  /** With a client that uses every resource. */
  readonly client?: boolean
  /** All resources have a relation to the first one, and it to all of them. */
  readonly hub?: boolean
}

/** The files of the application: models, serializers and view sets in a file for each resource, as `init` writes them. */
export function typedApp({ resources, form, client = false, hub = false }: TypedAppOptions): Files {
  const numbers = Array.from({ length: resources }, (_, index) => index)
  const shape: Shape = { resources, hub }
  return Object.fromEntries([
    ...numbers.map((number) => [`models/r${number}.ts`, modelOf(number, shape)]),
    ...numbers.map((number) => [`serializers/r${number}.ts`, SERIALIZERS[form](number)]),
    ...numbers.map((number) => [`views/r${number}.ts`, VIEWS[form](number, shape)]),
    ['api.ts', apiOf(numbers)],
    ...(client ? [['client.ts', clientOf(numbers, shape)]] : []),
  ])
}

interface Shape {
  readonly resources: number
  readonly hub: boolean
}

interface Relation {
  readonly name: string
  readonly target: number
  readonly many: boolean
  readonly key: string
}

const FIELDS = ['id', 'name', 'price', 'kind', 'active', 'tags', 'created_at', 'before_id', 'second_id'] as const
const QUOTED = FIELDS.map((name) => `'${name}'`).join(', ')

/** Each resource belongs to the two before it, and so has many of the two behind it. */
function relationsOf(number: number, { resources, hub }: Shape): readonly Relation[] {
  const near = [
    { name: 'before', target: number - 1, many: false, key: 'before_id' },
    { name: 'second', target: number - 2, many: false, key: 'second_id' },
    { name: 'behind', target: number + 1, many: true, key: 'before_id' },
    { name: 'seconds', target: number + 2, many: true, key: 'second_id' },
  ].filter(({ target }) => target >= 0 && target < resources)
  if (!hub) return near
  if (number > 0) return [...near, { name: 'owner', target: 0, many: false, key: 'owner_id' }]
  const others = Array.from({ length: resources - 1 }, (_, index) => index + 1)
  return [...near, ...others.map((target) => ({ name: `r${target}s`, target, many: true, key: 'owner_id' }))]
}

function modelOf(number: number, shape: Shape): string {
  const relations = relationsOf(number, shape)
  const targets = [...new Set(relations.map(({ target }) => target))].filter((target) => target !== number)
  const mapping = ({ name, target, many, key }: Relation) => `    ${name}: {
      relation: Model.${many ? 'HasManyRelation' : 'BelongsToOneRelation'},
      modelClass: R${target},
      join: { from: 'r${number}.${many ? 'id' : key}', to: 'r${target}.${many ? key : 'id'}' },
    },`
  return `import type { Generated } from 'koa-viewsets'
import { Model, type RelationMappings } from 'objection'
${targets.map((target) => `import { R${target} } from './r${target}.js'`).join('\n')}

export class R${number} extends Model {
  static override tableName = 'r${number}'

  static override relationMappings = (): RelationMappings => ({
${relations.map(mapping).join('\n')}
  })

  declare readonly id: number
  declare name: string
  declare price: Generated<string>
  declare kind: 'big' | 'small' | null
  declare active: Generated<boolean>
  declare tags: (string | null)[]
  declare created_at: Generated<Date>
  declare before_id: number
  declare second_id: number | null
  declare owner_id: number | null
${relations.map(({ name, target, many }) => `  declare ${name}?: R${target}${many ? '[]' : ' | null'}`).join('\n')}
}
`
}

const SERIALIZERS = {
  factories: (number: number) => `import { modelSerializer } from 'koa-viewsets'
import { R${number} } from '../models/r${number}.js'

export class R${number}Serializer extends modelSerializer(R${number}, {
  fields: [${QUOTED}],
  readOnlyFields: ['created_at'],
  extraKwargs: { name: { minLength: 2 } },
}) {}
`,
  statics: (number: number) => `import { ModelSerializer } from 'koa-viewsets'
import { R${number} } from '../models/r${number}.js'

export class R${number}Serializer extends ModelSerializer<R${number}> {
  static override model = R${number}
  static override fields = [${QUOTED}]
  static override readOnlyFields = ['created_at']
  static override extraKwargs = { name: { minLength: 2 } }
}
`,
}

/** What views of both forms say, with what is between a name and its value. */
function staticsOf(number: number, shape: Shape, say: (name: string, value: string) => string): string {
  const single = relationsOf(number, shape).filter(({ many }) => !many)
  return [
    say('serializerClass', `R${number}Serializer`),
    say('permissionClasses', '[IsAuthenticated]'),
    say('paginationClass', 'PageNumberPagination'),
    say('filterBackends', '[FieldFilter, OrderingFilter]'),
    say('filtersetFields', `['kind', 'active'${single.map(({ name }) => `, '${name}__name'`).join('')}]`),
    say('orderingFields', "['name', 'created_at']"),
    say('expandable', `{ ${single.map(({ name, target }) => `${name}: R${target}Serializer`).join(', ')} }`),
  ].join('\n')
}

function serializersOf(number: number, shape: Shape): string {
  const single = relationsOf(number, shape).filter(({ many }) => !many)
  const targets = [...new Set([number, ...single.map(({ target }) => target)])]
  return targets.map((target) => `import { R${target}Serializer } from '../serializers/r${target}.js'`).join('\n')
}

const VIEWS = {
  factories: (
    number: number,
    shape: Shape,
  ) => `import { FieldFilter, IsAuthenticated, modelViewSet, OrderingFilter, PageNumberPagination } from 'koa-viewsets'
import { R${number} } from '../models/r${number}.js'
${serializersOf(number, shape)}

export class R${number}ViewSet extends modelViewSet(R${number}, {
${staticsOf(number, shape, (name, value) => `  ${name}: ${value},`)}
}) {}
`,
  statics: (
    number: number,
    shape: Shape,
  ) => `import { FieldFilter, IsAuthenticated, ModelViewSet, OrderingFilter, PageNumberPagination, type Pagination } from 'koa-viewsets'
import { R${number} } from '../models/r${number}.js'
${serializersOf(number, shape)}

export class R${number}ViewSet extends ModelViewSet<R${number}> {
  static override model = R${number}
${staticsOf(number, shape, (name, value) => `  static override ${name}${name === 'paginationClass' ? ': Pagination' : ''} = ${value}`)}
}
`,
}

function apiOf(numbers: readonly number[]): string {
  return `import { APIRouter } from 'koa-viewsets'
${numbers.map((number) => `import { R${number}ViewSet } from './views/r${number}.js'`).join('\n')}

export function createApi() {
  return new APIRouter({ prefix: '/api' })
${numbers.map((number) => `    .register('r${number}', R${number}ViewSet)`).join('\n')}
}

export type Api = ReturnType<typeof createApi>
`
}

/** Lists, reads and writes objects of each resource. */
function clientOf(numbers: readonly number[], shape: Shape): string {
  const uses = numbers.map((number) => {
    const [single] = relationsOf(number, shape).filter(({ many }) => !many)
    const related = single ? `, ${single.name}__name: 'x', expand: '${single.name}'` : ''
    return `export async function use${number}(): Promise<string | undefined> {
  const page = await api.r${number}.list({ active: true, ordering: '-name'${related} })
  const made = await api.r${number}.create({ name: 'x', kind: 'big', tags: [], before_id: 1, second_id: null })
  if (made.ok) await api.r${number}.partialUpdate(made.data.id, { name: 'y' }, { ifMatch: made.etag })
  return page.ok ? page.data.results[0]?.name : undefined
}
`
  })
  return `import { createClient } from 'koa-viewsets/client'
import type { Api } from './api.js'

const api = createClient<Api>('http://localhost/api')

${uses.join('\n')}`
}
