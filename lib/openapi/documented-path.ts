/** The path of an endpoint as the document writes it, which is what telemetry calls its route, too. */
import { type Segment, writePath } from '../kernel/path-pattern.js'

/** The path as mounted, with `{id}` in the place of a parameter. */
export function documentedPath({ segments }: { readonly segments: readonly Segment[] }): string {
  return writePath(segments, ({ name }) => `{${name}}`)
}
