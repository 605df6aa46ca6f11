/** The path of an endpoint as the document writes it, which is what telemetry calls its route, too. */
import type { Segment } from '../kernel/path-pattern.js'

/** The path as mounted, with `{id}` in the place of a parameter. */
export function documentedPath({ segments }: { readonly segments: readonly Segment[] }): string {
  return `/${segments.map(writeSegment).join('/')}`
}

function writeSegment(segment: Segment): string {
  return segment.kind === 'literal' ? encodeURIComponent(segment.text) : `{${segment.name}}`
}
