/** The app of the runs about recorded changes, in a process that is killed. */
import { APIRouter } from 'koa-viewsets'
import { Books, FlatBooks } from './recorded-books.js'
import { bindModels, serve, silentApp } from './served.js'

bindModels()
const api = new APIRouter().register('books', Books).register('flat', FlatBooks, 'flat')
await api.prepare()
serve(silentApp().use(api.routes()))
