/** Queries of rows that were found, by their keys and nothing else. */

import type { Model } from 'objection'
import { traitsOf } from '../models/model-traits.js'
import { type AnyQueryBuilder, type ModelClass, modelOf } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { groupConditions } from './group-conditions.js'

/** The object's `$query()`. What the model adds to all of its queries only narrows it. */
export function ownRow(object: Model, knex: Queryable | undefined): ReturnType<Model['$query']> {
  const query = object.$query(knex)
  if (!traitsOf(modelOf(object)).plainQueries) groupConditions(query as AnyQueryBuilder)
  return query
}

/** The model's `query()`, for rows that are named by key. What the model adds to all of its queries only narrows it. */
export function ownRows(model: ModelClass, knex: Queryable | undefined): AnyQueryBuilder {
  const query = model.query(knex)
  return traitsOf(model).plainQueries ? query : groupConditions(query)
}
