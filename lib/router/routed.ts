/** What TypeScript remembers of a router's view sets, for typed clients. */

/** Carries the view sets of a router by their paths: `books`, and `books/{}/reviews` for those that are nested. */
export interface Routed<Routes> {
  /** @internal Types only: nothing of it is there at run time. */
  readonly routed?: Routes
}

/** The view sets that a router carries. */
export type RoutesOf<Router> = Router extends Routed<infer Routes> ? Routes : never
