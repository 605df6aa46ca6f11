/** The action `create`. */

import type { ObjectKey } from '../../fields/object-key.js'
import { FORMAT, guardSuffix, requestPath } from '../../http/context.js'
import { publicPath } from '../../http/public-url.js'
import { described } from '../../kernel/declarations.js'
import { oncePer } from '../../kernel/once-per.js'
import { encodeValue } from '../../kernel/path-pattern.js'
import { standardValues } from '../../models/exact-types.js'
import type { Serializer } from '../../serializers/serializer.js'
import { ACTIONS, answers } from '../actions.js'
import { markBuiltIn } from '../built-in.js'
import type { GenericAPIView } from '../generic-api-view.js'
import { type GenericView, serializerOf } from '../generic-view.js'
import { namesBeside } from '../names-beside.js'
import { atomically } from '../request/in-view-transaction.js'
import { answerSaved } from '../steps/answer-saved.js'
import { insertRow } from '../steps/insert-row.js'
import { checkAnswer } from '../steps/selection.js'
import type { View } from '../view.js'
import type { ViewConstructor } from './mixin.js'

/** Adds `create`: 201 with the object as it was stored, and its `Location`. */
export function CreateMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    /** Answers POST: validates the body, stores the object by `performCreate()`, and shows it. */
    async create(): Promise<unknown> {
      checkAnswer(this)
      const row = await insertRow(this)
      if (row) {
        if (row.text === undefined) this.ctx.append('Preference-Applied', 'return=minimal')
        return created(this, row.object, row.text)
      }
      return atomically(this, async () => {
        const serializer = serializerOf(this, 'getInputSerializer')
        await serializer.isValid({ raiseException: true })
        const text = await answerSaved(this, serializer, 'create', () => this.performCreate(serializer))
        return created(this, serializer.obj, text)
      })
    }

    /** Stores a new object. Override it to add values: `return serializer.save({ owner_id: this.ctx.state.user.id })`. */
    // biome-ignore lint/suspicious/noExplicitAny: the serializer is the subclass's own
    performCreate(serializer: Serializer<any>): Promise<unknown> {
      return serializer.save()
    }
  }
  markBuiltIn(mixed.prototype)
  return described(mixed)
}

function created(view: GenericAPIView, object: unknown, body: unknown): unknown {
  const { ctx } = view
  const location = locationOf(view, object)
  if (location !== undefined && !ctx.res.headersSent) ctx.res.setHeader('Location', location)
  ctx.status = view.plan.viewClass.statuses.create ?? 201
  return body
}

const DETAIL = ACTIONS.filter(({ path }) => path === 'detail').map(({ name }) => name)
/** Keys that paths have as they are. */
const PLAIN = /^\w+$/

/** The object's own path; undefined when no path leads to it, as with a key of `..`. */
export function locationOf(view: GenericView, object: unknown): string | undefined {
  if (typeof object !== 'object' || object === null || !hasObjectPaths(view) || !view.asked.namesObjects)
    return undefined
  const { resource, viewClass, policies } = view.plan
  const { lookup } = resource
  // one column of several that are the key together names more objects than this
  const isPart = lookup.columns.length === 1 && lookup.columns[0]?.primary === true && !lookup.unique
  if (isPart || lookup.problem !== undefined) return undefined
  const key = lookup.toText(standardValues(object, lookup.columns), { user: view.ctx.state['user'], ctx: view.ctx })
  const path = requestPath(view.ctx.originalUrl)
  const format = FORMAT.get(view.ctx)
  const collection = (format === undefined ? path : path.slice(0, -format.length - 1)).replace(/\/$/, '')
  try {
    const beside = namesBeside(viewClass)
    const isPlain = typeof key === 'number' || (typeof key === 'string' && PLAIN.test(key))
    const own = `/${isPlain && !beside.has(String(key)) ? key : encodeKey(lookup, key, beside)}`
    const location = collection + (own.includes('.') ? guardSuffix(own, view.plan.formats) : own)
    return publicPath(policies.versioning?.keepVersion(view.ctx, location) ?? location)
  } catch {
    return undefined
  }
}

/** A key as one part of a path. @throws Error no path has it */
function encodeKey({ name, columns }: ObjectKey, key: unknown, beside: ReadonlySet<string>): string {
  const encoded = encodeValue({ name, hint: 'str', key: true, beside }, key)
  // a path may have commas as they are (RFC 3986, 3.3)
  return columns.length > 1 ? encoded.replaceAll('%2C', ',') : encoded
}

/** A view set has paths of objects by its actions; beside a view of an application's own router there may be one. */
export function hasObjectPaths(view: Pick<View, 'plan'>): boolean {
  return view.plan.basename === undefined || hasObjects(view.plan.viewClass)
}

const hasObjects = oncePer((view: View['plan']['viewClass']) => DETAIL.some((name) => answers(view, name)))
