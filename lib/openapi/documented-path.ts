/** The path of an endpoint as the document writes it, which is what telemetry calls its route, too. */
import type { Segment } from '../kernel/path-pattern.js'
import type { DescribedEndpoint } from './endpoint.js'

/** The path as mounted, with `{id}` in the place of a parameter. The root alone ends in a slash. */
export function documentedPath({ kind, segments }: Pick<DescribedEndpoint, 'kind' | 'segments'>): string {
  const path = `/${segments.map(writeSegment).join('/')}`
  return kind === 'root' && segments.length > 0 ? `${path}/` : path
}

function writeSegment(segment: Segment): string {
  return segment.kind === 'literal' ? encodeURIComponent(segment.text) : `{${segment.name}}`
}
