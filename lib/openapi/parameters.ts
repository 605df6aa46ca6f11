/** Parameters of paths, queries and headers; those of the query are described by whoever reads them. */

import type { ParameterDescription } from '../filters/filter.js'
import { encodeValue, type Hint, pathHints } from '../kernel/path-pattern.js'
import type { SerializerClass } from '../serializers/contract.js'
import { actionsOf } from '../views/action-options.js'
import { declaredParameters, listParameters } from '../views/action-parameters.js'
import { showsFigures } from '../views/actions.js'
import type { Endpoint } from '../views/endpoint.js'
import { type GenericAPIView, isGeneric } from '../views/generic-api-view.js'
import { hasModel } from '../views/generic-view-class.js'
import { resourceOf } from '../views/resource.js'
import { selectionParameters } from '../views/steps/selection.js'
import { SELECTS_FIELDS } from './sparse-schema.js'
import { TAKES_REST } from './takes-rest.js'
import type { Parameter } from './types.js'
import { nounOf } from './words.js'

/** The parameters of a path, with the schema of their hints. */
export function pathParameters(endpoint: Endpoint): readonly Parameter[] {
  return describedPath(endpoint, spellingOf)
}

/** The same for who gives their values, and leaves it to us to write the path. */
export function pathValues(endpoint: Endpoint): readonly Parameter[] {
  return describedPath(endpoint, () => '')
}

function describedPath(
  { segments, parents, basename, lookup, view }: Endpoint,
  spelling: typeof spellingOf,
): readonly Parameter[] {
  const owners = new Map<string, { readonly basename: string; readonly view: unknown }>(
    parents.map((parent) => [parent.param, parent]),
  )
  if (lookup !== undefined) owners.set(lookup, { basename, view })
  return segments.flatMap((segment) => {
    if (segment.kind === 'literal') return []
    const { name, hint, key, beside } = segment
    const owner = owners.get(name)
    const described: Parameter = {
      name,
      in: 'path',
      required: true,
      ...(hint === 'path' && { [TAKES_REST]: true }),
      ...(owner !== undefined && {
        description: `Names the ${nounOf(owner.basename).one}${partsOf(owner.view)}.${spelling(hint, beside)}`,
      }),
      schema: hint === 'int' && key === true ? (hasLargeKeys(owner?.view) ? LARGE : KEY) : pathHints[hint].schema,
    }
    return [described]
  })
}

/** How keys are written that are spelled like other paths. */
function spellingOf(hint: Hint, beside: ReadonlySet<string> = new Set()): string {
  const names = [...beside].sort()
  if (hint !== 'str' || names[0] === undefined) return ''
  const spelled = encodeValue({ name: names[0], hint, beside }, names[0])
  const all = names.map((name) => `\`${name}\``).join(', ')
  return ` Keys that are spelled like other paths (${all}) have their first character escaped: \`${spelled}\`.`
}

/** What a key of several columns is made of. */
function partsOf(view: unknown): string {
  if (!isGeneric(view)) return ''
  const { columns } = resourceOf(view).lookup
  return columns.length === 1
    ? ''
    : `: ${columns.map(({ property }) => property).join()}, with commas between the values; one that holds a comma or a quotation mark stands in quotation marks`
}

const KEY = { type: 'integer' } as const
/** Keys beyond 2^53 are strings, as answers show them. */
const LARGE = { anyOf: [{ type: 'integer' }, { type: 'string', pattern: '^-?[0-9]{1,19}$' }] } as const

function hasLargeKeys(view: unknown): boolean {
  return isGeneric(view) && resourceOf(view).lookup.columns[0]?.type === 'int8'
}

/** What an action reads of the query. */
export function queryParameters(view: GenericAPIView, serializer: SerializerClass | undefined): readonly Parameter[] {
  const { viewClass, action, policies } = view
  const list: ParameterDescription[] = []
  if (hasModel(viewClass)) list.push(...listParameters(resourceOf(viewClass), action))
  if (action === 'list' || showsFigures(action) || hasOwnParameters(view))
    list.push(...declaredParameters(viewClass, action))
  const selecting = selectionParameters(view, serializer)
  const versions = policies.versioning?.parameters() ?? []
  const described = [
    ...[...list, ...versions].map(toParameter),
    ...selecting.map((parameter) => ({
      ...toParameter(parameter),
      ...(parameter.name === 'fields' && { [SELECTS_FIELDS]: true }),
    })),
  ]
  // two that read one parameter mean the same by it
  return [...new Map(described.map((parameter) => [parameter.name, parameter])).values()]
}

/** An action of the application's own reads what its options say, and not what lists read. */
function hasOwnParameters({ viewClass, action }: GenericAPIView): boolean {
  const { statics, querySerializer } = actionsOf(viewClass).get(action) ?? {}
  return querySerializer !== undefined || statics?.['queryParameters'] !== undefined
}

export function toParameter({ name, description, schema, explode, required }: ParameterDescription): Parameter {
  return {
    name,
    in: 'query',
    description,
    ...(required && { required }),
    schema,
    ...(explode === false && { explode }),
  }
}
