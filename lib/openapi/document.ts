/** An API as an OpenAPI 3.1 or 3.2 document (wire format, section 13). */

import { publicPath } from '../http/public-url.js'
import { ConfigurationError } from '../kernel/errors.js'
import type { Kind } from '../kernel/kinds.js'
import { getOrInsert } from '../kernel/maps.js'
import { atOnce, type Steps } from '../kernel/turns.js'
import type { RuleSet } from '../rules/rule-set.js'
import type { SerializerClass } from '../serializers/contract.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { type Expansion, expansionsOf } from '../serializers/select-fields.js'
import { forcedWithin } from '../serializers/validate-nested.js'
import type { Forced, ForcedKeys } from '../serializers/validated-item.js'
import { takesWholeObjects } from '../views/actions.js'
import { webhooksOf } from '../views/described-webhook.js'
import type { Endpoint } from '../views/endpoint.js'
import { type GenericAPIView, isGeneric } from '../views/generic-api-view.js'
import { type NestedViewClass, parentKeyOf } from '../views/request/parent-key.js'
import { selectionParameters } from '../views/steps/selection.js'
import { Components, type Expansions, type ForcedProperties, type NarrowedRelations } from './components.js'
import { documentedPath } from './documented-path.js'
import { describeOperation, ROOT_TAG } from './operations.js'
import { shareParameters } from './shared-parameters.js'
import { describedSerializer, openView, takingOf } from './subject.js'
import type { InfoObject, License, OpenAPIDocument, PathItem, Server, Tag } from './types.js'
import { describeWebhooks } from './webhooks.js'
import { nounOf, sentence } from './words.js'

/** What a document says of the API as a whole. */
export interface SchemaOptions {
  /** The title of the API. @default 'API' */
  readonly title?: string
  /** The version of the document. @default '1.0.0' */
  readonly version?: string
  /** What the API is for. @default '' */
  readonly description?: string
  /** `info.summary` of the document. */
  readonly summary?: string
  /** `info.termsOfService` of the document, a URL. */
  readonly termsOfService?: string
  /** Who to ask: `{ name, url, email }`. */
  readonly contact?: Readonly<Record<string, string>>
  /** The licence of the API: `{ name: 'MIT', identifier: 'MIT' }`. */
  readonly license?: License
  /** The servers of the API. @default [{ url: '/' }], or the setting `forwardedPrefix` */
  readonly servers?: readonly Server[]
  /** The API version to describe, as `ctx.state.version` has it, where views have versions. */
  readonly apiVersion?: string
  /** The version of OpenAPI: only 3.2 has words for the method QUERY, which 3.1 leaves out. @default '3.1' */
  readonly openapi?: '3.1' | '3.2'
}

export const SCHEMA_KINDS = {
  title: 'text',
  version: 'text',
  description: 'text',
  summary: 'text',
  termsOfService: 'text',
  contact: 'record',
  license: 'record',
  servers: 'list',
  apiVersion: 'text',
  openapi: 'text',
} as const satisfies Record<keyof SchemaOptions, Kind>

const VERSIONS = { '3.1': '3.1.0', '3.2': '3.2.0' } as const

/**
 * Describes all paths. The same paths give the same document, byte for byte.
 * @throws {ConfigurationError} two serializers, operations or security schemes have one name; an unknown version of OpenAPI
 */
export function buildDocument(endpoints: readonly Endpoint[], options: SchemaOptions = {}): OpenAPIDocument {
  return atOnce(documentSteps(endpoints, options))
}

/** The same step by step: of a thousand view sets it takes seconds. */
export function* documentSteps(endpoints: readonly Endpoint[], options: SchemaOptions): Steps<OpenAPIDocument> {
  const version = VERSIONS[options.openapi ?? '3.1'] as OpenAPIDocument['openapi'] | undefined
  if (!version) throw new ConfigurationError(`OpenAPI: there is no openapi "${options.openapi}"; take 3.1 or 3.2`)
  const components = new Components({
    expansions: expansionsIn(endpoints, options.apiVersion),
    forced: forcedIn(endpoints, options.apiVersion),
    narrowed: narrowedIn(endpoints),
    rules: rulesIn(endpoints),
  })
  const paths = new Map<string, PathItem>()
  const operationIds = new Set<string>()
  for (const endpoint of endpoints) {
    const path = documentedPath(endpoint)
    const item: Record<string, PathItem[string]> = { ...paths.get(path) }
    for (const operation of endpoint.operations.values()) {
      const method = operation.method.toLowerCase()
      if (method === 'query' && options.openapi !== '3.2') continue
      if (item[method] || operationIds.has(operation.operationId)) {
        throw new ConfigurationError(
          `OpenAPI: ${operation.view.name}: another view has the operation "${operation.operationId}"; give one of them another basename`,
        )
      }
      operationIds.add(operation.operationId)
      item[method] = describeOperation({ endpoint, operation, components, apiVersion: options.apiVersion })
    }
    paths.set(path, item)
    yield undefined
  }
  const shared = yield* shareParameters(paths)
  const webhooks = describeWebhooks(webhooksOf(endpoints), components)
  return {
    openapi: version,
    info: infoOf(options),
    servers: options.servers ?? [{ url: publicPath('') || '/' }],
    tags: tagsOf(endpoints),
    paths: Object.fromEntries(shared.paths),
    ...(Object.keys(webhooks).length > 0 && { webhooks }),
    components: { ...components.toJSON(), parameters: shared.parameters },
  }
}

