/** The action `changes`: tells clients, as it happens, which objects of a list have changed. */

import { reportError } from '../http/answer-error.js'
import { callerOf, callerParts } from '../http/caller.js'
import { EventStream, eventText, setEventHeaders } from '../http/event-stream.js'
import { UNREAD } from '../http/unread.js'
import { described } from '../kernel/declarations.js'
import { NotFound, Throttled } from '../kernel/errors.js'
import { errorLine } from '../kernel/quote.js'
import type { Queryable } from '../postgres/pg-types.js'
import { EventStreamRenderer } from '../renderers/event-stream-renderer.js'
import { action } from '../views/action.js'
import type { GenericView } from '../views/generic-view.js'
import type { ViewConstructor } from '../views/mixins/mixin.js'
import { type ChangeFeed, feedOf } from './change-feed.js'
import { type Listener, listenersOf } from './change-listeners.js'
import { nameIn } from './changes-table.js'
import { type ChangePosition, positionText, readPosition } from './position.js'
import { currentPosition, hasAtMost } from './select-changes.js'
import { VisibleChanges } from './visible-changes.js'

/** Most changes that a client may have missed; where there are more it is told to read its list again. */
const MOST_MISSED = 5_000
/** `Retry-After` of a caller with too many streams, in seconds. */
const TOO_MANY_WAIT = 30

/** How a view set tells of changes. */
export interface ChangeStreamOptions {
  /** The most streams of one caller at a time, in this process. @default 10 */
  readonly perCaller?: number
  /**
   * Seconds until a stream ends, and the client connects anew: so long may pass until it is noticed that a caller may see
   * less than before. @default 300
   */
  readonly seconds?: number
}

const DESCRIPTION =
  'Server-sent events: each says of one object of the list, or of one that was in it before, that it has changed: `{ resource, id, position }`. `Last-Event-ID` goes on where an earlier stream has ended; an event `reset` says that too much was missed, and that the list is to be read again.'

const KINDS = { changeStream: 'any' } as const

/**
 * Adds `GET /<prefix>/changes`: server-sent events that say which objects have changed of those that the caller's list shows,
 * or has shown before: `{ resource, id, position }`, and nothing of what they hold. A client that connects again goes on
 * where it was (`Last-Event-ID`). The view set records its changes (`ChangesMixin`).
 * @see docs/reference/changes.md
 * @example class BookViewSet extends ChangeStreamMixin(ChangesMixin(ModelViewSet<Book>)) {}
 */
export function ChangeStreamMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    /** How many streams a caller may have, and how long each lasts. */
    static changeStream: ChangeStreamOptions = {}

    /** @internal */
    static get tellsChanges(): true {
      return true
    }

    /** Answers `GET /<prefix>/changes`. */
    @action({ methods: ['GET'], description: DESCRIPTION, rendererClasses: [EventStreamRenderer] })
    changes(): Promise<string> {
      return openStream(this, (this.constructor as { changeStream?: ChangeStreamOptions }).changeStream ?? {})
    }
  }
  return described(mixed, KINDS)
}

/** By caller, how many streams are open. */
const open = new Map<string, number>()

/** @returns gives the place to another one @throws {Throttled} the caller has too many */
function takePlace(caller: string, most: number): () => void {
  const count = open.get(caller) ?? 0
  if (count >= most) throw new Throttled(TOO_MANY_WAIT)
  open.set(caller, count + 1)
  return () => {
    const left = (open.get(caller) ?? 1) - 1
    if (left > 0) open.set(caller, left)
    else open.delete(caller)
  }
}

async function openStream(view: GenericView, { perCaller = 10, seconds = 300 }: ChangeStreamOptions): Promise<string> {
  const { ctx } = view
  const visible = new VisibleChanges(view)
  if (!visible.namesObjects) throw new NotFound()
  if (ctx.method === 'HEAD') {
    setEventHeaders(ctx)
    UNREAD.set(ctx, true)
    return ''
  }
  const leave = takePlace(callerParts(callerOf(ctx)).join(' '), perCaller)
  try {
    const { stream, ended } = await listen(view, visible)
    const timer = setTimeout(() => stream.end(), seconds * 1_000).unref()
    stream.whenEnded(() => {
      clearTimeout(timer)
      ended()
      leave()
    })
    return stream.body
  } catch (error) {
    leave()
    throw error
  }
}

async function listen(view: GenericView, visible: VisibleChanges): Promise<{ stream: EventStream; ended: () => void }> {
  const { ctx, plan } = view
  const { tableName } = plan.resource.model.model
  const knex = (view.knex ?? plan.resource.model.model.knex()) as Queryable
  const feed = feedOf(knex)
  const model = await nameIn(knex, tableName)
  const since = await sinceOf(ctx.get('Last-Event-ID'), feed)
  const listeners = listenersOf(feed)
  const stream = new EventStream(ctx)
  const listener: Listener = {
    visible,
    model,
    resource: plan.basename ?? tableName,
    send: (text) => stream.send(text),
    end: (retry) => stream.end(retry),
    report: (error) => reportError(ctx, unanswered(plan, error)),
  }
  if (since === 'too far') stream.send(eventText({ event: 'reset', id: await here(feed), data: '{}' }))
  const from = since === 'too far' ? undefined : since
  const ended = () => listeners.remove(listener)
  try {
    await listeners.add(listener, from)
  } catch (error) {
    ended()
    throw error
  }
  return { stream, ended }
}

/** The error of a stream that ends as nobody knows what is to be told. */
function unanswered({ viewClass }: GenericView['plan'], cause: unknown): Error {
  const message = `${viewClass.name}: what its streams show of changes could not be told: ${errorLine(cause)}; they end, and may begin again where they were`
  return new Error(message, { cause })
}

/** Position of the client; `too far` where it has missed so much that it had better read all again. */
async function sinceOf(text: string, feed: ChangeFeed): Promise<ChangePosition | 'too far' | undefined> {
  if (text === '') return undefined
  const position = readPosition(text)
  return position && (await hasAtMost(feed.knex, position, MOST_MISSED)) ? position : 'too far'
}

async function here({ knex }: ChangeFeed): Promise<string> {
  return positionText(await currentPosition(knex))
}
