/** An API mounted on the routers that applications have: @koa/router from version 8 on. */
import type Koa from 'koa'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { APIRouter, APIView, type LayeredRouter, ViewSet } from '../../../lib/index.js'
import { mountView } from '../../../lib/views/index.js'
import { type Client, serving } from '../../support/client.js'

class File extends APIView {
  get() {
    return { path: this.ctx['params'].path }
  }
}
class Book extends APIView {
  get() {
    return { book: this.ctx['params'].id }
  }
}
class FileViewSet extends ViewSet {
  list() {
    return { path: this.ctx['params'].path }
  }
}
class BookViewSet extends ViewSet {
  list() {
    return { book: this.ctx['params'].id }
  }
}

/** A router of any version. */
interface AnyRouter extends LayeredRouter {
  get(path: string, handler: (ctx: Koa.Context) => void): unknown
  use(path: string, middleware: Koa.Middleware): unknown
  routes(): Koa.Middleware
}
type RouterClass = new (options: { strict: boolean; prefix?: string }) => AnyRouter

describe.each([
  ['8', import('koa-router-8')],
  ['10', import('koa-router-10')],
  ['12', import('koa-router-12')],
  ['13', import('koa-router-13')],
  ['14', import('koa-router-14')],
  ['the newest', import('@koa/router')],
] as readonly (readonly [string, Promise<unknown>])[])('@koa/router %s', (_version, module) => {
  let client: Client
  beforeAll(async () => {
    const loaded = (await module) as { default: RouterClass | { default: RouterClass } }
    const Router = 'default' in loaded.default ? loaded.default.default : loaded.default
    const router = new Router({ strict: true, prefix: '/app' })
    new APIRouter({ prefix: '/api' })
      .register('books/{id:int}', BookViewSet, 'book')
      .register('files/{path:path}', FileViewSet, 'file')
      .mount(router)
    mountView(router, '/views/{path:path}', File.asView())
    mountView(router, '/view/{id:uuid}', Book.asView())
    router.get('/api/books/:word', (ctx) => {
      ctx.body = `own ${ctx['params'].word}`
    })
    const outer = new Router({ strict: true })
    outer.use('/outer', router.routes())
    client = await serving(router.routes(), outer.routes())
  })
  afterAll(() => client.close())

  it.each(['', '/outer'])('routes the paths below %j', async (outer) => {
    const get = async (path: string) => (await client.get(`${outer}/app${path}`)).text
    expect(await get('/api/books/7')).toBe('{"book":"7"}')
    expect(await get('/api/books/7/')).toBe('{"book":"7"}')
    expect(await get('/api/books/7.json')).toBe('{"book":"7"}')
    expect(await get('/api/files/a/b%20c.txt')).toBe('{"path":"a/b c.txt"}')
    expect(await get('/views/a/b')).toBe('{"path":"a/b"}')
    expect(await get('/view/2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d')).toContain('2c5ea4c0')
  })

  it('leaves what does not fit to the routes behind', async () => {
    expect((await client.get('/app/api/books/seven')).text).toBe('own seven')
    expect((await client.get('/app/view/7')).status).toBe(404)
    expect((await client.get('/APP/api/books/7/x')).status).toBe(404)
    expect((await client.get('/app/api/books/7//')).status).toBe(404)
  })

  it('answers methods that a path does not take', async () => {
    const { status, headers } = await client.send('OPTIONS', '/app/api/books/7')
    expect([status, headers.allow]).toEqual([200, 'GET, HEAD, OPTIONS'])
    expect((await client.send('DELETE', '/app/view/2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d')).status).toBe(405)
  })
})
