/** What an API tells by webhooks, as a view class of endpoints says it of the paths of its API (`koa-viewsets/webhooks`). */

import type { SerializerClass } from '../serializers/contract.js'
import type { Endpoint } from './endpoint.js'

/** An event that receivers are told of. */
export interface DescribedWebhook {
  /** Such as `book.updated`. */
  readonly event: string
  /** The resource that it is of. */
  readonly basename: string
  /** Shows the object. */
  readonly shown: SerializerClass
  /** When it is shown: as it was, as it is, or both. */
  readonly images: readonly ('before' | 'after')[]
  /** Any field may be missing: where the application records the event by itself, or shows each owner what it chooses. */
  readonly isPart: boolean
}

interface DescribingClass {
  /** @internal */
  describeWebhooks(endpoints: readonly Endpoint[]): readonly DescribedWebhook[]
}

/** The webhooks of an API; none where no view set of endpoints is registered. */
export function webhooksOf(endpoints: readonly Endpoint[]): readonly DescribedWebhook[] {
  const views = new Set(endpoints.map(({ view }) => view as Partial<DescribingClass>))
  return [...views].flatMap((view) => view.describeWebhooks?.(endpoints) ?? [])
}
