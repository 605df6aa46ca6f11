/** What the statics of generic views may be: a mistake in one is found before any request. */
import type { Kinds } from '../kernel/kinds.js'

/** The kinds of the statics of generic views. */
export const STATIC_KINDS: Kinds = {
  model: 'any',
  queryset: 'any',
  serializerClass: 'any',
  lookupField: 'name',
  lookupUrlKwarg: 'name or null',
  paginationClass: 'any',
  filterBackends: 'any',
  filtersetFields: 'names',
  filterRelations: 'record',
  searchFields: 'names',
  orderingFields: 'names',
  searchConfig: 'name',
  searchType: 'any',
  searchParam: 'name',
  useNativeJson: 'boolean',
  strictParams: 'boolean',
  queryMethod: 'boolean',
  queryParameters: 'list',
  concurrency: 'names or null',
  requireIfMatch: 'boolean',
  expandable: 'record',
  expandParam: 'name',
  ordering: 'names',
  softDelete: 'any',
  envelope: 'any',
  statuses: 'record',
}
