/** Resources of an API that have events. */

import { type RecordingViewClass, recordingOf } from '../changes/recording.js'
import { isBuiltIn } from '../views/built-in.js'
import type { DescribedWebhook } from '../views/described-webhook.js'
import type { Endpoint, Operation } from '../views/endpoint.js'
import { type GenericAPIView, isGeneric } from '../views/generic-api-view.js'
import { recordingClass } from '../views/request/log-writes.js'
import { resourceOf } from '../views/resource.js'
import type { ToldResource } from './owner-view.js'
import { eventsOf, resourceOfEvent } from './webhook-events.js'

/** The lists whose changes are told, by the names of their resources; false for those that have none to tell. */
export function toldResources(
  events: readonly string[],
  endpoints: readonly Endpoint[],
): ReadonlyMap<string, ToldResource | false> {
  const told = new Map<string, ToldResource | false>()
  const names = new Set(events.map(resourceOfEvent))
  for (const endpoint of endpoints) {
    const operation = endpoint.operations.get('GET')
    if (operation?.action !== 'list' || !names.has(endpoint.basename)) continue
    told.set(endpoint.basename, endpoint.parents.length === 0 && records(operation) && { endpoint, operation })
  }
  return told
}

function records({ view }: Operation): boolean {
  return isGeneric(view) && recordingClass(view) !== undefined
}

/** Events of an API, for its document. */
export function describeTold(events: readonly string[], endpoints: readonly Endpoint[]): readonly DescribedWebhook[] {
  return [...toldResources(events, endpoints)].flatMap(([basename, resource]) => {
    if (!resource) return []
    const { route } = resource.operation
    const view = route.view as typeof GenericAPIView & RecordingViewClass
    const { shown } = recordingOf(view, route.rules).of(view.modelClass()) ?? {}
    const isSoft = resourceOf(view).deletion !== undefined
    if (!shown) return []
    const isChosen = !isBuiltIn(view.prototype, 'getSerializerClass')
    return eventsOf(events, basename, isSoft).map((event): DescribedWebhook => {
      const images = IMAGES[event.slice(event.lastIndexOf('.') + 1)]
      return { event, basename, shown, images: images ?? BOTH, isPart: isChosen || images === undefined }
    })
  })
}

const BOTH: DescribedWebhook['images'] = ['before', 'after']
const IMAGES: Readonly<Record<string, DescribedWebhook['images']>> = {
  created: ['after'],
  updated: BOTH,
  restored: ['after'],
  deleted: ['before'],
  purged: ['before'],
}
