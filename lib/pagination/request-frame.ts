/** Path parameters and filters as bytes to sign: what of a request decides which rows a list has (wire format, section 2.1). */
import { frameText } from '../kernel/signing.js'
import type { ListSource } from './list-source.js'
import type { PageRequest } from './pagination.js'

/** The path parameters in the order of the pattern, their names in braces. */
export function pathParts({ params }: PageRequest): string[] {
  return Object.entries(params).flatMap(([name, value]) => [`{${name}}`, value])
}

/** The parameters that the filter backends read, by name; repeated ones in the order sent. */
export function queryParts(
  { parameters }: Pick<ListSource, 'parameters'>,
  { query }: PageRequest,
  { except }: { readonly except?: string } = {},
): string[] {
  return Object.keys(query)
    .filter((name) => parameters.has(name) && name !== except)
    .sort(byCodeUnits)
    .flatMap((name) => [query[name] ?? []].flat().flatMap((value) => [name, value]))
}

/** Path parameters and filters, framed. The ordering is signed by itself, as the terms it comes to. */
export function requestFrame(source: ListSource, request: PageRequest): string {
  const parts = pathParts(request)
  if (source.parameters.size > 0) parts.push(...queryParts(source, request, { except: 'ordering' }))
  return frameText(parts)
}

function byCodeUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
