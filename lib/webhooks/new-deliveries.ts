/** Deliveries of a change: what endpoints are to be told of what their owners see, and no more of it than they may read. */

import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import { clientKey } from '../changes/change-log.js'
import { only } from '../changes/read-history.js'
import type { FoundChange } from '../changes/select-changes.js'
import type { SeenSides } from '../changes/visible-changes.js'
import { forEachAtOnce } from '../kernel/at-once.js'
import { ConfigurationError } from '../kernel/errors.js'
import { writeJson } from '../kernel/json-numerals.js'
import { getOrInsert } from '../kernel/maps.js'
import type { Asker, Questions } from '../kernel/questions.js'
import type { GenericAPIView } from '../views/generic-api-view.js'
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

/** What is told, and of whom that depends. */
export interface Telling {
  /** The database of changes. */
  readonly knex: Knex
  /** By the names of their models in the table of changes. */
  readonly resources: ReadonlyMap<string, readonly ToldResource[]>
  /** Those that there are. */
  readonly events: readonly string[]
  readonly findOwner: FindOwner
  /** Visibility questions about owners of endpoints. */
  readonly questions: Questions
  readonly report: (error: unknown) => void
}

/** Most endpoints that are read at once. */
export const AT_ONCE = 4

/** The resources whose objects a change may be of, by its model, which may have a schema of its caller's before it. */
export function resourcesOf({ resources }: Telling, model: string): readonly ToldResource[] {
  return resources.get(model) ?? resources.get(model.slice(model.lastIndexOf('.') + 1)) ?? []
}

/** The deliveries of some changes: the same is asked once for all owners with the same conditions. */
export class NewDeliveries {
  readonly #telling: Telling
  readonly #owners = new Map<string, Promise<unknown>>()
  readonly #views = new Map<string, Promise<OwnerView | undefined>>()
  readonly #sides = new Map<string, Promise<SeenSides<FoundChange>>>()
  readonly #bodies = new Map<string, string>()

  constructor(telling: Telling) {
    this.#telling = telling
  }

  /** Those whose owners cannot be asked now have no body: nobody else waits for them. */
  async of(changes: readonly FoundChange[], endpoints: readonly ToldEndpoint[]): Promise<readonly NewDelivery[]> {
    const found: NewDelivery[][] = endpoints.map(() => [])
    const byResource = new Map<ToldResource, FoundChange[]>()
    for (const change of changes) {
      for (const resource of resourcesOf(this.#telling, change.model)) {
        getOrInsert(byResource, resource, () => []).push(change)
      }
    }
    await forEachAtOnce(endpoints.entries(), AT_ONCE, async ([index, endpoint]) => {
      for (const [resource, own] of byResource) found[index]?.push(...(await this.#toldOf(resource, endpoint, own)))
    })
    return found.flat().sort((one, other) => Number(one.changeId) - Number(other.changeId))
  }

  async #toldOf(
    resource: ToldResource,
    endpoint: ToldEndpoint,
    changes: readonly FoundChange[],
  ): Promise<readonly NewDelivery[]> {
    const { basename } = resource.endpoint
    const isAsked = ({ action }: FoundChange) => {
      const event = eventOf(basename, action)
      return [endpoint.events, this.#telling.events].every((names) => isAmong(names, event, basename))
    }
    const asked = changes.filter(isAsked)
    if (asked.length === 0) return []
    const key = JSON.stringify([basename, endpoint.owner])
    const { questions, report } = this.#telling
    const question = (asker: Asker) => this.#seenBy(resource, key, { owner: endpoint.owner, asker }, changes)
    const seen = await questions.ask(key, question, report)
    return asked.flatMap((change) => {
      const body = seen === 'unknown' ? null : this.#bodyOf(resource, change, seen)
      if (body === undefined) return []
      const event = eventOf(basename, change.action)
      const object = digestOf([change.model, keyOf(resource, change)])
      return {
        id: this.#idOf(resource, change, endpoint),
        endpointId: endpoint.id,
        changeId: change.id,
        object,
        event,
        body,
      }
    })
  }

  /** A second view set of the same model tells its own events. */
  #idOf(resource: ToldResource, { id, model }: FoundChange, endpoint: ToldEndpoint): string {
    const index = resourcesOf(this.#telling, model).indexOf(resource)
    return `${id}-${endpoint.id}${index > 0 ? `-${index}` : ''}`
  }

  /** @returns undefined where nothing is told; null where that is not known now */
  #bodyOf(resource: ToldResource, change: FoundChange, seen: Seen | undefined): string | null | undefined {
    if (!seen) return undefined
    const { view, sides } = seen
    const told = { before: sides.before.has(change), after: sides.after.has(change) }
    if (!told.before && !told.after) return undefined
    const key = JSON.stringify([resource.endpoint.basename, change.id, told, view.names])
    try {
      return getOrInsert(this.#bodies, key, () => writeBody(resource, change, { view, told }))
    } catch (error) {
      this.#telling.report(error)
      return null
    }
  }

  async #seenBy(
    resource: ToldResource,
    key: string,
    { owner, asker }: { readonly owner: string; readonly asker: Asker },
    changes: readonly FoundChange[],
  ): Promise<Seen | undefined> {
    const { knex } = this.#telling
    const open = (user: unknown) => (user == null ? undefined : openForOwner(resource, { user, knex }))
    const view = await getOrInsert(this.#views, key, () => this.#ownerOf(owner).then(open))
    if (!view) return undefined
    const own = changes.filter(({ model }) => model === view.model)
    const { visible } = view
    return { view, sides: await getOrInsert(this.#sides, visible.group, () => visible.sides(own, asker)) }
  }

  #ownerOf(id: string): Promise<unknown> {
    return getOrInsert(this.#owners, id, async () => {
      const owner = await this.#telling.findOwner(id)
      if (!Array.isArray(owner)) return owner
      throw new ConfigurationError('WebhookDispatcher: findOwner() returned a list; return the user, or nothing')
    })
  }
}

interface Seen {
  readonly view: OwnerView
  readonly sides: SeenSides<FoundChange>
}

interface ToldSides {
  readonly view: OwnerView
  readonly told: { readonly before: boolean; readonly after: boolean }
}

function writeBody({ endpoint }: ToldResource, change: FoundChange, { view, told }: ToldSides): string {
  const { madeAt, before, after } = change
  return writeJson({
    type: eventOf(endpoint.basename, change.action),
    timestamp: madeAt,
    data: {
      id: view.visible.shownKey(change),
      before: told.before ? only(view.names, before) : null,
      after: told.after ? only(view.names, after) : null,
    },
  }) as string
}

/** The key of a change's object, whichever key has signed it. */
function keyOf({ operation }: ToldResource, { key }: FoundChange): unknown {
  const own = clientKey((operation.view as typeof GenericAPIView).modelClass())
  return own?.parts.some(({ ids }) => ids) ? (own.fromText(key, {}) ?? key) : key
}

/** A name of a fixed length, as keys may be longer than what an index takes. */
function digestOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22)
}
