/** The actions that come with the package as a document describes them (wire format, section 13). */

import type { GenericAPIView } from '../views/generic-api-view.js'
import { streamedFormats } from '../views/mixins/stream-mixin.js'
import { resourceOf } from '../views/resource.js'
import { keyNames } from '../views/steps/bulk-objects.js'
import { aggregateSchema, facetsSchema } from './aggregate-schema.js'
import { outputValue, type SchemaSide } from './field-schema.js'
import type { DescribedOperation } from './subject.js'
import type { Schema } from './types.js'
import type { nounOf } from './words.js'

/** What is known of an action by its name. */
export interface Standard {
  readonly summary: (noun: ReturnType<typeof nounOf>) => string
  readonly status: number | ((subject: DescribedOperation) => number)
  /** The body; one of a form of several parts may bring files. */
  readonly takes?: (subject: DescribedOperation, isForm: boolean) => Schema | undefined
  readonly answers?: (subject: DescribedOperation) => Schema | undefined
}

const shows = (subject: DescribedOperation) => serialized(subject, 'Output')

export const STANDARD: Readonly<Record<string, Standard>> = {
  list: { summary: ({ many }) => `List ${many}`, status: 200, answers: pageOf },
  aggregate: { summary: ({ many }) => `Compute values of ${many}`, status: 200, answers: aggregateSchema },
  facets: { summary: ({ many }) => `Count ${many} by their values`, status: 200, answers: facetsSchema },
  create: {
    summary: ({ any }) => `Create ${any}`,
    status: (subject) => ownStatuses(subject).create ?? 201,
    takes: (subject, isForm) => serialized(subject, isForm ? 'Input' : 'JsonInput'),
    answers: shows,
  },
  retrieve: { summary: ({ any }) => `Show ${any}`, status: 200, answers: shows },
  update: {
    summary: ({ any }) => `Replace ${any}`,
    status: 200,
    takes: (subject, isForm) => serialized(subject, isForm ? 'Input' : 'JsonUpdate'),
    answers: shows,
  },
  partialUpdate: {
    summary: ({ any }) => `Change ${any}`,
    status: 200,
    takes: (subject, isForm) => serialized(subject, isForm ? 'Patch' : 'JsonPatch'),
    answers: shows,
  },
  destroy: {
    summary: ({ any }) => `Delete ${any}`,
    status: (subject) => ownStatuses(subject).destroy ?? 204,
    answers: shows,
  },
  restoreDeleted: { summary: ({ any }) => `Restore ${any}`, status: 200, answers: shows },
  purgeDeleted: { summary: ({ any }) => `Delete ${any} for good`, status: 204 },
  bulkCreate: {
    summary: ({ many }) => `Create several ${many}`,
    status: 201,
    takes: (subject) => listOf(serialized(subject, 'JsonInput'), maxBulkSize(subject)),
    answers: (subject) => listOf(shows(subject)),
  },
  bulkUpdate: {
    summary: ({ many }) => `Change several ${many}`,
    status: 200,
    takes: (subject) => listOf(patchWithKey(subject), maxBulkSize(subject)),
    answers: (subject) => listOf(shows(subject)),
  },
  bulkDestroy: {
    summary: ({ many }) => `Delete several ${many}`,
    status: 200,
    takes: (subject) => listOf({ anyOf: [keyOf(subject), keyObject(subject)] }, maxBulkSize(subject)),
    answers: (subject) => ({
      type: 'object',
      properties: { deleted: listOf(keyOf(subject)) },
      required: ['deleted'],
    }),
  },
}

/** The status of a success. */
export function successStatus({ status }: Standard, subject: DescribedOperation): number {
  return typeof status === 'number' ? status : status(subject)
}

function ownStatuses({ view }: DescribedOperation) {
  return (view as GenericAPIView).viewClass.statuses
}

function serialized(
  { components, serializer: shown, taking }: DescribedOperation,
  side: SchemaSide,
): Schema | undefined {
  const serializer = side === 'Output' ? shown : taking
  return serializer && { ...components.serializer(serializer, side) }
}

function listOf(items: Schema | undefined, maxItems?: number): Schema {
  return { type: 'array', items: items ?? {}, ...(maxItems !== undefined && { maxItems }) }
}

/** A list, or the envelope that the paginator puts around it. */
function pageOf(subject: DescribedOperation): Schema {
  const { components, serializer } = subject
  const view = subject.view as GenericAPIView
  const item = shows(subject)
  const { paginator } = resourceOf(view.viewClass)
  if (!paginator || streamedFormats(view.viewClass).includes('json')) return listOf(item)
  const page = paginator.describePage(item ?? {})
  if (!page) return { type: 'object' }
  // in an envelope a page is another one, and a bare list is no page
  if (!serializer || resourceOf(view.viewClass).envelope || page.schema['type'] === 'array') return page.schema
  return { ...components.page(serializer, page.suffix, page.schema) }
}

function maxBulkSize({ view }: DescribedOperation): number | undefined {
  return (view.constructor as { readonly maxBulkSize?: number }).maxBulkSize
}

/** An object's key in a bulk body by itself: that of several columns is one string, as in paths. */
function keyOf(subject: DescribedOperation): Schema {
  const [first, ...others] = keySchemas(subject)
  return others.length > 0 ? { type: 'string', minLength: 1 } : (first?.[1] ?? {})
}

/** What names an object by members of an item. */
function keySchemas({ view }: DescribedOperation): readonly (readonly [name: string, schema: Schema])[] {
  return keyNames(view as GenericAPIView).map(({ name, field }) => [name, field ? outputValue(field) : {}])
}

function keyObject(subject: DescribedOperation): Schema {
  const schemas = keySchemas(subject)
  return { type: 'object', properties: Object.fromEntries(schemas), required: schemas.map(([name]) => name) }
}

function patchWithKey(subject: DescribedOperation): Schema {
  const patch = serialized(subject, 'JsonPatch')
  return patch ? { allOf: [patch, keyObject(subject)] } : keyObject(subject)
}
