/** Which page of the reference says what. */
import type { PublicName } from './doors.js'

export interface Room {
  /** The file in docs/reference/api, without its ending. */
  readonly file: string
  readonly title: string
  readonly intro: string
  /** Doors, and of the main one folders of lib, whose names it has. */
  readonly doors?: readonly string[]
  readonly folders?: readonly string[]
}

/** The pages, in the order of the table of contents. */
export const ROOMS: readonly Room[] = [
  {
    file: 'views',
    title: 'Views and view sets',
    intro:
      'What their classes declare stands in [statics of views](statics-of-views.md), what they do in [methods of views](methods-of-views.md). How they are used: [view sets](../../how-to/view-sets.md), [actions](../../how-to/actions.md), [aggregates](../aggregates.md).',
    doors: ['koa-viewsets/views'],
    folders: ['views'],
  },
  {
    file: 'factories',
    title: 'Class factories',
    intro:
      'Functions that make classes of a model, whose declarations the compiler checks. What a view set may declare stands in [statics of views](statics-of-views.md). How they are used: [view sets](../../how-to/view-sets.md), [actions](../../how-to/actions.md).',
    folders: ['factories'],
  },
  {
    file: 'router',
    title: 'Router and documents',
    intro:
      'How they are used: [nested routes](../../how-to/nested-routes.md), [an app that exists](../../how-to/existing-app.md), [the OpenAPI document](../../how-to/documentation.md).',
    folders: ['router', 'openapi', 'metadata'],
  },
  {
    file: 'serializers',
    title: 'Serializers',
    intro:
      'How they are used: [fields and validation](../../how-to/fields-and-validation.md), [nested output and writes](../../how-to/nested-output-and-writes.md), [related lists](../related-lists.md), [schemas of other libraries](../schemas.md).',
    folders: ['serializers'],
  },
  {
    file: 'fields',
    title: 'Fields',
    intro:
      'Which field a column gets by itself: [types of PostgreSQL](../column-types.md). How they are used: [fields and validation](../../how-to/fields-and-validation.md), [uploads](../../how-to/uploads.md).',
    folders: ['fields'],
  },
  {
    file: 'models',
    title: 'Models and external ids',
    intro:
      'How they are used: [an app that exists](../../how-to/existing-app.md), [from a database](../../how-to/from-a-database.md), [external ids](../../how-to/external-ids.md).',
    folders: ['models', 'ids'],
  },
  {
    file: 'filters',
    title: 'Filters, search and orders',
    intro:
      'What clients may ask: [filters](../filter-language.md). How they are used: [filters and search](../../how-to/filters-and-search.md), [SQL of your own](../../how-to/own-sql.md).',
    folders: ['filters', 'queryset'],
  },
  {
    file: 'pagination',
    title: 'Pagination classes',
    intro: 'In short: [pagination](../pagination.md). How they are used: [pages](../../how-to/pages.md).',
    folders: ['pagination'],
  },
  {
    file: 'authentication',
    title: 'Authentication, API keys and tokens',
    intro: 'How they are used: [authentication](../../how-to/authentication.md), [JSON Web Tokens](../jwt.md).',
    doors: ['koa-viewsets/api-keys', 'koa-viewsets/jwt'],
    folders: ['authentication', 'api-keys'],
  },
  {
    file: 'permissions',
    title: 'Permissions',
    intro:
      'How they are used: [permissions](../../how-to/permissions.md), [row level security](../row-level-security.md).',
    folders: ['permissions'],
  },
  {
    file: 'throttling',
    title: 'Throttles and their stores',
    intro: 'How they are used: [throttles](../../how-to/throttles.md).',
    doors: ['koa-viewsets/throttling'],
    folders: ['throttling'],
  },
  {
    file: 'versioning',
    title: 'Versioning classes',
    intro: 'How they are used: [versions](../../how-to/versions.md).',
    folders: ['versioning'],
  },
  {
    file: 'parsers-and-renderers',
    title: 'Parsers, renderers and patches',
    intro:
      'How they are used: [formats and exports](../../how-to/formats-and-exports.md), [formats of PATCH](../patch-formats.md). What a body may have: [limits](../limits.md).',
    doors: ['koa-viewsets/patches'],
    folders: ['parsers', 'renderers'],
  },
  {
    file: 'errors-and-settings',
    title: 'Errors, settings and the request',
    intro:
      'Sentences and codes: [codes of messages](../error-codes.md). Statuses: [HTTP](../http.md). Settings: [settings](../settings.md).',
    folders: ['kernel', 'http', 'postgres'],
  },
  {
    file: 'plugins',
    title: 'Middleware',
    intro:
      'One factory for each feature, for routes of your own and whole apps. What stands for what on view sets: [policies](../policies.md).',
    doors: ['koa-viewsets/plugins'],
  },
  {
    file: 'rules',
    title: 'Rules',
    intro: 'Who may read and write which rows: [rules](../rules.md).',
    doors: ['koa-viewsets/rules'],
  },
  {
    file: 'operation',
    title: 'Changes, webhooks, metering, replicas, idempotency and tracing',
    intro:
      'How they are used: [changes](../changes.md), [webhooks](../webhooks.md), [metering](../../how-to/metering.md), [replicas](../replicas.md), [writes that are done once](../idempotency.md), [tracing and timing](../tracing.md).',
    doors: [
      'koa-viewsets/changes',
      'koa-viewsets/webhooks',
      'koa-viewsets/metering',
      'koa-viewsets/replicas',
      'koa-viewsets/idempotency',
      'koa-viewsets/tracing',
    ],
  },
  {
    file: 'assets-and-storage',
    title: 'Assets and storage',
    intro:
      'How they are used: [assets and versions](../../how-to/assets-and-versions.md), [uploads](../../how-to/uploads.md).',
    doors: ['koa-viewsets/assets', 'koa-viewsets/storage'],
  },
  {
    file: 'client',
    title: 'The typed client',
    intro: 'How it is used: [a typed client](../../how-to/typed-client.md). Nothing of the server is in it.',
    doors: ['koa-viewsets/client'],
  },
  {
    file: 'agents-and-tools',
    title: 'Tools for agents, for tests and for developers',
    intro:
      'How they are used: [tools for agents](../../how-to/agents.md), [slow lists](../../how-to/slow-lists.md), [the document](../../how-to/documentation.md).',
    doors: ['koa-viewsets/mcp', 'koa-viewsets/testing', 'koa-viewsets/tools'],
  },
]

