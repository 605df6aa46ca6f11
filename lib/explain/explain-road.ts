/** The way of a request through a generic view: how it reads, how it inserts, and the statements of each step. */

import { recordStatements } from '../postgres/recording-knex.js'
import { actionNamed } from '../views/actions.js'
import type { GenericAPIView } from '../views/generic-api-view.js'
import { hasModel } from '../views/generic-view-class.js'
import { ReadingRoad } from './explain-reads.js'
import { WritingRoad } from './explain-writes.js'
import { NOTHING, type Road } from './road-book.js'
import { type ExplainedView, explainedKnex } from './subject.js'

export async function explainRoad(subject: ExplainedView<GenericAPIView>): Promise<Road> {
  const { view } = subject
  const action = actionNamed(view.action)
  if (!action || !hasModel(view.viewClass)) return NOTHING
  const knex = await explainedKnex(subject)
  if (!knex) return NOTHING
  const recording = recordStatements(knex)
  view.knex = recording.knex
  if (action.writes !== undefined) {
    const road = new WritingRoad(subject, recording)
    await road.askRelations()
    return action.writes === 'insert' ? road.insert(action) : road.change(action)
  }
  const road = new ReadingRoad(subject, recording)
  await road.askRelations()
  if (action.shows === 'figures') return road.figures(action.name)
  return action.shows === 'list' ? road.list() : road.object()
}
