/** What TypeScript checks of `expandable`: relations, and the relations whose objects are counted. */
import type { IsRelationPath, IsUntyped, Related, RelationName } from '../models/model-types.js'

/**
 * Checks one of `expandable`. The number of a relation's objects stands under a name of its own, behind a path of relations
 * where it is further away.
 */
export type CheckedExpansion<M, Path, Value> = Value extends {
  readonly function: 'count'
  readonly path: infer Relation
}
  ? IsCountedFrom<M, Path, Relation> extends true
    ? unknown
    : { readonly function: never }
  : IsRelationPath<M, Path> extends true
    ? unknown
    : never

type IsCountedFrom<M, Path, Relation> = Path extends `${infer Name}.${infer Rest}`
  ? Name extends keyof M
    ? IsCountedFrom<Related<M[Name]>, Rest, Relation>
    : IsUntyped<M>
  : Relation extends RelationName<M>
    ? true
    : false
