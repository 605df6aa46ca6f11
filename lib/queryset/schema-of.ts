/** The schema that a query reads. */
import type { AnyQueryBuilder } from '../models/objection.js'

/** What `withSchema` names, by the query itself or by a hook of its context; known only once the query is built. */
export function schemaOf(query: AnyQueryBuilder): string | undefined {
  return (query.clone().toKnexQuery() as { _single?: { schema?: string } })._single?.schema
}