function infoOf(options: SchemaOptions): InfoObject {
  const { title = 'API', version = '1.0.0', description = '', summary, termsOfService, contact, license } = options
  return {
    title,
    version,
    description,
    ...(summary !== undefined && { summary }),
    ...(termsOfService !== undefined && { termsOfService }),
    ...(contact && { contact }),
    ...(license && { license }),
  }
}

/** A tag for each resource. */
function tagsOf(endpoints: readonly Endpoint[]): readonly Tag[] {
  const tags = new Map<string, string>()
  for (const { kind, basename, view } of endpoints) {
    if (kind === 'root') tags.set(ROOT_TAG, view.description)
    else if (!tags.has(basename)) tags.set(basename, view.description || `${sentence(nounOf(basename).many)}.`)
  }
  return [...tags].map(([name, description]) => ({ name, description }))
}

/** The rules of the router that the endpoints belong to. */
function rulesIn(endpoints: readonly Endpoint[]): RuleSet | undefined {
  for (const { operations } of endpoints) {
    for (const { route } of operations.values()) if (route.rules) return route.rules
  }
  return undefined
}

/** Fields that `expandable` of the views adds to the serializers of their actions. */
function expansionsIn(endpoints: readonly Endpoint[], apiVersion: string | undefined): Expansions {
  const found = new Map<SerializerClass, Map<string, Map<Expansion, string>>>()
  const operations = endpoints.flatMap((endpoint) => [...endpoint.operations.values()])
  for (const operation of operations) {
    if (!isGeneric(operation.view) || Object.keys(operation.view.expandable).length === 0) continue
    const { expandable, expandParam } = operation.view
    const view = openView(operation, apiVersion) as GenericAPIView
    const shown = describedSerializer(view)
    if (!shown || selectionParameters(view, shown).every(({ name }) => name !== expandParam)) continue
    for (const { owner, name, expansion } of expansionsOf(shown, expandable)) {
      const names = getOrInsert(found, owner, () => new Map())
      getOrInsert(names, name, () => new Map()).set(expansion, expandParam)
    }
  }
  return found
}

/** Relations whose objects come from other view sets (`related`). */
function narrowedIn(endpoints: readonly Endpoint[]): NarrowedRelations {
  const found = new Map<string, Set<string>>()
  for (const { view } of endpoints) {
    if (!isGeneric(view)) continue
    for (const name of Object.keys(view.related)) {
      getOrInsert(found, view.modelClass().tableName, () => new Set()).add(name)
    }
  }
  return found
}

/** The foreign keys to the objects on paths, and around nested ones, where all that take them have such an object. */
function forcedIn(endpoints: readonly Endpoint[], apiVersion: string | undefined): ForcedProperties {
  const found = new Map<SerializerClass, Forced>()
  for (const [serializer, keys] of usesIn(endpoints, apiVersion)) {
    const others = found.get(serializer)
    const forced = new Set([...keys].filter((property) => others?.has(property) !== false))
    found.set(serializer, keys.parent ? Object.assign(forced, { parent: keys.parent }) : forced)
  }
  return found
}

/** A serializer whose input is taken, and the keys that are decided where it is. */
type Use = readonly [serializer: SerializerClass, keys: ForcedKeys]

/** Who takes the input of serializers: endpoints, and nested fields. */
function* usesIn(endpoints: readonly Endpoint[], apiVersion: string | undefined): Generator<Use> {
  const walked = new Set<SerializerClass>()
  for (const endpoint of endpoints) {
    for (const operation of endpoint.operations.values()) {
      const { inputSerializer, action } = operation
      const taking = takesWholeObjects(action) ? takingOf(operation, apiVersion) : undefined
      if (taking) yield* usesOf([taking, forcedBy(endpoint)], walked)
      if (inputSerializer && inputSerializer !== taking) yield* usesOf([inputSerializer, new Set()], walked)
    }
  }
}

/** A use of a serializer, and those of what is nested in it. */
function* usesOf(use: Use, walked: Set<SerializerClass>): Generator<Use> {
  yield use
  const [serializer] = use
  if (walked.has(serializer)) return
  walked.add(serializer)
  const plan = serializerPlan(serializer)
  for (const bound of plan.nesting) {
    if (!(bound.field instanceof NestedSerializer)) continue
    yield* usesOf([bound.field.serializerClass, forcedWithin(plan, bound)], walked)
  }
}

function forcedBy({ view, parents }: Endpoint): ForcedKeys {
  const link = parents.at(-1)
  const nested = view as typeof GenericAPIView & NestedViewClass
  if (!link || nested.parentLookupField === undefined) return new Set()
  const parent = (link.view as typeof GenericAPIView).modelClass()
  return Object.assign(new Set(parentKeyOf(nested, parent).columns.map(({ property }) => property)), { parent })
}
