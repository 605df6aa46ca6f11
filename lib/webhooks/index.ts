/** Webhooks of changes, signed and delivered at least once: `koa-viewsets/webhooks`. */

export type { ReceiverOptions, Resolve } from './receiver.js'
export { WebhookDispatcher, type WebhookDispatcherOptions } from './webhook-dispatcher.js'
export { WebhookDelivery, WebhookEndpoint } from './webhook-endpoint.js'
export { WebhookEndpointSerializer, WebhookEndpointViewSet } from './webhook-endpoint-view-set.js'
export { ensureWebhookTables } from './webhook-tables.js'
