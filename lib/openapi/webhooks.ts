/** Webhooks as a document describes them: a request for each event, which receivers answer (OpenAPI 3.1, `webhooks`). */

import type { DescribedWebhook } from '../views/described-webhook.js'
import type { Components } from './components.js'
import type { Operation, Parameter, PathItem, Schema } from './types.js'
import { sentence } from './words.js'

const text: Schema = { type: 'string' }

/** Those of Standard Webhooks 1.0. */
const HEADERS: readonly Parameter[] = [
  ['webhook-id', 'The same for each attempt: what a receiver has had, it may pass over.', text],
  ['webhook-timestamp', 'When the attempt was made, in Unix seconds.', { type: 'integer' } as Schema],
  ['webhook-signature', 'Signatures by the secrets of the endpoint (Standard Webhooks 1.0).', text],
].map(([name, description, schema]) => ({
  name: name as string,
  in: 'header',
  description: description as string,
  required: true,
  schema: schema as Schema,
}))

/** The webhooks of an API, by event. */
export function describeWebhooks(
  webhooks: readonly DescribedWebhook[],
  components: Components,
): Readonly<Record<string, PathItem>> {
  return Object.fromEntries(webhooks.map((webhook) => [webhook.event, { post: describe(webhook, components) }]))
}

function describe({ event, basename, shown, images, isPart }: DescribedWebhook, components: Components): Operation {
  const object = isPart ? components.partOf(shown) : components.serializer(shown, 'Output')
  const image = (name: 'before' | 'after'): Schema =>
    images.includes(name) ? { anyOf: [object as Schema, { type: 'null' }] } : { type: 'null' }
  const data: Schema = {
    type: 'object',
    properties: { id: { type: ['string', 'integer'] }, before: image('before'), after: image('after') },
    required: ['id', 'before', 'after'],
  }
  const schema: Schema = {
    type: 'object',
    properties: { type: { type: 'string', const: event }, timestamp: { type: 'string', format: 'date-time' }, data },
    required: ['type', 'timestamp', 'data'],
  }
  return {
    operationId: `webhook-${event.replaceAll('.', '-')}`,
    tags: [basename],
    summary: `${sentence(event.replace('.', ' was '))}`,
    description:
      'Sent to endpoints that ask for it. `before` and `after` have the fields that the owner of the endpoint may read; null where the owner does not see the object.',
    parameters: HEADERS,
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: {
      '2XX': { description: 'Taken. Any other answer is tried again.' },
      '410': { description: 'The endpoint wants no more webhooks.' },
    },
    security: [],
  }
}
