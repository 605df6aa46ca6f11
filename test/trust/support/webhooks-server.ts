/** The app of the runs about webhooks, in a process that is killed. */
import { APIRouter } from 'koa-viewsets'
import { WebhookDispatcher, WebhookEndpointViewSet } from 'koa-viewsets/webhooks'
import { Books, FlatBooks } from './recorded-books.js'
import { bindModels, serve, silentApp } from './served.js'

const { TIMEOUT_SECONDS = '2' } = process.env

class Hooks extends WebhookEndpointViewSet {
  static override events = ['book.*']
  static override receivers = { allowHttp: true, allowedAddresses: ['127.0.0.1'] }
}

const knex = bindModels()
const api = new APIRouter()
  .register('books', Books)
  .register('flat', FlatBooks, 'flat')
  .register('hooks', Hooks, 'hook')
await api.prepare()
const dispatcher = new WebhookDispatcher({
  knex,
  api,
  findOwner: (id) => ({ id }),
  timeoutSeconds: Number(TIMEOUT_SECONDS),
  onError: () => {},
})
await dispatcher.start()
serve(silentApp().use(api.routes()))