/** The room of a public name. */
export function roomOf({ door, name, entry }: Pick<PublicName, 'door' | 'name' | 'entry'>): Room {
  const folder = entry.place.path.split('/')[1] ?? ''
  const isMain = door === 'koa-viewsets'
  const ofFolder = ROOMS.find(({ folders }) => folders?.includes(folder))
  const found = isMain || folder === 'factories' ? ofFolder : ROOMS.find(({ doors }) => doors?.includes(door))
  if (!found) throw new Error(`${name} of ${door}, in ${entry.place.path}, has no page in test/docs/reference/rooms.ts`)
  return found
}

/** Which page of docs tells more of the statics of views. */
const STATICS_BY_PAGE: Readonly<Record<string, string>> = {
  'how-to/documentation': 'description responses metadataClass',
  'how-to/permissions': 'permissionClasses',
  'how-to/authentication': 'authenticationClasses',
  'how-to/throttles': 'throttleClasses throttleScope',
  'how-to/versions': 'versioningClass',
  'how-to/formats-and-exports':
    'parserClasses rendererClasses strictAccept useNativeJson streamFormats maxStreamsPerUser maxStreamIdleSeconds maxStreamSeconds streamRows',
  'how-to/writes': 'atomic',
  'reference/idempotency': 'idempotent idempotencyScope',
  'reference/changes': 'changes',
  'reference/row-level-security': 'databaseRole databaseSettings',
  'reference/errors': 'exposeTriggerMessages',
  'reference/limits': 'maxNestedObjects',
  'how-to/view-sets': 'actions model serializerClass inputSerializerClass partialPut strictBody withoutActions',
  'how-to/admin-front-ends': 'queryDialect',
  'how-to/own-sql': 'queryset',
  'how-to/external-ids': 'lookupField',
  'how-to/nested-routes': 'lookupUrlKwarg parentLookupField',
  'how-to/pages': 'paginationClass ordering',
  'how-to/filters-and-search':
    'filterBackends searchFields searchConfig searchType searchParam strictParams queryParameters',
  'reference/rules': 'related mayLeaveQueryset',
  'reference/filter-language': 'filtersetFields filterRelations orderingFields',
  'reference/query-method': 'queryMethod',
  'how-to/caching-and-etags': 'concurrency requireIfMatch cacheMaxAge cachePrivate cacheNoCache',
  'how-to/nested-output-and-writes': 'expandable expandParam',
  'reference/soft-deletes': 'softDelete',
  'reference/envelopes': 'envelope statuses',
  'reference/aggregates': 'aggregates groupBy facets aggregateTimeout maxFacetValues',
  'how-to/bulk': 'maxBulkSize',
  'how-to/metering': 'meteringMeterName meteringEnabled meteringEngine',
}

/** The page that tells more of a static of views. */
export const PAGES_OF_STATICS: ReadonlyMap<string, string> = new Map(
  Object.entries(STATICS_BY_PAGE).flatMap(([page, names]) => names.split(' ').map((name) => [name, page] as const)),
)
