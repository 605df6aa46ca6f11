/** The schema that a query reads. */
import type { AnyQueryBuilder } from '../models/objection.js'

/** Schema that `withSchema` names, by the query itself or by a hook of its context; known only once the query is built. */
export function schemaOf(query: AnyQueryBuilder): string | undefined {
  // a joined graph can be built only once the catalogue was read
  const plain = query.clone().clear(/^eager/)
  return (plain.toKnexQuery() as { _single?: { schema?: string } })._single?.schema
}
