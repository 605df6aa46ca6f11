/** Makes of changes what endpoints are to be told: of what their owners see, and no more of it than they may read. */

import type { FoundChange } from '../changes/changes-table.js'
import { only } from '../changes/read-history.js'
import type { SeenSides } from '../changes/visible-changes.js'
import { writeJson } from '../kernel/json-numerals.js'
import type { NewDelivery } from './delivery-table.js'
import { type OwnerView, openForOwner, type ToldResource } from './owner-view.js'
import { eventOf, isAmong } from './webhook-events.js'

/** An endpoint that is told something. */
export interface ToldEndpoint {
  readonly id: string
  readonly owner: string
  readonly events: readonly string[]
}

/** Who an endpoint's owner is: what `ctx.state.user` would be; undefined where there is nobody any more. */
export type FindOwner = (id: string) => unknown

/** The deliveries of some changes: the same is asked once for all owners with the same conditions. */
export class NewDeliveries {
  readonly #resources: ReadonlyMap<string, readonly ToldResource[]>
  readonly #findOwner: FindOwner
  readonly #owners = new Map<string, Promise<unknown>>()
  readonly #views = new Map<string, Promise<OwnerView | undefined>>()
  readonly #sides = new Map<string, Promise<SeenSides<FoundChange>>>()

  /** @param resources by the names of their models in the table of changes */
  constructor(resources: ReadonlyMap<string, readonly ToldResource[]>, findOwner: FindOwner) {
    this.#resources = resources
    this.#findOwner = findOwner
  }

  async of(changes: readonly FoundChange[], endpoints: readonly ToldEndpoint[]): Promise<readonly NewDelivery[]> {
    const deliveries: NewDelivery[] = []
    for (const [model, resources] of this.#resources) {
      const own = changes.filter((change) => change.model === model)
      for (const resource of own.length > 0 ? resources : []) {
        for (const endpoint of endpoints) deliveries.push(...(await this.#toldOf(resource, endpoint, own)))
      }
    }
    return deliveries
  }

  async #toldOf(
    resource: ToldResource,
    endpoint: ToldEndpoint,
    changes: readonly FoundChange[],
  ): Promise<NewDelivery[]> {
    const { basename } = resource.endpoint
    const asked = changes.filter(({ action }) => isAmong(endpoint.events, eventOf(basename, action)))
    if (asked.length === 0) return []
    const view = await this.#viewOf(resource, endpoint.owner)
    if (!view) return []
    const { before, after } = await this.#sidesOf(view, changes)
    return asked.flatMap((change) => {
      const isSeen = { before: before.has(change), after: after.has(change) }
      if (!isSeen.before && !isSeen.after) return []
      const event = eventOf(basename, change.action)
      return {
        id: `${change.id}-${endpoint.id}`,
        endpointId: endpoint.id,
        changeId: change.id,
        object: `${change.model} ${change.key}`,
        event,
        body: bodyOf(change, view, { event, isSeen }),
      }
    })
  }

  #viewOf(resource: ToldResource, owner: string): Promise<OwnerView | undefined> {
    const key = JSON.stringify([resource.endpoint.basename, owner])
    let view = this.#views.get(key)
    if (!view) {
      view = this.#ownerOf(owner).then((user) => (user == null ? undefined : openForOwner(resource, user)))
      this.#views.set(key, view)
    }
    return view
  }

  #ownerOf(id: string): Promise<unknown> {
    const known = this.#owners.get(id) ?? Promise.resolve(this.#findOwner(id))
    this.#owners.set(id, known)
    return known
  }

  #sidesOf({ visible }: OwnerView, changes: readonly FoundChange[]): Promise<SeenSides<FoundChange>> {
    const known = this.#sides.get(visible.group) ?? visible.sides(changes)
    this.#sides.set(visible.group, known)
    return known
  }
}

interface Told {
  readonly event: string
  readonly isSeen: { readonly before: boolean; readonly after: boolean }
}

function bodyOf(change: FoundChange, { visible, names }: OwnerView, { event, isSeen }: Told): string {
  const { madeAt, before, after } = change
  return writeJson({
    type: event,
    timestamp: madeAt,
    data: {
      id: visible.shownKey(change),
      before: isSeen.before ? only(names, before) : null,
      after: isSeen.after ? only(names, after) : null,
    },
  }) as string
}
